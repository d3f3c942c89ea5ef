"""What makes a shell complete hotenv's command line: shtab's script, from the parser, and ours.

shtab knows the commands, the options and what they take. It does not know that after ``hotenv
run``, ``hotenv serve --`` and ``hotenv guard --`` comes a command that the shell has a completion
for; that is added here, for each shell in its way. Names of files are left to the shell itself,
which quotes them: a list of lines cannot hold all of them, and bash inserts one as it is. Both are
made when the package is built.
"""

from __future__ import annotations

import argparse

import shtab

from hotenv.handover.wellknown import GROUPS
from subparsers import subparsers

_FILES: dict[str, dict[str, str]] = {
    "FILE": {"zsh": "_files"},
    "PATH": {"zsh": "_files"},
    "DIR": {"zsh": "_files -/", "fish": "(_hotenv_directories)"},
}
"""What shtab takes for each metavar. Where there is nothing, what is added here completes it."""

_BASH = r"""
# What comes after 'hotenv run' and its options, or after 'hotenv serve' or 'guard' and '--', is a
# command, and completes as one.
_hotenv_with_value="WITH_VALUE"
_hotenv_with_file="WITH_FILE"
_hotenv_with_directory="WITH_DIRECTORY"

# Whether $1 is what breaks a word in two in COMP_WORDS, where --only=A is three words, and @net is
# two unless the option hostcomplete is off.
_hotenv_is_break() {
  [[ $1 && $1 != *[!=:@]* ]]
}

# Sets index to that of the command's first word in COMP_WORDS.
_hotenv_find_command() {
  local word subcommand=
  index=1
  while (( index < COMP_CWORD )); do
    word=${COMP_WORDS[index++]}
    if [[ $word == -- ]]; then
      [[ $subcommand ]]
      return
    elif [[ $word == -* ]]; then
      if [[ $_hotenv_with_value == *" $word "* ]] \
        && ! _hotenv_is_break "${COMP_WORDS[index]-}"; then
        (( index += 1 ))
      fi
      while _hotenv_is_break "${COMP_WORDS[index]-}"; do (( index += 2 )); done
    elif [[ $subcommand == run ]]; then
      (( index -= 1 ))
      return 0
    elif [[ ! $subcommand && $word == @(run|serve|guard) ]]; then
      subcommand=$word
    else
      return 1
    fi
  done
  [[ $subcommand == run && $index -eq $COMP_CWORD && ${COMP_WORDS[index]} != -* ]]
}

# Bash 3 has no compopt: see the end.
_hotenv_compopt() {
  compopt -o "$1" 2>/dev/null || :
}

# Without names in COMPREPLY, readline completes files ('default') or directories ('dirnames')
# itself, and quotes them.
_hotenv() {
  local index offset previous command
  COMPREPLY=()
  if [[ $3 == *[\<\>] ]]; then
    _hotenv_compopt default
    return
  fi
  if ! _hotenv_find_command; then
    # For shtab's function, what is completed is one word: json in --format=json, or @net.
    if _hotenv_is_break "${COMP_WORDS[COMP_CWORD-1]}"; then
      unset "COMP_WORDS[$((--COMP_CWORD))]"
      COMP_WORDS=("${COMP_WORDS[@]}")
    fi
    COMP_WORDS[COMP_CWORD]=$2
    previous=${COMP_WORDS[COMP_CWORD-1]}
    if [[ $_hotenv_with_file == *" $previous "* ]]; then
      _hotenv_compopt default
    elif [[ $_hotenv_with_directory == *" $previous "* ]]; then
      _hotenv_compopt dirnames
    else
      _shtab_hotenv
    fi
    return
  fi
  for offset in _comp_command_offset _command_offset; do  # bash-completion's: new name, old name
    if declare -F "$offset" >/dev/null; then
      "$offset" "$index"
      # It takes the names of 'complete -f' and the like for words. COMP_WORDS is the command's now.
      command=${COMP_WORDS[0]}
      if [[ $(complete -p "$command" "${command##*/}" 2>/dev/null) == *" -"[cdf]" "* ]]; then
        _hotenv_compopt filenames
      fi
      return
    fi
  done
  if (( index < COMP_CWORD )) || [[ $2 == */* ]]; then
    _hotenv_compopt default
    return
  fi
  while IFS= read -r; do
    # A name with a newline is several lines, none of them a command.
    type -- "$REPLY" >/dev/null 2>&1 || continue
    COMPREPLY+=("$REPLY")
    # Not for others: a directory that is called like the command would get a slash.
    [[ $REPLY == *[!a-zA-Z0-9_.+-]* ]] && _hotenv_compopt filenames
  done < <(compgen -c -- "$2")
}

if type compopt >/dev/null 2>&1; then
  complete -o bashdefault -F _hotenv hotenv
else
  complete -o bashdefault -o default -o filenames -F _hotenv hotenv
fi
"""

_FISH = r"""
# What comes after 'hotenv run' and its options, or after 'hotenv serve' or 'guard' and '--', is a
# command, and completes as one: from its first word on, nothing is an option of hotenv's. (After
# '--', fish sees to that itself.)
function _shtab_hotenv_using
  _shtab_hotenv_scan
  test "$_shtab_hotenv_cmdpath" = "$argv"
  and test "$argv" != run -o $_shtab_hotenv_npos -eq 0
end

# Sets _hotenv_command to the words of the command that are before the current one. Fails where no
# command can be.
function _hotenv_find_command
  set -g _hotenv_command (commandline -opc)[2..]
  set -l subcommand
  while set -q _hotenv_command[1]
    switch $_hotenv_command[1]
      case --
        set -e _hotenv_command[1]
        set -q subcommand[1]
        return
      case '-*'
        contains -- $_hotenv_command[1] WITH_VALUE
        and set -e _hotenv_command[1]
      case '*'
        test "$subcommand" = run; and return
        set -q subcommand[1]; and return 1
        contains $_hotenv_command[1] run serve guard; or return
        set subcommand $_hotenv_command[1]
    end
    set -e _hotenv_command[1]
  end
  test "$subcommand" = run
end

# Not with __fish_complete_subcommand: it gets lost at --define A=1.
function _hotenv_complete_command
  set -l before (string escape -- $_hotenv_command) ''
  set -l current (commandline -ct)
  complete --do-complete="$before$current"
end

# What fish completes as a file here: what is after the '=' if the word is an option's.
function _hotenv_file_word
  commandline -ct | string replace -r '^--[^=]*=' ''
end

function _hotenv_directories
  __fish_complete_directories (_hotenv_file_word)
end

# Whether a file that may be meant has a newline in its name, which would be two names in a list.
function _hotenv_newline
  complete --escape --do-complete="'' "(_hotenv_file_word) 2>/dev/null \
    | string match -qr '(?<!\\\\)(\\\\\\\\)*\\\\n'
end

# Whether the command takes such a file.
function _hotenv_newline_in_command
  _hotenv_newline; or return
  set -l files (complete --do-complete="'' "(commandline -ct))
  contains -- $files[1] (_hotenv_complete_command)
end

complete -c hotenv -n '_hotenv_find_command; and not _hotenv_newline_in_command' \
  -x -a '(_hotenv_complete_command)'

# Files that fish completes itself.
complete -c hotenv -n '_hotenv_find_command; and _hotenv_newline_in_command' -F
NATIVE_OPTIONS
"""

_AFTER = {"bash": _BASH, "zsh": "", "fish": _FISH}


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The script for ``shell``: bash, zsh or fish. ``parser`` is used up."""
    with_value: list[str] = []
    with_file: dict[str, list[str]] = {metavar: [] for metavar in _FILES}
    of_fish: list[str] = []
    for each in [parser, *subparsers(parser)]:
        each.description = None  # what is shown beside a command is its help, which is shorter
        for action in [*each._actions]:
            _set_completion(each, action, shell)
            if action.metavar in with_file:
                with_file[action.metavar] += action.option_strings
                of_fish.append(_files_in_fish(each, action))
            if _takes_next_word(action) and action.help != argparse.SUPPRESS:
                with_value += action.option_strings
                if shell == "zsh":  # also in one word: --bin=DIR, -C/DIR
                    action.option_strings = [
                        option + ("=" if option.startswith("--") else "+")
                        for option in action.option_strings
                    ]
    script = shtab.complete(parser, shell)
    after = _AFTER[shell]
    for word, options in {
        "WITH_VALUE": with_value,
        "WITH_FILE": with_file["FILE"] + with_file["PATH"],
        "WITH_DIRECTORY": with_file["DIR"],
    }.items():
        after = after.replace(word, f" {' '.join(sorted(set(options)))} ")
    return script + after.replace("NATIVE_OPTIONS", "\n".join(of_fish))


def _takes_next_word(action: argparse.Action) -> bool:
    return bool(action.option_strings) and action.nargs not in (0, "?")


def _set_completion(parser: argparse.ArgumentParser, action: argparse.Action, shell: str) -> None:
    """Tells shtab what completes the argument of ``action``, where the parser does not say it."""
    if "--pass" in action.option_strings:
        action.choices = GROUPS
    if action.metavar in _FILES:
        action.complete = _FILES[action.metavar]  # type: ignore[attr-defined]
    elif action.nargs == argparse.REMAINDER and shell == "zsh":
        _complete_command_in_zsh(parser, action)
    elif action.choices and shell == "fish":
        # What follows the tab is shown beside the choice. Without one, it is the option's help.
        choices = " ".join(rf"{choice}\t" for choice in action.choices)
        action.complete = {"fish": choices}  # type: ignore[attr-defined]


def _complete_command_in_zsh(parser: argparse.ArgumentParser, action: argparse.Action) -> None:
    """Has zsh complete the command that ``action`` takes.

    ``--`` becomes an option that takes all that follows: zsh's _arguments drops a ``--`` that is
    none if an option is before it, and it could not be told whether there was one.
    """
    separator = parser.add_argument(
        "--",
        nargs=argparse.REMAINDER,
        dest="command",
        metavar="*::COMMAND",
        help="a command follows",
    )
    separator.complete = action.complete = {"zsh": "_normal"}  # type: ignore[attr-defined]
    if parser.prog == "hotenv run":  # needs no '--'; in others, shtab passes over a hidden argument
        action.help = "command"


def _files_in_fish(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """Has fish complete files for an option; where a list can hold directories, only those."""
    condition = " ".join(["_shtab_hotenv_using", *parser.prog.split()[1:]])
    if action.metavar == "DIR":
        condition += "; and _hotenv_newline"
    names = " ".join(
        f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
        for option in action.option_strings
    )
    return f"complete -c hotenv -n '{condition}' {names} -r -F"
