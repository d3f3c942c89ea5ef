"""The options that forbid something to a command: those of ``guard``, and of ``run``."""

from __future__ import annotations

import os

from hotenv.errors import FieldError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Any

    from hotenv.cli.parser import Parser

FLAGS = {
    "--no-network": "deny COMMAND all network access",
    "--no-localhost": "keep COMMAND from connecting to this machine, by any of its addresses",
    "--no-subprocess": "keep COMMAND from starting other programs or processes",
    "--no-terminals": "keep COMMAND from opening terminals other than its own",
    "--allow-localhost": "deny COMMAND the network, except TCP on this machine",
    "--allow-udp": "with --allow-localhost or --allow-domain, also let COMMAND use UDP there",
    "--private-tmp": "give COMMAND a new directory for temporary files (TMPDIR)",
    "--keep-status": "exit as COMMAND does, even if something was blocked (default: exit with 2)",
    "--trace": "print refusals, and what exceptions allow, to standard error as they happen",
    "--best-effort": "warn about what this kernel lacks, and continue without it",
}
"""The options without arguments, and their help."""

READONLY = "--fs-readonly"
"""Its argument is optional."""

_FIELDS = (
    *("no_network", "no_localhost", "no_subprocess", "no_terminals", "fs_readonly", "deny_read"),
    *("private_tmp", "strict_imports"),
    *("allow_localhost", "allow_udp", "allow_domain", "allow_import", "allow_write"),
    *("allow_read", "allow_unix", "profile", "exactly", "guard"),
)
HOW = ("keep_status", "trace", "report", "best_effort")
"""Options that are no part of the guard."""


_LISTS = (
    (
        *("--deny-read", "PATH"),
        "keep COMMAND from reading and changing PATH and what is in it, which need not exist",
    ),
    (
        *("--allow-domain", "HOST[:PORT]"),
        "deny COMMAND the network, except TCP to HOST, whose name hotenv looks up; with .HOST, "
        "also to all hosts below it",
    ),
    ("--allow-import", "NAME", "let Python programs import the module NAME and what is below it"),
    ("--allow-write", "PATH", "let COMMAND change PATH and what is in it"),
    ("--allow-read", "PATH", "let COMMAND read PATH and what is in it"),
    ("--allow-unix", "PATH", "let COMMAND connect to the Unix socket PATH, or to those in it"),
    (
        *("--profile", "NAME"),
        "apply the profile NAME: net-hermetic, exec-deny, fs-readonly, "
        "strict-imports, hermetic (all of these), or one of the project's",
    ),
)
"""The options that may be repeated, what their argument is called, and their help."""


def add_guards(parser: Parser, *, of_one_command: bool = True) -> None:
    """Add the options. Their defaults are suppressed: what is there was given.

    ``of_one_command``: also those about how hotenv ends after its only command.
    """
    from hotenv.cli.parser import SUPPRESS

    for option, text in FLAGS.items():
        if option == "--keep-status" and not of_one_command:
            continue
        parser.add_argument(option, action="store_true", default=SUPPRESS, help=text)
    parser.add_argument(
        READONLY,
        nargs="?",
        const=True,
        default=SUPPRESS,
        metavar="ROOT",
        help="keep COMMAND from changing files; with =ROOT, let it read only what is in the "
        "directory ROOT, and system files",
    )
    parser.add_argument(
        "--strict-imports",
        nargs="?",
        choices=["all"],
        const=True,
        default=SUPPRESS,
        metavar="MODE",
        help="keep Python programs from importing native extension modules, except those of the "
        "standard library; with =all, those too",
    )
    for option, metavar, text in _LISTS:
        parser.add_argument(
            option,
            action="append",
            default=SUPPRESS,
            metavar=metavar,
            help=f"{text}; may be repeated",
        )
    parser.add_argument(
        "--report",
        default=SUPPRESS,
        metavar="FILE",
        help="write refusals, and how COMMAND ended, to FILE, as JSON lines",
    )


def add_project_guards(parser: Parser) -> None:
    """Add ``--guard``, for commands that are not under any guard without an option."""
    parser.add_argument(
        "--guard",
        action="store_true",
        help="apply the guards of the project's file and your environment (see 'hotenv help "
        "guards')",
    )


def given_guards(args: argparse.Namespace) -> dict[str, Any]:
    """Those of the options that were given."""
    return {name: getattr(args, name) for name in (*_FIELDS, *HOW) if hasattr(args, name)}


def guarded_command(argv: Sequence[str]) -> Sequence[str]:
    """The command, which has to stand behind ``--``."""
    if argv[:1] != ["--"]:
        raise UsageError("put '--' between the options and the command")
    if not argv[1:]:
        raise UsageError("missing command after '--'")
    return argv[1:]


def named(option: str, text: str, what: str) -> str:
    """The host or module that an ``option`` excepts, in its canonical form.

    ``what``: what an error calls the option. Error handling: raises UsageError if it is invalid.
    """
    from hotenv.guards.domains import Domain
    from hotenv.guards.fields import module

    try:
        return str(Domain(text)) if option == "allow_domain" else module(text)
    except FieldError as error:
        raise UsageError(f"{what} {error.item}: {error.reason}") from None


def resolved(path: str, directory: str = "") -> str:
    """The path without symbolic links, from ``directory``, whether or not it is there."""
    return os.path.realpath(os.path.join(directory, path))


def existing(path: str, what: str, directory: str = "") -> str:
    """The path without symbolic links, from ``directory``. ``what``: which option or key it is of.

    Error handling: raises UsageError if it is not there.
    """
    if not os.path.exists(os.path.join(directory, path)):
        raise UsageError(f"{what} {path}: no such file or directory: create it first")
    return resolved(path, directory)
