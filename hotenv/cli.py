"""The program: runs one command, and is the only place where errors become exit codes.

The plain form of a command line goes straight to its command: argparse takes a third as long to
load as an interpreter to start.
"""

from __future__ import annotations

import os
import sys

from hotenv.errors import HotenvError, SystemFailureError
from hotenv.stdio import reserve_standard_streams, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_INTERRUPTED = 130  # as shells report SIGINT
_BROKEN_PIPE = 141  # as shells report SIGPIPE


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; ``argv`` is the command line without the program's name.

    Returns the exit code (specification, section 12). ``run`` returns only if it fails.
    """
    try:
        reserve_standard_streams()
        _run(sys.argv[1:] if argv is None else argv)
    except HotenvError as error:
        say(str(error))
        return error.exit_code
    except BrokenPipeError:
        return _BROKEN_PIPE
    except Exception as error:
        say(f"internal error: {_whereabouts(error)}: please report it")
        return SystemFailureError.exit_code
    except (KeyboardInterrupt, BaseExceptionGroup):  # in a group if it came while Trio started
        return _INTERRUPTED
    return 0


def _run(argv: Sequence[str]) -> None:
    if len(argv) > 2 and argv[0] == "run" and argv[1] == "--":
        from hotenv.commands import run

        run(argv[2:])
    else:
        from hotenv.arguments import build_parser

        args = build_parser().parse_args(argv)
        args.run(args)


def _whereabouts(error: BaseException) -> str:
    """What kind of error and where, but not its text: that, or a traceback, could show a value."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = (
        f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}" if trace else ""
    )
    return f"{type(error).__name__} at {where}"
