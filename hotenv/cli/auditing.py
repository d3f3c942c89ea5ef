"""The options of an audit log: those of ``run``, ``guard``, ``shell`` and ``serve``."""

from __future__ import annotations

import os

from hotenv.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from hotenv.audit.commands import CommandAudit, CommandLog
    from hotenv.cli.parser import Parser


def add_audit(parser: Parser, what: str) -> None:
    """Add the options. ``what``: of what the log tells."""
    parser.add_argument(
        "--audit",
        default=None,
        metavar="FILE",
        help=f"append {what} to the audit log FILE ('hotenv audit verify' detects changes)",
    )
    parser.add_argument(
        "--audit-required",
        action="store_true",
        default=False,
        help="with --audit, fail if the log cannot be written",
    )


def add_audit_names(parser: Parser) -> None:
    """Add the option of those who hand variables over."""
    parser.add_argument(
        "--audit-names",
        action="store_true",
        default=False,
        help="with --audit, also log the names of the session's variables",
    )


def check_audit(args: argparse.Namespace) -> None:
    """Raises UsageError if an option is there without ``--audit``."""
    for option in ("audit_required", "audit_names"):
        if args.audit is None and getattr(args, option, False):
            raise UsageError(f"--{option.replace('_', '-')} requires --audit")


def command_log(args: argparse.Namespace, variables: Mapping[str, str]) -> CommandLog | None:
    """The log of commands, with ``--audit``. The values of ``variables`` are hidden in it."""
    if args.audit is None:
        return None
    from hotenv.audit.commands import CommandLog
    from hotenv.redaction.redactor import for_records

    redactor = for_records(variables)

    def hide(text: str) -> str:
        return os.fsdecode(redactor.redact(os.fsencode(text)))

    return CommandLog(
        args.audit,
        hide=hide,
        names=sorted(variables) if getattr(args, "audit_names", False) else None,
        verbose=getattr(args, "verbose", False),
        required=args.audit_required,
    )


def audit_of(
    args: argparse.Namespace,
    what: str,
    argv: Sequence[str],
    variables: Mapping[str, str],
    folder: str | None = None,
) -> CommandAudit | None:
    """The audit of the command ``argv``, which begins now, with ``--audit``.

    ``folder``: where, if not in the working directory.
    """
    log = command_log(args, variables)
    return None if log is None else log.begin(what, argv[0], argv, folder or os.getcwd())
