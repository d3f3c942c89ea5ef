"""The C cores of ``json``, ``socket`` and ``signal``, without the Python code around them.

That code imports ``re`` and ``enum``, which take longer to load than everything else that a client
needs. An interpreter without these cores gets the standard modules. Nothing else knows which.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    import socket
    from collections.abc import Callable
    from json.encoder import py_encode_basestring as quote

    make_scanner: Callable[[object], Callable[[str, int], tuple[object, int]]] | None
    MakeObject = Callable[[list[tuple[str, object]]], object]
else:
    try:
        import _signal as signal
        import _socket as socket
        from _json import encode_basestring as quote
        from _json import make_scanner
    except ImportError:
        import signal
        import socket
        from json.encoder import py_encode_basestring as quote

        make_scanner = None

__all__ = ["parse_json", "quote", "signal", "socket"]
"""``quote`` makes the JSON literal of a string; it escapes control characters only."""

_BLANKS = " \t\n\r"


def parse_json(text: str, make_object: MakeObject) -> object:
    """The value of the JSON ``text``. ``make_object`` gets the pairs of each object in it.

    Error handling: raises ValueError, whose message may quote the text; RecursionError if it is
    nested too deep; whatever ``make_object`` raises.
    """
    if make_scanner is None:
        import json

        return json.JSONDecoder(
            object_pairs_hook=make_object, parse_constant=_refuse_constant
        ).decode(text)
    start = len(text) - len(text.lstrip(_BLANKS))
    try:
        value, end = make_scanner(_Rules(make_object))(text, start)
    except (StopIteration, SystemError):  # the latter up to 3.12: its ValueError is json.decoder's
        raise ValueError("not JSON") from None
    if text[end:].strip(_BLANKS):
        raise ValueError("more than one value")
    return value


def _refuse_constant(_constant: str) -> object:
    raise ValueError("NaN and Infinity are not valid JSON")


class _Rules:
    """What the scanner is told: JSON as RFC 8259 has it, without Python's additions."""

    strict = True
    object_hook = None
    parse_float = float
    parse_int = int
    parse_constant = staticmethod(_refuse_constant)

    def __init__(self, make_object: MakeObject) -> None:
        self.object_pairs_hook = make_object
