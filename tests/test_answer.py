"""answer: what is typed or pasted at a question becomes one answer, however reads cut it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hotenv.intake.answer import Answer, Keys, may_be_pasted

KEYS = Keys(erase=b"\x7f", erase_word=b"\x17", kill=b"\x15", end=b"\x04")

NONE = Keys(erase=b"", erase_word=b"", kill=b"", end=b"")

BEGIN, END = b"\x1b[200~", b"\x1b[201~"


def answer_of(*pieces: bytes, keys: Keys = KEYS) -> Answer:
    """What becomes of ``pieces``."""
    answer = Answer(keys)
    for piece in pieces:
        answer.feed(piece)
    return answer


TYPED = [
    pytest.param(b"abc\r", b"abc", id="Enter"),
    pytest.param(b"abc\n", b"abc", id="newline"),
    pytest.param(b"\r", b"", id="nothing"),
    pytest.param(b"x" * 6000 + b"\r", b"x" * 6000, id="longer than a line of the kernel"),
    pytest.param(b"abcd\x7f\x7fx\r", b"abx", id="erase"),
    pytest.param(b"abc\b\r", b"ab", id="the other erase"),
    pytest.param("aé€😀\x7f\r".encode(), "aé€".encode(), id="erase four bytes"),
    pytest.param("aé€\x7f\x7fb\r".encode(), b"ab", id="erase three and two bytes"),
    pytest.param(b"a\x7f\x7f\x7fb\r", b"b", id="erase more than there is"),
    pytest.param(b"abc\x15d\r", b"d", id="kill"),
    pytest.param(b"one two \x17x\r", b"one x", id="erase a word"),
    pytest.param(b"one\x17x\r", b"x", id="erase the only word"),
    pytest.param(b"abc\x04", None, id="Ctrl-D"),
    pytest.param(b"a\x1b[Db\r", b"a\x1b[Db", id="another escape sequence"),
    pytest.param(b"a\xff\r", b"a\xff", id="no UTF-8"),
]

PASTED = [
    pytest.param(b"abc", b"abc", id="one line"),
    pytest.param(b"l1\rl2\r", b"l1\nl2", id="carriage returns"),
    pytest.param(b"l1\nl2\n", b"l1\nl2", id="newlines"),
    pytest.param(b"l1\r\nl2\r\n", b"l1\nl2", id="both"),
    pytest.param(b"l1\r\r\r", b"l1\n\n", id="empty lines at the end"),
    pytest.param(b"", b"", id="nothing"),
    pytest.param(b"a\x7f\x15\x04\x17b", b"a\x7f\x15\x04\x17b", id="bytes of keys"),
    pytest.param(b"a\x1b[201b", b"a\x1b[201b", id="half a marker"),
    pytest.param(b"x" * 6000, b"x" * 6000, id="long"),
]


def cuts(data: bytes) -> Iterator[list[bytes]]:
    """Ways in which reads may cut ``data``: once, anywhere near an end, and into single bytes."""
    for at in (*range(min(len(data), 20)), *range(max(0, len(data) - 20), len(data))):
        yield [data[:at], data[at:]]
    yield [data[at : at + 1] for at in range(len(data))]


@pytest.mark.parametrize(("typed", "text"), TYPED)
def test_typed(typed: bytes, text: bytes | None) -> None:
    """Enter ends it, and keys edit it."""
    for pieces in cuts(typed):
        answer = answer_of(*pieces)
        assert (answer.ended, answer.text, answer.pasted) == (True, text, False)
        assert answer.rest == b""


@pytest.mark.parametrize(("pasted", "text"), PASTED)
def test_pasted(pasted: bytes, text: bytes) -> None:
    """A paste is the answer, newlines kept but the last."""
    for pieces in cuts(BEGIN + pasted + END):
        answer = answer_of(*pieces)
        assert (answer.ended, answer.text, answer.pasted) == (True, text, True)
        assert answer.rest == b""


def test_paste_after_keys() -> None:
    """What was typed before is the beginning."""
    assert answer_of(b"ax\x7f", BEGIN + b"b\r" + END).text == b"ab"


def test_not_ended() -> None:
    """Without an Enter or the end of the paste it goes on; its length is known meanwhile."""
    for pieces in ([b"abc"], [BEGIN + b"a\r\n"], [b"a", BEGIN, b"bc"]):
        answer = answer_of(*pieces)
        assert (answer.ended, answer.text, answer.size) == (False, None, 3)


@pytest.mark.parametrize(
    ("data", "rest"),
    [
        pytest.param(b"l1\rl2\r", b"l2\r", id="lines"),
        pytest.param(BEGIN + b"l1" + END + b"\rx", b"\rx", id="paste and keys"),
        pytest.param(b"\x04x", b"x", id="Ctrl-D"),
    ],
)
def test_rest(data: bytes, rest: bytes) -> None:
    """What comes after it in the same piece is no part of it, and not lost."""
    assert answer_of(data).rest == rest


def test_keys_that_are_not_set() -> None:
    """They are no keys, and NUL, which stands for that, is a character."""
    assert answer_of(b"a\0\x15\x17\x04\r", keys=NONE).text == b"a\0\x15\x17\x04"


@pytest.mark.parametrize(
    ("piece", "may_be"),
    [
        *((b"", True), (b"\x1b", True), (BEGIN[:4], True), (BEGIN + b"x", True)),
        *((b"x", False), (b"\x1bx", False), (b"x" + BEGIN, False)),
    ],
)
def test_may_be_pasted(piece: bytes, may_be: bool) -> None:
    """A piece that begins with the marker, as far as it has come."""
    assert may_be_pasted(piece) == may_be
