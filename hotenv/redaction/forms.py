r"""How a value can be written in a text. Pure.

A form is a sequence of atoms, one for each character, and an atom is what may stand for that
character: ``@`` may be ``@``, ``\@``, ``%40`` or ``\u0040``. So a form covers all encoders that
escape characters one by one, whichever of them they escape and however they write hexadecimal.
"""

from __future__ import annotations

from binascii import b2a_base64

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Atom = tuple[bytes, ...]
    Form = list[Atom]

_NEVER_ESCAPED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._")

_CONTROLS = {
    "\n": (b"\\n", b"\r\n"),  # a terminal makes the latter of it
    "\r": (b"\\r",),
    "\t": (b"\\t",),
    "\b": (b"\\b",),
    "\f": (b"\\f",),
    "\v": (b"\\v",),
    "\a": (b"\\a",),
    "\x1b": (b"\\e", b"\\E"),
}
_QUOTES = {
    "'": (b"'\\''", b"'\"'\"'"),
    " ": (b"+",),  # application/x-www-form-urlencoded
}
_BASE64 = {
    "+": (b"+", b"-", b"%2B", b"%2b"),
    "/": (b"/", b"_", b"%2F", b"%2f", b"\\/"),
}
_JSON = ("\\u{:04x}", "\\u{:04X}")
_PERCENT = ("%{:02X}", "%{:02x}")
_BYTES = ("\\x{:02x}", "\\x{:02X}", "\\{:03o}")  # Python's literals, $'...'
_SHORT, _LONG = ("\\x{:02x}",), ("\\U{:08x}", "\\u{{{:x}}}")  # code points
_SHORTEST_ENCODED = 6  # characters: shorter ones turn up by chance


def spelled(value: str) -> Form:
    """``value`` as it is, or escaped as in JSON, URLs, shells and Python's literals."""
    return [_spellings(character) for character in value]


def encoded(value: bytes) -> Iterator[Form]:
    """``value`` in base64 and base64url, whatever stands before it, and in hexadecimal."""
    for before in range(3):
        text = b2a_base64(bytes(before) + value, newline=False).decode()
        # Only what depends on nothing but the value: 6 bits a character.
        first, end = -(-before * 8 // 6), (before + len(value)) * 8 // 6
        if end - first >= _SHORTEST_ENCODED:
            yield [_BASE64.get(each, (each.encode(),)) for each in text[first:end]]
    digits = value.hex()
    if len(digits) >= _SHORTEST_ENCODED:
        for text in {digits, digits.upper()}:
            yield [(each.encode(),) for each in text]


def _spellings(character: str) -> Atom:
    plain = character.encode()
    if character in _NEVER_ESCAPED:
        return (plain,)
    found = [plain, *_CONTROLS.get(character, ()), *_QUOTES.get(character, ())]
    units = character.encode("utf-16-be")
    found += _each([int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2)], *_JSON)
    found += _each(plain, *_PERCENT)
    if character.isascii() and character.isprintable():
        found.append(b"\\" + plain)
    else:
        found += _each(plain, *_BYTES)
        found += _each([ord(character)], *(_SHORT if ord(character) < 0x100 else _LONG))
    return tuple(dict.fromkeys(found))


def _each(numbers: Iterable[int], *styles: str) -> list[bytes]:
    """All of ``numbers`` in each of ``styles``."""
    numbers = list(numbers)
    return ["".join(style.format(each) for each in numbers).encode() for style in styles]
