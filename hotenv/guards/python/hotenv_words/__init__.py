"""A refusal: said to the program, and told to hotenv by an address that nobody can listen at."""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

LIBRARY = os.path.dirname(os.__file__)
"""Where the standard library is."""

_LONGEST = 107  # bytes of the name of a Unix socket
_OURS = os.path.dirname(os.path.dirname(__file__))


def refuse(guard: str, what: str, option: str, **target: str) -> "NoReturn":
    """Tell hotenv, and raise PermissionError. ``option``: what would allow it, if anything."""
    tell(guard, what, **target)
    raise PermissionError(1, in_words(guard, what, option, ":".join(target.values())))


def in_words(guard: str, what: str, option: str, about: str) -> str:
    """What the error says."""
    words = f"hotenv guard --{guard} blocked {what} {about}".rstrip()
    return f"{words}: allow it with {option}" if option else words


def tell(guard: str, what: str, **target: str) -> None:
    """Tell the supervisor, which sees each connect of a Unix socket."""
    import _socket

    fields = [f"{name}={value}" for name, value in target.items()]
    words = "\0".join(["", "hotenv", guard, what, *fields, f"at={_place()}"])
    one = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        one.connect(words.encode("utf-8", "surrogateescape")[:_LONGEST])
    except OSError:
        pass  # it is refused
    finally:
        one.close()


def _place() -> str:
    """The line of the program, rather than of a library, that asks for it."""
    frame: FrameType | None = sys._getframe(1)
    ignored = ("<", LIBRARY, _OURS)
    while frame is not None:
        path = frame.f_code.co_filename
        if not path.startswith(ignored) and "-packages/" not in path:
            try:
                return f"{os.path.relpath(path)}:{frame.f_lineno}"
            except OSError:  # there is no current directory any more
                return f"{path}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
