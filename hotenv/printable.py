"""Make any text safe to show: one line, and nothing that a terminal would obey. Pure.

A directory name may hold a newline or an escape sequence, and so may an argument of a command or a
message from whoever sits behind a socket. Whatever hotenv shows goes through here.
"""

from __future__ import annotations


def printable(text: str) -> str:
    r"""``text`` with each character that is not printable as an escape such as ``\n`` or ``\x1b``.

    A byte that was not decodable (a lone surrogate, as :func:`os.fsdecode` makes) is shown as
    that byte: ``\xff``.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escape(c) for c in text)


def _escape(character: str) -> str:
    if "\udc80" <= character <= "\udcff":
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")
