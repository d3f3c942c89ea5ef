# The keeper of the session whose directory is $folder: passes reports on, and ends all that belongs
# to it. Standard input has this text, with $cookie and $patience (seconds) set before it, and then
# an order a line. Standard output has records that end with NUL.

# end GRACE: ends all. The shell, whose standard input has ended, gets GRACE seconds to end itself.
end() {
    local deadline=$((SECONDS + $1)) round
    trap '' HUP INT TERM
    find_shell
    while [[ $shell && -d /proc/$shell ]] && ((SECONDS < deadline)); do
        pause
    done
    for ((round = 0; round < 1000; round++)); do  # 10 seconds at least, for what keeps forking
        scan
        unset "found[$$]" "found[$passing]"
        ((${#found[@]})) || break
        kill -STOP "${!found[@]}"  # what waits for another one must not go on when that is killed
        kill -KILL "${!found[@]}"
        pause
    done
    rm -rf "$folder"
    kill -KILL $(jobs -p)
    wait
    exit 0
}

keep() {
    local order word
    trap 'end 0' HUP INT TERM
    while read -r -t "$patience" order word; do
        case $order in
        beat) [[ -p $folder/reports && $(jobs -rp) == *"$passing"* ]] || break ;;
        release) : >"$folder/$word/dump" & ;; # the pump waits for a shell that is not there
        stop) echo 1<>"$folder/$word/stop" ;;
        end) end "$word" ;;
        esac
    done
    end 0
}

shopt -s nullglob
exec 9<>"$folder/reports"
cat <&9 &
passing=$!
keep 2>/dev/null
