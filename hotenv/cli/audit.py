"""``hotenv audit``: verify an audit log, or print it."""

from __future__ import annotations

import sys

from hotenv.errors import UsageError, attempt
from hotenv.stdio import say, write_output, write_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from hotenv.audit.chain import Head
    from hotenv.cli.parser import Parser


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    parser.usage = (
        "hotenv audit verify FILE [--head FILE|HASH]\n       hotenv audit show FILE [--json]"
    )
    parser.description = (
        "Verify that the audit log FILE is unchanged, or print it. 'verify' exits with 0 if it is "
        "intact, 11 if it was changed, 12 if its end is missing or it is an older copy, 13 if only "
        "its last line is incomplete, and 14 if there is no head, so its end may be missing."
    )
    parser.epilog = "example: hotenv audit verify deploy.log"
    parser.add_argument(
        "action", choices=["verify", "show"], metavar="ACTION", help="verify or show"
    )
    parser.add_argument("file", metavar="FILE", help="audit log")
    parser.add_argument(
        "--head",
        metavar="HEAD",
        help="with verify: a copy of the head, or the hash of a line that must be there (default: "
        "the head in the state directory)",
    )
    parser.add_argument("--json", action="store_true", help="with show: print the lines of JSON")


def run(args: argparse.Namespace) -> None:
    """Run the command; ends with the exit code of the verdict."""
    if args.json and args.action != "show":
        raise UsageError("--json is for 'hotenv audit show'")
    if args.head is not None and args.action != "verify":
        raise UsageError("--head is for 'hotenv audit verify'")
    with attempt(f"read {args.file}"), open(args.file, "rb") as file:
        data = file.read()
    if args.action == "show":
        _show(data, as_json=args.json)
    else:
        _verify(args, data)


def _verify(args: argparse.Namespace, data: bytes) -> None:
    from hotenv.audit.chain import is_hash
    from hotenv.audit.verification import verify

    noted = args.head if args.head is not None and is_hash(args.head) else ""
    verdict = verify(data, None if noted else _head(args), anywhere=noted)
    say(f"{args.file}: {verdict.reason}")
    sys.exit(verdict.code)


def _head(args: argparse.Namespace) -> Head | None:
    from hotenv.audit.writer import head_path, read_head

    head = read_head(args.head or head_path(args.file))
    if head is None and args.head is not None:
        raise UsageError(f"--head {args.head}: neither a hash nor a file with a head")
    return head


def _show(data: bytes, *, as_json: bool) -> None:
    from hotenv.audit.chain import decode
    from hotenv.printable import printable

    lines = [(line, fields) for line in data.splitlines() if (fields := decode(line)) is not None]
    if as_json:
        write_output(b"".join(line + b"\n" for line, _ in lines))
        return
    ended = {str(fields.get("began")) for _, fields in lines}
    rows = []
    for _, fields in lines:
        if str(fields["seq"]) in ended:
            continue  # all of it is in the line about the end
        words = fields.get("words") or [fields.get("program", "")]
        command = " ".join(map(str, words)) if isinstance(words, list) else ""
        row = [fields["seq"], fields.get("time", ""), fields.get("what", ""), command, _end(fields)]
        rows.append([printable(str(each)) for each in row])
    write_table(rows, ("LINE", "TIME", "WHAT", "COMMAND", "OUTCOME"))


_OUTCOMES = {
    "status": "exited with {}",
    "signal": "killed by signal {}",
    "failed": "{}",
    "outcome": "{}",
    "blocked": "{} blocked",
}


def _end(fields: dict[str, object]) -> str:
    """How it ended, in words."""
    known = [text.format(fields[name]) for name, text in _OUTCOMES.items() if name in fields]
    return ", ".join(known)
