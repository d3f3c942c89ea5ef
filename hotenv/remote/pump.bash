# Passes on the output of commands, one after the other: standard output and standard error are
# those of the commands, byte by byte, and how many bytes are whose is reported through the keeper.
# $folder, $cookie, $nonce, $number and $grace (milliseconds) are set before.
#
# Descriptors: 4 the FIFO stop, 5 and 6 what the two dd count, 7 a FIFO that is held for a moment,
# 8 standard error, 9 reports.

report() { printf '%s\0' "$*" >&9; }

# report_long WHAT TEXT: in pieces that nobody else's report gets between. To cut one off takes bash
# as long as all of the text: that is cut twice.
report_long() {
    local text=$2 size=${3:-150000} at
    for ((at = 0; at == 0 || at < ${#text}; at += size)); do
        if ((size == 150000)); then
            report_long "$1" "${text:at:size}" 3000
        else
            report "$1" "$name" "${text:at:size}"
        fi
    done
}

# Prints the ID of a process, not above this one, that could write to the outputs of this session, such
# as a job that a login has left: its output would be taken for that of a command.
find_intruder() {
    local file pid flags above=$$ own=" $BASHPID "
    while ((above > 1)); do
        own+="$above "
        read -r -d '' flags <"/proc/$above/stat"
        flags=${flags##*) ? }
        above=${flags%% *}
    done
    for file in /proc/[0-9]*/fd/*; do
        pid=${file#/proc/} pid=${pid%%/*}
        [[ -O /proc/$pid && $own != *" $pid "* ]] || continue
        [[ $file -ef /proc/$$/fd/1 || $file -ef /proc/$$/fd/2 ]] || continue
        read -r -d '' flags <"/proc/$pid/fdinfo/${file##*/}"
        flags=${flags#*flags:} flags=${flags%%mnt_id*}
        ((8#0${flags//[!0-7]/} & 3)) && echo "$pid" && return
    done
    return 1
}

# Makes the directory of the next command, and waits for its outputs.
prepare() {
    name=$(od -An -N8 -tx1 /dev/urandom)
    name=${name// /}
    place=$folder/$name
    mkdir "$place" && mkfifo "$place"/{in,out,err,dump,stop,out.count,err.count} || exit
    exec 4<>"$place/stop" 5<>"$place/out.count" 6<>"$place/err.count"
    # An early USR1 must not end them.
    (trap '' USR1 && exec dd bs=65536 <"$place/out" 2>&5 4>&- 5>&- 6>&- 8>&- 9>&-) &
    out=$!
    (trap '' USR1 && exec dd bs=65536 <"$place/err" >&8 2>&6 4>&- 5>&- 6>&- 8>&- 9>&-) &
    err=$!
    set -- /proc/[0-9]*
    earlier=" ${*#/proc/} "
    (read -r -u 4 && mkfifo "$place/stopping" && end_command) &
    ending=$!
}

# Sets $running to the processes that the command has started. Those that were there before, and
# those below them, are not; nor are the shell, the one that has started it, and who feeds FIFO in.
find_running() {
    local pid above
    running=()
    find_shell
    scan
    for pid in "${!found[@]}"; do
        [[ $pid != "$shell" && $pid != "${parent[$shell]-}" && ! -e $place/own.$pid ]] || continue
        above=$pid
        while [[ ${found[$above]-} && $above != "$shell" ]]; do
            [[ $earlier == *" $above "* || $above == "$BASHPID" ]] && continue 2
            above=${parent[$above]}
        done
        running+=("$pid")
    done
}

# Ends the command's processes, and its shell too if it is not finished with the command by then.
end_command() {
    local signal pid others= deadline
    for signal in INT TERM KILL KILL; do  # the last one is for the shell
        local -A told=()
        deadline=$((${EPOCHREALTIME//[!0-9]/} + grace * 1000))
        while :; do
            find_running
            [[ -p $place/ended ]] && ((!${#running[@]})) && return
            for pid in "${running[@]}" $others; do
                [[ ${told[$pid]-} ]] || kill -"$signal" "$pid" && kill -CONT "$pid"
                told[$pid]=1
            done 2>/dev/null
            ((${EPOCHREALTIME//[!0-9]/} < deadline)) || break
            pause
        done
        [[ -p $place/ended ]] || ((${#running[@]} && signal != KILL)) || others=$shell
    done
}

# Reads what a dd has counted, from descriptor $1, into $in, $out and $bytes. Fails if it says nothing
# for 50 ms.
read_counts() {
    local line
    in= out=
    while read -r -t 0.05 -u "$1" line; do
        case $line in
        [0-9]*+[0-9]*' records in') in=${line%% *} ;;
        [0-9]*+[0-9]*' records out') out=${line%% *} ;;
        [0-9]*' byte'*' copied'*) [[ $out ]] && bytes=${line%% *} && return ;;
        esac
    done
    return 1
}

# Reads all that a dd has counted so far, from descriptor $1, into $bytes.
read_all_counts() {
    local in out
    while read -r -t 0 -u "$1" && read_counts "$1"; do :; done
}

# Sets $bytes to what has come of a stream, at least all that has been written to it by now.
# PROCESS FIFO DESCRIPTOR-OF-COUNTS
count() {
    local first= in out empty silent=0 rounds=0
    bytes=
    exec 7<>"$2" || exit
    while :; do
        read -r -t 0 -u 7
        empty=$?
        read_all_counts "$3"  # those that come too late are out of date
        if ! kill -USR1 "$1"; then
            read_all_counts "$3"
            [[ $bytes ]] || exit  # it has not ended by itself
            break
        fi
        if ! read_counts "$3"; then
            ((++silent < 200)) || exit
            continue
        fi
        : "${first:=$bytes}"
        # Asked while it writes, it has not counted that.
        ((empty)) && [[ $in == "$out" ]] && break
        # What a job writes without end: all that the pipe held at first has come.
        ((bytes - first > 2 * 65536)) && break
        ((++rounds < 20)) || pause  # for a slow reader, do not spin
    done
    exec 7<&-
}

# Reports what has come of the command.
settle() {
    local code=- begun=0 cwd program
    mkfifo "$place/ended"
    if [[ -p $place/stopping ]]; then
        wait "$ending"
    else
        kill "$ending"
    fi
    find_shell
    set -- "$place"/[0-9]*
    if (($#)); then
        code=${1##*/}
    elif [[ -d /proc/$shell ]]; then
        code=none
    fi
    # A command may have removed the mark, but not made dd wait for its output again.
    program=$(<"/proc/$out/comm")
    [[ $code == - && ! -e $place/begun && -d /proc/$out && $program != dd ]] || begun=1
    count "$out" "$place/out" 5
    out_bytes=$bytes
    count "$err" "$place/err" 6
    err_bytes=$bytes
    cwd=$(readlink "/proc/$shell/cwd" && echo .)
    cwd=${cwd%??}
    [[ $cwd -ef /proc/$shell/cwd ]] || cwd=${cwd% (deleted)}
    report_long cwd "$cwd"
    [[ $state == "$reported" ]] || report_long state "$state"
    reported=$state
    report settled "$name" "$code" "$begun" "$out_bytes" "$err_bytes"
    rm -rf "$place" 7<>"$place/dump" 3<>"$place/in"  # who waits to open one does so now
}

export LC_ALL=C  # in which dd speaks
reported=
umask 077
shopt -s nullglob
exec 9>"$folder/reports" || exit
if intruder=$(find_intruder); then
    printf '\0%s%s\0' "$nonce" "$intruder"
    exit
fi
printf '\0%s\0' "$nonce"
printf '\0%s\0' "$nonce" >&2
exec 8>&2 2>/dev/null
while :; do
    prepare
    report ready "$number" "$name"
    state=$(<"$place/dump")
    settle
    for ((round = 0; round < 10; round++)); do
        kill -0 "$out" || kill -0 "$err" || break
        pause
    done
    ((round < 10)) || report late "$number" "$name"
    wait "$out" "$err"
    bytes=$out_bytes
    read_all_counts 5
    out_bytes=$bytes bytes=$err_bytes
    read_all_counts 6
    report closed "$number" "$out_bytes" "$bytes"
done
