"""The program: runs one command, and is the only place where errors become exit codes.

The plain form of what is typed all day goes straight to its command: argparse takes a third as long
to load as an interpreter to start.
"""

from __future__ import annotations

import sys

from hotenv.errors import HotenvError, SystemFailureError, internal_error
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
        say(internal_error(error))
        return SystemFailureError.exit_code
    except (KeyboardInterrupt, BaseExceptionGroup):  # in a group if it came while Trio started
        return _INTERRUPTED
    return 0


def _run(argv: Sequence[str]) -> None:
    if len(argv) > 2 and argv[0] == "run" and argv[1] == "--":
        from hotenv import commands

        commands.run(argv[2:])
    elif list(argv) == ["status", "--short"]:
        from hotenv import commands

        commands.status_short()
    else:
        from hotenv import arguments

        arguments.run(argv)
