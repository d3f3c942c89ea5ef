"""``hotenv config``: show what the project's file says, and whether that counts."""

from __future__ import annotations

from hotenv.stdio import write_output, write_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from hotenv.cli.parser import Parser

_DEFAULT = "default"


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    parser.description = (
        "Show what the nearest hotenv.toml, or [tool.hotenv] in pyproject.toml, says here: each "
        "value, where it comes from, and whether the file is allowed."
    )
    parser.epilog = "example: hotenv config --json"
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    from hotenv.project.file import nearest_file
    from hotenv.project.said import flattened, shown
    from hotenv.project.tables import DEFAULTS, check_tables
    from hotenv.project.trust import refusal

    file = nearest_file()
    said, reason = {}, ""
    if file is not None:
        check_tables(file.tables, file.where)
        said, reason = flattened(file.tables), refusal(file)
    path = None if file is None else file.path
    settings = {
        key: (said[key], path) if key in said else (DEFAULTS[key], _DEFAULT)
        for key in dict.fromkeys([*said, *DEFAULTS])
    }
    if args.json:
        _write_json(path, reason, settings)
        return
    rows: list[tuple[str, ...]] = [("file", path or "none")]
    if file is not None:
        rows.append(("allowed", f"no: {reason}" if reason else "yes"))
    rows += [(key, shown(value), source or "") for key, (value, source) in settings.items()]
    write_table(rows, ("KEY", "VALUE", "SOURCE"))


def _write_json(
    path: str | None, reason: str, settings: dict[str, tuple[object, str | None]]
) -> None:
    import json

    document = {
        "file": path,
        "allowed": path is not None and not reason,
        "reason": reason or None,
        "settings": {
            key: {"value": value, "source": source} for key, (value, source) in settings.items()
        },
    }
    write_output(f"{json.dumps(document, indent=2)}\n".encode())
