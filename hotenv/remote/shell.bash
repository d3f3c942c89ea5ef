# Runs a shell, which takes over standard input, and reports its beginning and its end. $folder and
# $number are set before.
{
    set -m
    exec 9>"$folder/reports" || exit
    bash --norc --noprofile <&0 >/dev/null 2>&1 9>&- &
    set +m  # "wait" is not for one that stops, and "wait -f" may miss an end, and spin
    rm -f "$folder"/shell.*
    mkfifo -m 600 "$folder/shell.$!"
    printf 'started %s %s\0' "$number" $! >&9
    wait $!
    printf 'ended %s %s\0' "$number" $? >&9
    exit
} 2>/dev/null
