"""What makes a shell complete hotenv's command line: shtab's script, from the parser, and ours.

shtab knows the commands, the options and what they take. It does not know that after ``hotenv run``
comes a command that the shell has a completion for; that is added here, for each shell in its way.
Both are made when the package is built.
"""

from __future__ import annotations

import argparse

import shtab

from subparsers import subparsers

_FILES = {"FILE": shtab.FILE, "DIR": shtab.DIRECTORY}

_BASH = r"""
# What comes after 'hotenv run' and its options is a command, and completes as one.
_hotenv_with_value="WITH_VALUE"

# Sets index to that of the command's first word in COMP_WORDS, where --only=A is three words.
_hotenv_find_command() {
  local word in_run=
  index=1
  while (( index < COMP_CWORD )); do
    word=${COMP_WORDS[index++]}
    if [[ $word == -- ]]; then
      [[ $in_run ]]
      return
    elif [[ $word == -* ]]; then
      if [[ $_hotenv_with_value == *" $word "* && ${COMP_WORDS[index]-} != = ]]; then
        (( index += 1 ))
      fi
      while [[ ${COMP_WORDS[index]-} == [=:]* ]]; do (( index += 2 )); done
    elif [[ $in_run ]]; then
      (( index -= 1 ))
      return 0
    elif [[ $word == run ]]; then
      in_run=yes
    else
      return 1
    fi
  done
  [[ $in_run && $index -eq $COMP_CWORD && ${COMP_WORDS[index]} != -* ]]
}

_hotenv() {
  local index offset
  if ! _hotenv_find_command; then
    # For shtab's function, the value in --format=json is a word of its own.
    if [[ ${COMP_WORDS[COMP_CWORD]} == = ]]; then
      COMP_WORDS[COMP_CWORD]=
    elif [[ ${COMP_WORDS[COMP_CWORD-1]} == = ]]; then
      unset "COMP_WORDS[$((--COMP_CWORD))]"
      COMP_WORDS=("${COMP_WORDS[@]}")
    fi
    _shtab_hotenv
    return
  fi
  for offset in _comp_command_offset _command_offset; do  # bash-completion's: new name, old name
    if declare -F "$offset" >/dev/null; then
      "$offset" "$index"
      return
    fi
  done
  COMPREPLY=()
  if (( index == COMP_CWORD )); then
    while IFS= read -r; do COMPREPLY+=("$REPLY"); done < <(compgen -c -- "${COMP_WORDS[index]}")
  else
    compopt -o default  # files
  fi
}

complete -o bashdefault -F _hotenv hotenv
"""

_ZSH = r"""
# What comes after 'hotenv run' and its options is a command, and completes as one.
_hotenv_command() {
  # _arguments leaves the '--' there if no option is before it.
  if [[ $words[1] == -- ]] && (( CURRENT > 1 )); then
    shift words
    (( CURRENT -= 1 ))
  fi
  _normal
}
"""

_FISH = r"""
# What comes after 'hotenv run' and its options is a command, and completes as one: from its first
# word on, nothing is an option of hotenv's.
function _shtab_hotenv_using
  _shtab_hotenv_scan
  test "$_shtab_hotenv_cmdpath" = "$argv"
  and test "$argv" != run -o $_shtab_hotenv_npos -eq 0
end

function _hotenv_in_run
  _shtab_hotenv_scan
  test "$_shtab_hotenv_cmdpath" = run
end

# Not with __fish_complete_subcommand: it gets lost at --define A=1.
function _hotenv_complete_command
  set -l words (commandline -opc)[2..]
  set -l current (commandline -ct)
  set -l in_run
  while set -q words[1]
    switch $words[1]
      case --
        set -e words[1]
        break
      case '-*'
        contains -- $words[1] $_shtab_hotenv_opts_with_value; and set -e words[1]
      case '*'
        set -q in_run[1]; and break
        set in_run yes
    end
    set -e words[1]
  end
  set -l before (string escape -- $words) ''
  complete --do-complete="$before$current"
end

complete -c hotenv -n _hotenv_in_run -x -a '(_hotenv_complete_command)'
"""


_BEFORE = {"bash": "", "zsh": _ZSH, "fish": ""}
_AFTER = {"bash": _BASH, "zsh": "", "fish": _FISH}


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The script for ``shell``: bash, zsh or fish. ``parser`` is used up."""
    with_value: list[str] = []
    for each in [parser, *subparsers(parser)]:
        each.description = None  # what is shown beside a command is its help, which is shorter
        for action in each._actions:
            if action.metavar in _FILES:
                action.complete = _FILES[action.metavar]  # type: ignore[attr-defined]
            elif action.nargs == argparse.REMAINDER:
                action.help = "command"
                action.complete = {"zsh": "_hotenv_command"}  # type: ignore[attr-defined]
            if action.option_strings and action.nargs != 0:
                with_value += action.option_strings
                if shell == "zsh":  # also in one word: --bin=DIR, -C/DIR
                    action.option_strings = [
                        option + ("=" if option.startswith("--") else "+")
                        for option in action.option_strings
                    ]
    script = shtab.complete(parser, shell, preamble=_BEFORE[shell])
    return script + _AFTER[shell].replace("WITH_VALUE", f" {' '.join(sorted(set(with_value)))} ")
