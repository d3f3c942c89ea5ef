"""The command line as people type it: one add/run pair per command."""

from __future__ import annotations

import argparse
import math
import os

from hotenv import __version__, commands
from hotenv.argumentparser import Parser
from hotenv.durations import DEFAULT_TIMEOUT, format_duration, parse_duration
from hotenv.errors import UsageError, attempt
from hotenv.handover.formats import FORMATS
from hotenv.intake.rules import Rules
from hotenv.serving.options import ServeOptions

SHELLS = ("bash", "zsh", "fish")
"""Those that can complete the command line."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    _Subparsers = argparse._SubParsersAction[Parser]


def run(argv: Sequence[str]) -> None:
    """Do what the words ``argv`` of a command line, without the program's name, say.

    Error handling: raises UsageError if they do not say it, and what the command raises.
    """
    args = build_parser().parse_args(argv)
    folders = [*vars(args).pop("folders"), *vars(args).pop("folders_of_command", [])]
    for folder in folders:
        with attempt(f"go to the folder {folder}"):
            os.chdir(folder)
    args.run(args)


def build_parser() -> Parser:
    """The parser of the whole command line."""
    parser = Parser(
        prog="hotenv",
        description="Keep an environment hot for a few minutes, and run commands with it.",
        epilog="example: gpg -d .env.gpg | hotenv serve --strict --detach && hotenv run -- make",
    )
    parser.add_argument("--version", action="version", version=f"hotenv {__version__}")
    _add_folder(parser, dest="folders", default=[])
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True, title="commands")
    _add_serve(subparsers)
    _add_run(subparsers)
    _add_dump(subparsers)
    _add_status(subparsers)
    _add_stop(subparsers)
    _add_prune(subparsers)
    _add_completion(subparsers)
    for command in subparsers.choices.values():
        _add_folder(command, dest="folders_of_command", default=argparse.SUPPRESS)
    return parser


def _add_folder(parser: Parser, *, dest: str, default: object) -> None:
    parser.add_argument(
        "-C",
        action="append",
        dest=dest,
        default=default,
        metavar="DIR",
        help="do everything as if started in this folder",
    )


def _add_serve(subparsers: _Subparsers) -> None:
    parser = subparsers.add_parser(
        "serve",
        help="hold the environment that comes from standard input",
        description="Read dotenv text from standard input until its end, and hand the environment "
        "to 'hotenv run' in this folder and below, until nobody has asked for a while.",
        epilog="example: op inject -i .env.op | hotenv serve --strict -t 10m",
    )
    parser.add_argument(
        "-t",
        "--timeout",
        type=parse_duration,
        default=DEFAULT_TIMEOUT,
        metavar="DURATION",
        help="end when nobody has asked for so long: 90, 90s, 5m, 1h30m "
        f"(default: {format_duration(DEFAULT_TIMEOUT)})",
    )
    parser.add_argument(
        "--max-age",
        type=parse_duration,
        default=math.inf,
        metavar="DURATION",
        help="end after so long however often it is asked (default: no limit)",
    )
    parser.add_argument(
        "-f", "--force", action="store_true", help="replace the session that this folder has"
    )
    _add_rules(parser)
    parser.add_argument(
        "--check",
        action="store_true",
        help="serve nothing and ask nothing: print for each variable where its value would come "
        "from, and what is wrong (a question counts as one only with -p)",
    )
    parser.add_argument("--json", action="store_true", help="with --check: print it as JSON")
    parser.add_argument(
        "--require-locked-memory",
        action="store_true",
        help="do not serve if the system could write the secrets to its swap space",
    )
    _add_background(parser)
    words = parser.add_mutually_exclusive_group()
    words.add_argument("-q", "--quiet", action="store_true", help="print warnings and errors only")
    words.add_argument(
        "-v", "--verbose", action="store_true", help="log all the words of a command"
    )
    parser.set_defaults(run=_run_serve)


def _add_background(parser: Parser) -> None:
    parser.add_argument(
        "--detach",
        action="store_true",
        help="go on in the background, once the session answers; its log goes to --log or nowhere",
    )
    parser.add_argument(
        "--log",
        metavar="FILE",
        help="append the log to this file, which becomes private (0600)",
    )
    parser.add_argument(
        "--ready-fd",
        type=_descriptor,
        metavar="N",
        help="write a newline to this descriptor, and close it, when the session answers",
    )


def _add_rules(parser: Parser) -> None:
    parser.add_argument(
        "-p",
        "--prompt",
        action="store_true",
        help="ask on the terminal, without echo, for each value that is ? or ?QUESTION",
    )
    parser.add_argument(
        "--no-interpolate",
        action="store_true",
        help="take ${NAME} in a value as it stands",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="refuse a ${NAME} that is set nowhere, a name given twice, a name without =, and an "
        "input without variables",
    )


def _descriptor(word: str) -> int:
    if not (word.isascii() and word.isdigit() and int(word) > 2):
        raise UsageError("--ready-fd takes the number of a descriptor, 3 or more")
    return int(word)


def _run_serve(args: argparse.Namespace) -> None:
    rules = Rules(interpolate=not args.no_interpolate, prompt=args.prompt, strict=args.strict)
    if args.check:
        commands.check(rules, json=args.json)
        return
    if args.json:
        raise UsageError("--json is for --check (see 'hotenv serve --help')")
    commands.serve(
        ServeOptions(
            timeout=args.timeout,
            max_age=args.max_age,
            rules=rules,
            force=args.force,
            quiet=args.quiet,
            verbose=args.verbose,
            require_locked_memory=args.require_locked_memory,
            detach=args.detach,
            log=args.log,
            ready_fd=args.ready_fd,
        )
    )


def _add_run(subparsers: _Subparsers) -> None:
    parser = subparsers.add_parser(
        "run",
        usage="hotenv run [OPTIONS] [--] COMMAND [ARG ...]",
        argument_default=argparse.SUPPRESS,  # what is not asked for does not load the composition
        help="run a command with the environment",
        description="Become COMMAND, with the session's variables on top of the environment.",
        epilog="example: hotenv run -- sh -c 'echo \"$NAME\"'  (without sh -c, your shell would "
        "put in $NAME before hotenv runs)",
    )
    _add_selection(parser)
    _add_layers(parser)
    _add_files(parser)
    parser.add_argument(
        "--wait",
        type=parse_duration,
        metavar="DURATION",
        help="if there is no session that answers, wait so long for one",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="run nothing: print the names that the command would get, where each is from, and "
        "why what was asked for is absent (it asks the session as 'hotenv dump' does)",
    )
    parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.set_defaults(run=_run_run)


def _add_layers(parser: Parser) -> None:
    parser.add_argument(
        "--no-override",
        action="store_false",
        dest="override",
        help="leave alone what is set already, be it empty",
    )
    parser.add_argument(
        "--isolated",
        action="store_true",
        help="pass on only what is essential (PATH, HOME, LANG, ...) instead of the whole "
        "environment",
    )
    parser.add_argument(
        "--pass",
        action="append",
        type=_text,
        dest="passed",
        metavar="NAME",
        help="pass this on too: a name, a pattern, or @net (proxies), @tls (certificates), "
        "@ssh-agent, @xdg; may be repeated",
    )
    parser.add_argument(
        "--define",
        action="append",
        type=_definition,
        dest="defined",
        metavar="NAME=VALUE",
        help="set what is not secret, over the session; may be repeated",
    )
    parser.add_argument(
        "--bin",
        action="append",
        type=_folder,
        dest="bins",
        metavar="DIR",
        help="put this folder in front of PATH; may be repeated",
    )


def _add_files(parser: Parser) -> None:
    parser.add_argument(
        "--as-file",
        action="append",
        type=_as_file,
        dest="as_file",
        metavar="NAME[=VAR]",
        help="not in the environment: NAME_FILE, or VAR, has the path of a file in memory that "
        "holds the value of NAME; may be repeated",
    )
    parser.add_argument(
        "--env-file",
        choices=[name for name in FORMATS if name != "env"],
        dest="env_file",
        metavar="FORMAT",
        help="not in the environment: the one {} in the command becomes the path of a file in "
        "memory with the session's variables (docker, dotenv, json, null, shell)",
    )


def _add_selection(parser: Parser) -> None:
    parser.add_argument(
        "--only",
        action="append",
        metavar="PATTERN",
        help="take only the session's variables that match (NAME, 'AWS_*'); may be repeated",
    )
    parser.add_argument(
        "--except",
        action="append",
        dest="excluded",
        metavar="PATTERN",
        help="leave out the session's variables that match; may be repeated",
    )


def _text(word: str) -> str:
    """``word`` as UTF-8 says it, whatever the locale: what it means in an environment is bytes."""
    return os.fsencode(word).decode("utf-8", "surrogateescape")


def _definition(word: str) -> tuple[str, str]:
    name, equals, value = _text(word).partition("=")
    if not equals:
        raise UsageError("--define takes NAME=VALUE")  # and does not show what may be a value
    return name, value


def _as_file(word: str) -> tuple[str, str]:
    name, equals, variable = _text(word).partition("=")
    return name, variable if equals else f"{name}_FILE"


def _folder(word: str) -> str:
    if not word:
        raise UsageError("--bin takes a folder, not an empty word")
    return word


def _run_run(args: argparse.Namespace) -> None:
    options = vars(args)
    del options["run"]
    words, explain = options.pop("words"), options.pop("explain", False)
    wait = options.pop("wait", 0.0)
    if words[:1] == ["--"]:
        words = words[1:]
    if not words:
        raise UsageError("run needs a command: hotenv run -- COMMAND [ARG ...]")
    if "bins" in options:
        with attempt("tell the current folder"):
            options["bins"] = [_text(os.path.abspath(folder)) for folder in options["bins"]]
    if options or explain:
        commands.run_composed(words, options, explain=explain, wait=wait)
    else:
        commands.run(words, wait=wait)


def _add_dump(subparsers: _Subparsers) -> None:
    parser = subparsers.add_parser(
        "dump",
        help="print the environment",
        description="Print the session's variables, sorted by name: as NAME=value lines, which are "
        "for people, or as another program reads them.",
        epilog='example: eval "$(hotenv dump --format shell)"',
    )
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default="env",
        metavar="FORMAT",
        help=f"one of {', '.join(FORMATS)} (default: env)",
    )
    _add_selection(parser)
    parser.set_defaults(run=_run_dump, only=[], excluded=[])


def _run_dump(args: argparse.Namespace) -> None:
    commands.dump(args.format, only=args.only, excluded=args.excluded)


def _add_status(subparsers: _Subparsers) -> None:
    parser = subparsers.add_parser(
        "status",
        help="show how long the session lasts, and what it is",
        description="Show the session that 'hotenv run' would use, without extending it and "
        "without any variable. Fails as 'hotenv run' would.",
        epilog="example: PS1='$(hotenv status --short 2>/dev/null) $ '",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="show a line for each session of yours with this XDG_RUNTIME_DIR, dead ones too",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    parser.add_argument(
        "--short", action="store_true", help="print only how long it lasts, for a shell's prompt"
    )
    parser.set_defaults(run=_run_status)


def _run_status(args: argparse.Namespace) -> None:
    if args.short and (args.all or args.json):
        raise UsageError("--short goes with no other option (see 'hotenv status --help')")
    if args.short:
        commands.status_short()
    elif args.all:
        commands.status_all(json=args.json)
    else:
        commands.status(json=args.json)


def _add_stop(subparsers: _Subparsers) -> None:
    parser = subparsers.add_parser(
        "stop",
        help="end the session",
        description="End the session that 'hotenv run' would use, and return when it is gone.",
        epilog="example: hotenv stop --all",
    )
    parser.add_argument("--all", action="store_true", help="end all that 'status --all' shows")
    parser.set_defaults(run=_run_stop)


def _run_stop(args: argparse.Namespace) -> None:
    if args.all:
        commands.stop_all()
    else:
        commands.stop()


def _add_prune(subparsers: _Subparsers) -> None:
    parser = subparsers.add_parser(
        "prune",
        help="remove what dead sessions left behind",
        description="Remove the sockets of servers that were killed, and the marker that "
        "'hotenv run' would find if its session is dead. What may still be in use stays.",
        epilog="example: hotenv prune",
    )
    parser.set_defaults(run=_run_prune)


def _run_prune(_args: argparse.Namespace) -> None:
    commands.prune()


def _add_completion(subparsers: _Subparsers) -> None:
    parser = subparsers.add_parser(
        "completion",
        help="print what makes a shell complete hotenv's command line",
        description="Print the script that makes SHELL complete hotenv's commands and options, and "
        "the command after 'hotenv run' as it does without hotenv.",
        epilog='example: eval "$(hotenv completion bash)"  (in ~/.bashrc)',
    )
    parser.add_argument(
        "shell", choices=SHELLS, metavar="SHELL", help=f"one of {', '.join(SHELLS)}"
    )
    parser.set_defaults(run=_run_completion)


def _run_completion(args: argparse.Namespace) -> None:
    commands.completion(args.shell)
