# The processes of a session, as /proc has them. $cookie and $folder are set before.

# Sets $found to the processes of the session, and $parent to their parents: those that have $cookie
# in their environment, and those below them, as far as their parents are still there.
scan() {
    local pid line entry more=1
    declare -gA parent=() found=()
    for pid in /proc/[0-9]*; do
        pid=${pid#/proc/} line=
        [[ -O /proc/$pid ]] || continue
        IFS= read -r -d '' line <"/proc/$pid/stat"
        line=${line##*) }
        [[ $line && $line != [ZX]* ]] || continue
        line=${line#* }
        parent[$pid]=${line%% *}
        while IFS= read -r -d '' entry; do
            [[ $entry == "$cookie" ]] && found[$pid]=1 && break
        done <"/proc/$pid/environ"
    done 2>/dev/null
    while ((more)); do
        more=0
        for pid in "${!parent[@]}"; do
            [[ ${found[$pid]-} || ! ${found[${parent[$pid]}]-} ]] || found[$pid]=1 more=1
        done
    done
}

unset TMOUT

# Sets $shell to the process ID of the shell.
find_shell() {
    set -- "$folder"/shell.*
    shell=${1##*.}
}

# Returns a moment later.
pause() { read -r -t 0.01 <>"$folder/nothing"; }
