"""The redactor: in whatever form a value stands, and however its text is cut into pieces."""

from __future__ import annotations

import base64
import json
import random
import shlex
import string
import tracemalloc
import urllib.parse
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hotenv import Redactor, Snapshot
from hotenv.errors import FieldError
from hotenv.redaction.needle import Needle
from hotenv.redaction.values import is_everywhere

TOKEN = "s3cr3t/Val+ue=42"
WORDS = 'pass word\'s "quoted" \\ é€🔑\ttab'
KEY = """-----BEGIN PRIVATE KEY-----
MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj
MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu
q83Vrr8=
-----END PRIVATE KEY-----
"""
VARIABLES = {"TOKEN": TOKEN, "WORDS": WORDS, "KEY": KEY}


def escaped(value: str) -> dict[str, str]:
    """``value`` in every form but base64, by what makes it."""
    ansi = "".join(f"\\x{byte:02x}" if byte > 126 else chr(byte) for byte in value.encode())
    return {
        "itself": value,
        "json": json.dumps(value)[1:-1],
        "json, upper case": "".join(
            f"\\u{ord(c):04X}" if 126 < ord(c) < 0x10000 else json.dumps(c)[1:-1] for c in value
        ),
        "json, as it is": json.dumps(value, ensure_ascii=False)[1:-1],
        "json of Go": json.dumps(value)[1:-1].replace("+", "\\u002b").replace("'", "\\u0027"),
        "json of PHP": json.dumps(value)[1:-1].replace("/", "\\/"),
        "url": urllib.parse.quote(value, safe=""),
        "path": urllib.parse.quote(value),
        "form": urllib.parse.quote_plus(value),
        "lower url": "".join(
            c if c.isascii() and c.isalnum() else "".join(f"%{b:02x}" for b in c.encode())
            for c in value
        ),
        "shell": shlex.quote(f"{value};")[1:-2],
        "bash": value.replace("'", "'\\''"),
        "ansi-c": ansi.replace("\\", "\\\\").replace("\\\\x", "\\x").replace("'", "\\'"),
        "backslashes": "".join(c if c.isalnum() or ord(c) > 126 else f"\\{c}" for c in value),
        "python": repr(value)[1:-1],
        "python, ascii": ascii(value)[1:-1],
        "hex": value.encode().hex(),
        "upper hex": value.encode().hex().upper(),
    }


FORMS = [
    pytest.param(name, text, id=f"{name}, {form}")
    for name in ("TOKEN", "WORDS")
    for form, text in escaped(VARIABLES[name]).items()
    if not (form == "backslashes" and "\t" in VARIABLES[name])
]


@pytest.mark.parametrize(("name", "text"), FORMS)
def test_forms(name: str, text: str) -> None:
    """Each form is replaced as a whole, and nothing around it."""
    redacted = Redactor(VARIABLES).redact(f"<<{text}>>".encode())
    assert redacted == f"<<[{name}]>>".encode()


@pytest.mark.parametrize("name", VARIABLES)
@pytest.mark.parametrize("before", [b"", b"u:", b"us:", b"user:", b"longer:"])
@pytest.mark.parametrize("after", [b"", b"!", b"\n", b" more of it"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_base64(name: str, before: bytes, after: bytes, encode: Callable[[bytes], bytes]) -> None:
    """Whatever stands before and after: all characters that depend on the value alone are gone."""
    value = VARIABLES[name].encode()
    text = encode(before + value + after)
    redacted = Redactor(VARIABLES).redact(b"Basic " + text + b" ")
    head, name_there, tail = redacted.partition(f"[{name}]".encode())
    assert name_there
    assert text.startswith(head.removeprefix(b"Basic "))
    assert len(head) <= len(b"Basic ") + len(encode(before))
    assert len(tail.strip(b"= ")) <= len(encode(after)) + 1


@pytest.mark.parametrize("width", [4, 7, 60, 64, 76])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_wrapped(width: int, end: bytes) -> None:
    """Base64 and hexadecimal in lines are found at any width."""
    redactor = Redactor(VARIABLES)
    for text in (
        base64.b64encode(b"x" * 50 + WORDS.encode()),
        (b"-" + WORDS.encode()).hex().encode(),
    ):
        lines = end.join(text[at : at + width] for at in range(0, len(text), width))
        redacted = redactor.redact(lines + b"\n")
        assert redacted.count(b"[WORDS]") == 1
        rest = redacted.replace(end, b"").replace(b"[WORDS]", b"")
        assert len(rest) <= 50 * 4 / 3 + 4


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n    "])
def test_lines_of_a_key(end: str) -> None:
    """Each is hidden by itself, wherever it stands; what kind of a key it is can be read."""
    lines = KEY.splitlines()
    redacted = Redactor(VARIABLES).redact(f"> {end.join(lines[:3])}{end}{lines[4]}".encode())
    assert redacted.decode() == f"> {end.join([lines[0], '[KEY]', '[KEY]', lines[4]])}"
    assert Redactor(VARIABLES).redact(KEY.encode()) == b"[KEY]"


def test_json_over_several_lines() -> None:
    """Its short lines are no secrets: they are in every text."""
    value = '{\n  "a": 1,\n  "password": "hunter22"\n}'
    text = b'{\n  "a": 1,\n}\n'
    assert Redactor({"CONFIG": value}).redact(text) == text
    line = b'  "password": "hunter22"\n'
    assert Redactor({"CONFIG": value}).redact(line) == b"  [CONFIG]\n"


ESCAPES = [
    pytest.param(sequence, id=repr(sequence))
    for sequence in (
        *(b"\x1b[0m", b"\x1b[1;31m", b"\x1b[38:5:1m", b"\x1b(B", b"\x1b=", b"\x1b7", b"\x1b[?25l"),
        *(b"\x1b]0;title\x07", b"\x1b]8;;http://x\x1b\\", b"\x1bPdata\x1b\\", b"\x1b_x\x1b\\"),
        *(
            b"\x1b^x\x1b\\",
            b"\x1bXx\x1b\\",
            b"\x9b1m",
            b"\xc2\x9b1m",
            b"\x9d0;t\x9c",
            b"\x9d0;t\x07",
        ),
    )
]


@pytest.mark.parametrize("sequence", ESCAPES)
def test_escape_sequences_inside(sequence: bytes) -> None:
    """A value that changes its colour is hidden, however the text is cut."""
    value = TOKEN.encode()
    for at in range(1, len(value)):
        text = b"<" + value[:at] + sequence + value[at:] + b">"
        for cut in range(len(text) + 1):
            redactor = Redactor(VARIABLES)
            redacted = redactor.feed(text[:cut]) + redactor.feed(text[cut:]) + redactor.finish()
            assert redacted in (b"<[TOKEN]>", b"<[TOKEN]" + sequence + b">")


def test_colours_go_on() -> None:
    """Sequences inside a value come out after its name, but for those that have text."""
    text = b"\x1b[31ms3cr3t/\x1b[0m\x1b]0;s3cr3t/Val+ue=42\x07Val+ue\x1b[1m=42."
    assert Redactor(VARIABLES).redact(text) == b"\x1b[31m[TOKEN]\x1b[0m\x1b[1m."


def test_values_in_titles() -> None:
    """A value in the text of a sequence is hidden, and the sequence stays."""
    text = (
        b"\x1b]0;at s3cr3t/Val+ue=42\x07\x1b]52;c;" + base64.b64encode(TOKEN.encode()) + b"\x1b\\"
    )
    redacted = Redactor(VARIABLES).redact(text)
    assert redacted.startswith(b"\x1b]0;at [TOKEN]\x07\x1b]52;c;[TOKEN]")
    assert redacted.endswith(b"\x1b\\")


def test_overlaps() -> None:
    """The longest wins, and nothing of another is left beside it."""
    redactor = Redactor({"A": "abcdefgh", "B": "efghijkl", "C": "cdefghijk"})
    assert redactor.redact(b"-abcdefghijkl-") == b"-[C]-"
    assert redactor.redact(b"-abcdefghijk-") == b"-[C]-"
    assert redactor.redact(b"abcdefghabcdefgh") == b"[A][A]"
    assert Redactor({"A": "abcabcabc"}).redact(b"-abcabcabcabcabc-") == b"-[A]-"


def test_one_value_with_two_names() -> None:
    """The first by name is shown."""
    assert Redactor({"B": "abcdefgh", "A": "abcdefgh"}).redact(b"abcdefgh") == b"[A]"


@pytest.mark.parametrize(
    "value", ["x", "12345", "true", "localhost", "Production", "999999", "000123456", "en_US.UTF-8"]
)
def test_values_that_are_everywhere(value: str) -> None:
    """They stay, the variable is named, and ``short`` insists."""
    redactor = Redactor({"NAME": value, "TOKEN": TOKEN})
    assert is_everywhere(value)
    assert redactor.unredacted == ["NAME"]
    assert redactor.redact(f" {value} ".encode()) == f" {value} ".encode()
    insisting = Redactor({"NAME": value}, short=True)
    assert insisting.unredacted == []
    assert insisting.redact(f" {value} ".encode()) == b" [NAME] "


@pytest.mark.parametrize("value", ["123456a", "1000000", "secret", "abcdef"[:5] + "é"])
def test_values_that_are_not(value: str) -> None:
    """Six bytes are enough."""
    assert Redactor({"NAME": value}).unredacted == (["NAME"] if value == "secret" else [])


@pytest.mark.parametrize("letters", [string.ascii_letters, string.punctuation, "é€🔑@"])
def test_a_value_as_long_as_a_program_can_get(letters: str) -> None:
    """It is found, and soon."""
    value = "".join(random.Random(1).choices(letters, k=128 * 1024))  # noqa: S311 - no secret
    redactor = Redactor({"LONG": value})
    assert redactor.feed(f"a {value} b".encode()) + redactor.finish() == b"a [LONG] b"


def test_a_long_form() -> None:
    """The square of its length would be more time than a test has."""
    plain: list[tuple[bytes, ...]] = [(b"x",)] * 4_000_000
    assert Needle("NAME", plain, wraps=False).anchors == [b"x" * 32]
    varied: list[tuple[bytes, ...]] = [(b"@", b"%40")] * 500_000
    assert Needle("NAME", varied, wraps=False).around(b"@" * 500_000, 0, 6) == (0, 500_000)


def test_an_empty_value() -> None:
    """There is nothing to hide, and nothing to warn of."""
    redactor = Redactor({"EMPTY": ""}, short=True)
    assert (redactor.unredacted, redactor.redact(b"text")) == ([], b"text")


def test_selection() -> None:
    """Only what is asked for, by patterns; one that matches nothing is an error."""
    snapshot = Snapshot({"AWS_KEY": "abcdefgh", "AWS_ID": "ijklmnop", "PW": "qrstuvwx"})
    text = b"abcdefgh ijklmnop qrstuvwx"
    assert Redactor(snapshot, ["AWS_*"]).redact(text) == b"[AWS_KEY] [AWS_ID] qrstuvwx"
    assert Redactor(snapshot, except_=["*_ID"]).redact(text) == b"[AWS_KEY] ijklmnop [PW]"
    with pytest.raises(FieldError, match="no matching variable"):
        Redactor(snapshot, ["GCP_*"])


@pytest.mark.parametrize(
    "value", ["!@#$%^&*()", "%%%%%%", "''''''", "\\\\\\\\\\\\", "éééééé", "a!b@c#d$"]
)
def test_values_without_letters(value: str) -> None:
    """They have no part that all forms leave alone, and are found all the same."""
    for form, text in escaped(value).items():
        if form not in ("shell", "bash", "ansi-c"):
            assert Redactor({"A": value}).redact(f"<{text}>".encode()) == b"<[A]>", form


# However it is cut

PIECES = st.sampled_from(
    [
        *(TOKEN.encode()[:at] for at in range(1, len(TOKEN) + 1)),
        *(text.encode() for text in escaped(TOKEN).values()),
        *(base64.b64encode(b"u" * before + TOKEN.encode() + b"t") for before in range(3)),
        *(line.encode() for line in KEY.splitlines(keepends=True)),
        *(b"\x1b[1m", b"\x1b", b"\x1b]0;x", b"\x07", b"\n", b"\r\n", b"\x9b", b"\xc2", b"m", b"\0"),
        *(b"aaaaaa", b"aaa", b"abab", b"cdefgh"),
        "é€🔑".encode(),
    ]
) | st.binary(max_size=8)
OTHERS = {"AA": "aaaaaa", "AB": "ababab", "ABC": "ababcdef", "CD": "cdefgh", "PERCENT": "%2%%25%"}


@st.composite
def cut_texts(draw: st.DrawFn) -> list[bytes]:
    """A text in pieces."""
    text = b"".join(draw(st.lists(PIECES, max_size=12)))
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


ALL = Redactor(VARIABLES | OTHERS)


@settings(deadline=None, max_examples=400)
@given(cut_texts())
def test_any_cut_gives_the_same(pieces: list[bytes]) -> None:
    """The output depends on the input alone, not on its pieces."""
    stream = ALL.another()
    assert b"".join([*map(stream.feed, pieces), stream.finish()]) == ALL.redact(b"".join(pieces))


@settings(deadline=None, max_examples=200)
@given(cut_texts())
def test_byte_by_byte(pieces: list[bytes]) -> None:
    """The same for the smallest pieces."""
    text = b"".join(pieces)
    stream = ALL.another()
    assert b"".join([*(stream.feed(bytes([b])) for b in text), stream.finish()]) == ALL.redact(text)


@settings(deadline=None, max_examples=200)
@given(cut_texts())
def test_no_value_is_left(pieces: list[bytes]) -> None:
    """Nor does one stream's end matter: a value as it is never comes out."""
    redacted = ALL.redact(b"".join(pieces))
    assert all(value.encode() not in redacted for value in (TOKEN, WORDS, "aaaaaa", "cdefgh"))


@settings(deadline=None)
@given(st.binary(max_size=300), st.integers(0, 300))
def test_everything_else_is_byte_exact(data: bytes, cut: int) -> None:
    """NUL, invalid UTF-8, control bytes: what is no value comes out as it is."""
    stream = Redactor({"A": "a value that random bytes do not have"})
    assert stream.feed(data[:cut]) + stream.feed(data[cut:]) + stream.finish() == data


# What is held back


def test_only_beginnings_are_held_back() -> None:
    """Text that cannot become a value comes out at once."""
    stream = Redactor({"A": "xyzzy-plugh"})
    assert stream.feed(b"Password: ") == b"Password: "
    assert stream.feed(b"and xyz") == b"and "
    assert stream.feed(b"zz") == b"xyzzz"
    assert not stream.waiting


def test_a_prompt_appears() -> None:
    """After a while, up to three bytes of what may be a value are let go."""
    stream = Redactor({"A": "xyzzy-plugh"})
    assert (stream.feed(b"prompt xyz"), stream.waiting) == (b"prompt ", True)
    assert (stream.release(), stream.waiting) == (b"xyz", False)
    assert stream.feed(b"zy-plugh.") == b"[A]."


def test_a_value_that_is_written_slowly() -> None:
    """One byte each time shows three of them and no more."""
    stream = Redactor({"A": "xyzzy-plugh"})
    shown = b""
    for byte in b"xyzzy-plug":
        shown += stream.feed(bytes([byte])) + stream.release()
    assert shown == b"xyz"
    assert not stream.waiting
    assert stream.feed(b"h") + stream.release() == b"[A]"
    assert stream.finish() == b""


@settings(deadline=None, max_examples=200)
@given(st.sampled_from([*escaped(TOKEN).values(), KEY]), st.lists(st.booleans(), max_size=200))
def test_slowly_in_any_form(text: str, pauses: list[bool]) -> None:
    """Whenever there is a pause: at most three bytes of a value are seen, and then its name."""
    stream = ALL.another()
    shown = b""
    for byte, pause in zip(text.encode(), [*pauses, *[True] * len(text) * 4], strict=False):
        shown += stream.feed(bytes([byte])) + (stream.release() if pause else b"")
    shown += stream.finish()
    longest = max(len(text) for text in shown.replace(b"\n", b"[").split(b"["))
    assert longest <= 3 + len("TOKEN]") or b"----" in shown
    assert b"[TOKEN]" in shown or b"[KEY]" in shown


def test_the_end_of_input() -> None:
    """What did not become a value comes out, and another stream may begin."""
    stream = Redactor({"A": "xyzzy-plugh"})
    assert stream.feed(b"xyzzy-plug") + stream.finish() == b"xyzzy-plug"
    assert stream.feed(b"h xyzzy-plugh.") == b"h [A]."


def test_a_text_without_its_end() -> None:
    """What may be the beginning of a value is one; less than 4 bytes of it are shown."""
    redactor = Redactor(VARIABLES)
    for text, shown in {
        "at s3cr": "at [TOKEN]",
        "at s3cr3t/Val+ue=4": "at [TOKEN]",
        f"at {TOKEN}": "at [TOKEN]",
        f"{TOKEN}{TOKEN[:9]}": "[TOKEN][TOKEN]",
        base64.b64encode(TOKEN.encode())[:12].decode(): "[TOKEN]",
        "at s3c": "at s3c",
        "at s3x": "at s3x",
    }.items():
        assert redactor.redact(text.encode(), cut=True).decode() == shown
    assert redactor.redact(b"at s3cr") == b"at s3cr"


@pytest.mark.parametrize(
    "piece",
    [
        b"a" * 8192,
        b"\n" * 65536,
        b"\x1b]0;" + b"s" * 65532,
        b"s3cr\x1b[0m" * 8192,
        b"\x1b[" * 32768,
    ],
)
def test_memory_is_flat(piece: bytes) -> None:
    """Also where all that comes belongs together: what is held back has an end."""
    stream = ALL.another()
    stream.feed(b"Y" + piece)
    tracemalloc.start()
    try:
        for _ in range(8):
            stream.feed(piece)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 256 * 1024


def test_a_repr_without_values() -> None:
    """Nothing of a redactor shows a value."""
    assert "s3cr3t" not in repr(ALL)
    assert all(letter in string.printable for letter in repr(ALL))
