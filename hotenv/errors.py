"""The errors and their exit codes (specification, section 12).

This is the one place where exit codes are decided: the command line takes the code from the error.
A message is one line for a person: what happened, which file or variable, what to do next. It never
contains a value. It may contain raw file names: escape it before printing
(:func:`hotenv.printable.printable`).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class HotenvError(Exception):
    """Base class of all expected failures. Only its subclasses are raised."""

    exit_code: ClassVar[int]


class UsageError(HotenvError):
    """The command line, or an argument to a Python function, is invalid."""

    exit_code = 2


class NoSessionError(HotenvError):
    """There is no .hotenv in the directory or any parent directory."""

    exit_code = 3


class ExpiredError(NoSessionError):
    """The session of ``directory`` has expired; that of a parent is not used instead."""

    def __init__(self, message: str, directory: str) -> None:
        super().__init__(message)
        self.directory = directory


class UnreachableError(HotenvError):
    """There is a .hotenv, but no trusted server answers for it in time."""

    exit_code = 4


class UnresponsiveError(UnreachableError):
    """A server is there, but it does not answer in time."""


class RefusedError(UnreachableError):
    """A server is there, and does not answer a process like this one."""


class DisconnectedError(UnreachableError):
    """The connection to another machine was lost. ``stdout``, ``stderr``: the output until then."""

    stdout: bytes = b""
    stderr: bytes = b""


class InputError(HotenvError):
    """The input of 'hotenv serve' is invalid, costs too much to parse, or --strict rejects it.

    The message gives line numbers, never text.
    """

    exit_code = 7


class SystemFailureError(HotenvError):
    """A system operation failed: file access, permissions, or starting the command."""

    exit_code = 8


class ArtifactError(HotenvError):
    """A marker or a protocol message is malformed, or the marker was copied."""

    exit_code = 9


class SessionExistsError(HotenvError):
    """The directory already has a session, or a file .hotenv that is not a marker."""

    exit_code = 10


class FieldError(UsageError):
    """The argument ``field`` of a Python function is invalid.

    The command line shows the option instead of the field.
    """

    def __init__(self, field: str, reason: str, item: str = "") -> None:
        """``item``: which part of the field, such as a name or a pattern; never a value."""
        super().__init__(f"{field}{item and ' '}{item}: {reason}")
        self.field = field
        self.reason = reason
        self.item = item


def kind_of(exit_code: int) -> type[HotenvError]:
    """The error that a process with this exit code had."""
    kinds = HotenvError.__subclasses__()
    return next((each for each in kinds if each.exit_code == exit_code), SystemFailureError)


class attempt:  # noqa: N801 - it reads as a statement
    """Turns an OSError in its block into a SystemFailureError: ``cannot open the file /a: ...``.

    It reads as a statement: ``with attempt("open the file /a"):``. Not made with contextlib,
    because every client would have to import that.
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
    """Describe a bug by exception type and location.

    The exception text and the traceback are left out, because they could show a value.
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
    return f"internal error: {type(error).__name__}{where}: please report this bug"
