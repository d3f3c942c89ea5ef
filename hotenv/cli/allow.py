"""``hotenv allow``: let the project's file count as it is now."""

from __future__ import annotations

from hotenv.errors import UsageError
from hotenv.stdio import say, write_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from hotenv.cli.parser import Parser
    from hotenv.project.file import ProjectFile


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    parser.description = (
        "Show what the nearest hotenv.toml, or [tool.hotenv] in pyproject.toml, says, and allow "
        "it. It counts until it changes, or a file of the project changes that it names as source "
        "or input. To look first, use 'hotenv config'."
    )
    parser.epilog = "example: git clone URL && cd shop && hotenv allow && hotenv run -- pytest"


def run(_args: argparse.Namespace) -> None:
    """Run the command."""
    from hotenv.project.tables import check_tables
    from hotenv.project.trust import allow, refusal

    file = here()
    check_tables(file.tables, file.where)
    write_table(_rows(file), ("KEY", "VALUE"))
    changed = refusal(file)
    allow(file)
    say(f"allowed {file.path}" if changed else f"{file.path} is already allowed")


def here(*, untrusted: bool = False) -> ProjectFile:
    """The file of the project. Raises UsageError if there is none. See :func:`nearest_file`."""
    from hotenv.project.file import nearest_file

    file = nearest_file(untrusted=untrusted)
    if file is None:
        raise UsageError(
            "no hotenv.toml, and no [tool.hotenv] in pyproject.toml, in this directory or above"
        )
    return file


def _rows(file: ProjectFile) -> list[tuple[str, str]]:
    """What the file says: first what is run, and which files of the project are."""
    from shlex import join

    from hotenv.project.said import flattened, shown, words_of_source
    from hotenv.project.trust import own_files

    words = words_of_source(file.tables)
    rows = [("runs", join(words))] if words else []
    rows += [("with", path) for path in own_files(file)]
    return [*rows, *((path, shown(value)) for path, value in flattened(file.tables).items())]
