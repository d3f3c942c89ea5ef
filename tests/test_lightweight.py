"""lightweight: the same as json, socket and signal, whatever the interpreter has."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import hotenv
from hotenv import lightweight
from hotenv.lightweight import parse_json, quote
from processes import LIMIT

Pairs = list[tuple[str, object]]


def pairs(members: Pairs) -> object:
    """An object as what was read, in its order and with what is there twice."""
    return ("object", members)


def refuse(constant: str) -> object:
    """For a constant that JSON has not."""
    raise ValueError(constant)


def strictly(text: str) -> object:
    """What the standard library's decoder makes of ``text`` if it takes nothing but JSON."""
    return json.JSONDecoder(object_pairs_hook=pairs, parse_constant=refuse).decode(text)


def outcome(parse: Callable[[str], object], text: str) -> object:
    """What comes out, a NaN as such, or the class of the error."""
    try:
        return repr(parse(text))
    except (ValueError, RecursionError) as error:
        return RecursionError if isinstance(error, RecursionError) else ValueError


def same(text: str) -> None:
    """Both make the same of ``text``, and if that is an error it is one of the two promised."""
    assert outcome(lambda data: parse_json(data, pairs), text) == outcome(strictly, text)


_JSON = st.recursive(
    st.sampled_from([None, True, False]) | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
_TOKENS = [
    *("{", "}", "[", "]", ",", ":", '"', '"', '"a"', '"b":', "\\", "\\u", "\\ud83d", "\\ude00"),
    *("\\n", "\\x", "\\/", "0", "00", "1", "-", "-0", "+1", "1.", ".5", "1e5", "1E+", "1e999"),
    *("true", "false", "null", "tru", "True", "nul", "NaN", "Infinity", "-Infinity", "nan"),
    *(" ", "\t", "\n", "\r", "\v", "\f", "\0", "\xa0", "\u2028", "\ufeff", "\x1f", "\x7f"),
    *("\ud800", "\udcff", "é", "\U0001f600", "٣", "//", "'", "{}", "[]"),
]
_NOISE = st.lists(st.sampled_from(_TOKENS), max_size=12).map("".join)
_TEXTS = (
    _NOISE
    | st.text()
    | _JSON.map(json.dumps)
    | _JSON.map(lambda value: json.dumps(value, ensure_ascii=False, indent=1))
)


@settings(max_examples=1000)
@given(_TEXTS, _NOISE, _NOISE, st.booleans())
def test_the_same_as_a_strict_decoder(text: str, before: str, after: str, cut: bool) -> None:
    """Whatever the text, whole, cut off, or with something around it."""
    same(text)
    same(before + text + after)
    if cut:
        same(text[: len(text) // 2])


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "\n", "\ufeff", "\ufeff{}", "\xa0{}", "{}\xa0", "\0", "{}\0"),
        *(" \t\r\n{} \t\r\n", "{}{}", "{} {}", "{},", "1 2", "12 ", "null null", '""x', "]", "}"),
        *("n", "nul", "t", "-", "-x", "[", "[1", "[1,", "[1,]", "[,]", "{", '{"a', '{"a"', '{"a":'),
        *(
            '{"a":1',
            '{"a":1,',
            '{"a":1,}',
            "{1:2}",
            "{a:1}",
            '{"a" 1}',
            "{'a':1}",
            '"',
            '"\\',
            '"\\u12',
        ),
        *('"\\ud83d"', '"\\ud83d\\ude00"', '"\\ude00"', '"\t"', '"\n"', '"\x7f"', '"\ud800"'),
        *("NaN", "[NaN]", "Infinity", "-Infinity", '{"a":-Infinity}', "nan", "-NaN"),
        *("01", "-0", "1.5e3", "1e999", "-1e999", "1_0", "0x1", "1.e1", "٣", "[٣]", "9" * 5000),
        *('{"a":1,"a":2}', '{"a":{"b":1,"b":2}}', '{"":""}', '[{}, [], "", 0]'),
    ],
    ids=lambda text: ascii(text[:20]),
)
def test_special_cases(text: str) -> None:
    """The ends of the grammar, one by one."""
    same(text)


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":['])
@pytest.mark.parametrize("closed", [True, False])
def test_deep_nesting(opening: str, closed: bool) -> None:
    """What is nested too deep is one of the two promised errors, closed or not."""
    closing = opening.replace("[", "]").replace("{", "}").replace('"a":', "")[::-1]
    text = opening * 100_000 + "1" + (closing * 100_000 if closed else "")
    with pytest.raises((RecursionError, ValueError)):
        parse_json(text, pairs)
    shallow = opening * 50 + "1" + closing * 50
    same(shallow)


def test_whatever_make_object_raises() -> None:
    """An error of the caller's own function passes through as it is."""

    class MineError(Exception):
        pass

    def fail(_members: Pairs) -> object:
        raise MineError

    for text in ("{}", '[{"a":1}]', '{"a":{}}'):
        with pytest.raises(MineError):
            parse_json(text, fail)
    assert parse_json("[1]", fail) == [1]


def test_make_object_gets_all_pairs() -> None:
    """A field that is there twice can be seen."""
    assert parse_json('{"a":1,"b":{"c":[]},"a":2}', pairs) == (
        "object",
        [("a", 1), ("b", ("object", [("c", [])])), ("a", 2)],
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", int), ("-0", int), ("1.0", float), ("1e2", float), ("true", bool), ('"1"', str)],
)
def test_kinds(text: str, value: type) -> None:
    """Numbers with a point or an exponent are floats, the others are integers."""
    assert type(parse_json(text, pairs)) is value


@given(st.text(st.characters(exclude_categories=[])))
@example("".join(map(chr, range(256))))
def test_quote(text: str) -> None:
    """A string is quoted as json.dumps does it, and comes back."""
    assert quote(text) == json.dumps(text, ensure_ascii=False)
    assert parse_json(quote(text), pairs) == text


@given(_TEXTS, _NOISE)
def test_without_the_core(text: str, after: str) -> None:
    """An interpreter without the scanner in C makes the same of everything."""
    expected = [
        outcome(lambda data: parse_json(data, pairs), each) for each in (text, text + after)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lightweight, "make_scanner", None)
        got = [outcome(lambda data: parse_json(data, pairs), each) for each in (text, text + after)]
    assert got == expected


def test_without_the_core_make_object_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference gives the same pairs, and refuses the same constants."""
    monkeypatch.setattr(lightweight, "make_scanner", None)
    assert parse_json(' {"a":1,"a":2}\n', pairs) == ("object", [("a", 1), ("a", 2)])
    for constant in (math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError, match="NaN and Infinity"):
            parse_json(json.dumps(constant), pairs)


# In a fresh interpreter

_BLOCKED = """
import builtins, sys
blocked, directory = sys.argv[1].split(), sys.argv[2]
sys.path.insert(0, directory)
real = builtins.__import__
def without(name, globals=None, locals=None, fromlist=(), level=0):
    if name in blocked and (globals or {}).get("__name__") == "hotenv.lightweight":
        raise ImportError(name)
    return real(name, globals, locals, fromlist, level)
builtins.__import__ = without
if "_json" in blocked:
    sys.modules["_json"] = None  # for the standard library too
import hotenv.lightweight as lightweight
from hotenv.errors import ArtifactError
from hotenv.exchange import direct, peer, probe, protocol
from hotenv.handover import launch
import signal, socket
assert lightweight.make_scanner is None, "the core was there"
assert lightweight.socket is socket and lightweight.signal is signal
line = protocol.encode_response({"A": 'x"\\n\x01', "\u00c9": "\U0001f600"})
assert line == '{"env":{"A":"x\\\\"\\\\n\\\\u0001","\u00c9":"\U0001f600"}}\\n'.encode(), line
assert protocol.decode_response(line[:-1]) == {"A": 'x"\\n\x01', "\u00c9": "\U0001f600"}
for bad in (b"", b"x", b"{} {}", b'{"env":{},"env":{}}', b'{"env":NaN}', b"[" * 100_000):
    try:
        protocol.decode_response(bad)
    except ArtifactError:
        continue
    raise AssertionError(bad)
left, right = socket.socketpair()
print(peer.identify(left) is not None)
"""


@pytest.mark.parametrize("blocked", ["_json", "_socket", "_signal", "_json _socket _signal"])
def test_interpreters_without_a_core(blocked: str) -> None:
    """Where one of the cores is missing the standard modules do the work of all of them."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", _BLOCKED, blocked, str(Path(hotenv.__file__).parent.parent)],
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{sys.platform in ('linux', 'darwin')}\n"
