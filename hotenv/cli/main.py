"""The program: runs one command.

The most frequent command lines bypass argparse, which takes a third as long to import as the
interpreter takes to start.
"""

from __future__ import annotations

import os
import sys

from hotenv.program import catch_interrupts, exit_code_of
from hotenv.stdio import reserve_standard_streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; ``argv`` is the command line without the program's name.

    Returns the exit code (specification, section 12). ``run`` returns only if it fails.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    return exit_code_of(lambda: _run(words))


def _run(argv: list[str]) -> None:
    reserve_standard_streams()
    if desk := os.environ.get("HOTENV_DESK"):
        from hotenv.cli import inside

        if inside.is_for_desk(argv):
            inside.run(desk, argv)
            return
    if len(argv) > 2 and argv[:2] == ["run", "--"]:
        from hotenv.cli.run import run_plain

        catch_interrupts()
        run_plain(argv[2:])
    elif argv[:1] == ["guard"] and (given := _flags_of_guard(argv[1:])) is not None:
        from hotenv.cli.guard import run_plain as guard_plain

        catch_interrupts()
        guard_plain(given, argv[len(given) + 2 :])
    elif argv == ["status", "--short"]:
        from hotenv.cli.status import show_short

        catch_interrupts()
        show_short()
    else:
        from hotenv.cli.commandline import run

        catch_interrupts()
        run(argv)


def _flags_of_guard(words: list[str]) -> list[str] | None:
    """The options of ``hotenv guard`` if all of them are without arguments, else None."""
    from hotenv.cli.guards import FLAGS, READONLY

    plain = {*FLAGS, READONLY}
    end = words.index("--") if "--" in words[:-1] else None
    flags = words[:end]
    return flags if end is not None and plain.issuperset(flags) else None
