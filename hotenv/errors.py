"""What can go wrong, and the exit code of each (specification, section 12).

This is the one place where exit codes are decided: the command line only asks an error for its
code. A message is one line for a person: what happened, which file or variable, what to do next.
It never contains a value. It may contain file names as they are; whoever prints it makes it
printable first (:func:`hotenv.printable.printable`).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class HotenvError(Exception):
    """Any failure that hotenv foresees. Never raised itself, only its children are."""

    exit_code: ClassVar[int]


class UsageError(HotenvError):
    """The command line, or an argument of the Python API, is not one that hotenv understands."""

    exit_code = 2


class NoSessionError(HotenvError):
    """There is no .hotenv in the folder, nor in any folder above it."""

    exit_code = 3


class UnreachableError(HotenvError):
    """There is a .hotenv, and nobody trustworthy answers behind it in time."""

    exit_code = 4


class InputError(HotenvError):
    """The input of serve is not dotenv text, or --strict refuses it.

    Its message gives line numbers, never text.
    """

    exit_code = 7


class SystemFailureError(HotenvError):
    """The system does not let hotenv do it: files, permissions, a command that does not start."""

    exit_code = 8


class ArtifactError(HotenvError):
    """A marker or a message of the protocol is malformed."""

    exit_code = 9


class SessionExistsError(HotenvError):
    """The folder of serve has a session already, and there is no --force."""

    exit_code = 10


class attempt:
    """Turns an OSError in its block into a SystemFailureError: ``cannot open the folder /a: ...``.

    It reads as a statement: ``with attempt("open the folder /a"):``. Not made with contextlib,
    whose import every client would pay for.
    """

    def __init__(self, action: str, hint: str = "") -> None:
        """``hint``: what the user can do about it, in a few words."""
        self._action = action
        self._hint = f" ({hint})" if hint else ""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, OSError):
            message = f"cannot {self._action}: {because(error)}{self._hint}"
            raise SystemFailureError(message) from error


def because(error: OSError) -> str:
    """The operating system's own words for ``error``, without numbers and file names."""
    return (error.strerror or str(error) or type(error).__name__).lower()


def internal_error(error: BaseException) -> str:
    """What to say about a mistake of ours: what kind of error, and where.

    Not its text: that, or a traceback, could show a value.
    """
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = ""
    if trace is not None:
        file = trace.tb_frame.f_code.co_filename.rpartition("/")[2]
        where = f" at {file}:{trace.tb_lineno}"
    return f"internal error: {type(error).__name__}{where}: please report it"
