#!/bin/sh
# The command hotenv where launcher.c cannot be compiled. What it does is explained there; it does
# as much of it as a shell can. All commands are builtins, unless this is reached through a link.

unset -f echo read readlink test  # bash takes functions from the environment
hotenv_self=$0  # no name that the caller could have exported
case $hotenv_self in */*) ;; *) hotenv_self=./$hotenv_self ;; esac
while test -L "$hotenv_self"; do
    hotenv_link=$(PATH=/usr/bin:/bin:$PATH; readlink "$hotenv_self"; echo .)
    hotenv_link=${hotenv_link%??}  # the dot has kept newlines at the end
    case $hotenv_link in
        /*) hotenv_self=$hotenv_link ;;
        *) hotenv_self=${hotenv_self%/*}/$hotenv_link ;;
    esac
done

if test -d /dev/fd/0; then  # Python dies of it before it can say so in words
    echo "hotenv: standard input is a directory: use a file or a pipe" >&2
    exit 8
fi

hotenv_main=${hotenv_self%/*}/hotenv-main
if ! test -r "$hotenv_main"; then
    echo "hotenv: cannot read $hotenv_main" >&2
    exit 8
fi
{ IFS='' read -r hotenv_first; IFS='' read -r hotenv_second; } <"$hotenv_main"
case $hotenv_first in
    '#!/bin/sh')
        hotenv_python=${hotenv_second#"'''exec' "}
        hotenv_python=${hotenv_python%' "$0" "$@"'}
        case $hotenv_python in
            [\"\']*) hotenv_python=${hotenv_python#?} hotenv_python=${hotenv_python%?} ;;
        esac
        ;;
    *)
        hotenv_python=${hotenv_first#??}
        case ${hotenv_python##*/} in
            *' -'*) hotenv_python=${hotenv_python% -*} ;;  # pipx adds -E
        esac
        ;;
esac
case $hotenv_python in /*) ;; *) hotenv_python=${hotenv_main%/*}/python ;; esac
if ! test -x "$hotenv_python"; then
    echo "hotenv: cannot start $hotenv_python" >&2
    exit 8
fi
exec "$hotenv_python" -I "$hotenv_main" "$@"
