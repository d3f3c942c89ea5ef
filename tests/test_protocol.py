"""protocol: requests, responses and the line that carries each (specification, section 7)."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotenv.errors import ArtifactError, HotenvError, RefusedError, SystemFailureError, UsageError
from hotenv.exchange import protocol
from hotenv.exchange.protocol import (
    BAD_REQUEST,
    INTERNAL,
    LineReader,
    Request,
    decode_request,
    decode_response,
    encode_error,
    encode_refusal,
    encode_request,
    encode_response,
)


def received(wire: bytes) -> bytes:
    """The line that comes out of ``wire`` however it is cut, and never with anything after it."""
    whole = LineReader(len(wire))
    whole.feed(wire)
    bytewise = LineReader(len(wire))
    for position in range(len(wire)):
        assert not bytewise.complete
        assert bytewise.started == (position > 0)
        bytewise.feed(wire[position : position + 1])
    assert whole.complete
    assert bytewise.complete
    assert whole.line() == bytewise.line()
    with pytest.raises(ArtifactError, match="more than one line"):
        bytewise.feed(b"\n")
    with pytest.raises(ArtifactError, match="more than one line"):
        LineReader(len(wire) + 1).feed(wire + b"x")
    return whole.line()


REQUESTS = [
    pytest.param(Request("dump"), b'{"command":"dump"}\n', id="dump"),
    pytest.param(
        Request("run", ["cmd", "arg1", "arg2"]),
        b'{"command":"run","args":["cmd","arg1","arg2"]}\n',
        id="run",
    ),
    pytest.param(
        Request("run", ["a\nb", "", 'c"\\', "é"]),
        '{"command":"run","args":["a\\nb","","c\\"\\\\","é"]}\n'.encode(),
        id="newline, quotes, UTF-8",
    ),
    pytest.param(
        Request("run", ["\\\udcff"]),
        b'{"command":"run","args":["\\\\\\udcff"]}\n',
        id="an argument that is no text",
    ),
]


@pytest.mark.parametrize(("request_", "wire"), REQUESTS)
def test_request(request_: Request, wire: bytes) -> None:
    """A request is one line of JSON, and comes out of it again."""
    assert encode_request(request_) == wire
    assert decode_request(received(wire)) == request_


RESPONSES = [
    pytest.param({"KEY": "VALUE"}, b'{"env":{"KEY":"VALUE"}}\n', id="one"),
    pytest.param({}, b'{"env":{}}\n', id="none"),
    pytest.param(
        {"A": "x\ny\r", "É": "\u2028", "E": ""},
        '{"env":{"A":"x\\ny\\r","É":"\u2028","E":""}}\n'.encode(),
        id="newlines, UTF-8, empty",
    ),
]


@pytest.mark.parametrize(("variables", "wire"), RESPONSES)
def test_response(variables: dict[str, str], wire: bytes) -> None:
    """A response is one line of JSON, and comes out of it again."""
    assert encode_response(variables) == wire
    assert decode_response(received(wire)) == variables


_ARGUMENT = st.binary().map(lambda raw: raw.decode("utf-8", "surrogateescape"))
_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
_NAME = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0="), min_size=1)


@given(st.lists(_ARGUMENT, min_size=1))
def test_request_round_trip(args: list[str]) -> None:
    """Every command line survives, byte for byte."""
    assert decode_request(received(encode_request(Request("run", args)))).args == tuple(args)


@given(st.dictionaries(_NAME, _TEXT))
def test_response_round_trip(variables: dict[str, str]) -> None:
    """Every environment survives."""
    assert decode_response(received(encode_response(variables))) == variables


@pytest.mark.parametrize(
    ("code", "error"), [(BAD_REQUEST, ArtifactError), (INTERNAL, SystemFailureError)]
)
def test_refusal(code: str, error: type[HotenvError]) -> None:
    """A refusal says whose fault it was, and its message is shown (decision 7)."""
    wire = encode_error(code, "first\nsecond")
    assert wire == b'{"error":"%s","message":"first\\nsecond"}\n' % code.encode()
    with pytest.raises(error, match=f"{code}: first\nsecond"):
        decode_response(received(wire))


@pytest.mark.parametrize(
    ("code", "reason", "error"),
    [
        (INTERNAL, '"REFUSED"', RefusedError),
        (INTERNAL, '"something new"', SystemFailureError),
        (INTERNAL, "[1]", SystemFailureError),
        (BAD_REQUEST, '"REFUSED"', ArtifactError),
    ],
)
def test_refused_client(code: str, reason: str, error: type[HotenvError]) -> None:
    """It is an INTERNAL error with a reason; one that is not known says no more than the code."""
    assert encode_refusal("why") == b'{"error":"INTERNAL","message":"why","reason":"REFUSED"}\n'
    wire = f'{{"error":"{code}","message":"why","reason":{reason}}}\n'.encode()
    with pytest.raises(error, match=r"why$"):
        decode_response(received(wire))
    with pytest.raises(RefusedError) as caught:
        decode_response(encode_refusal("x" * 100_000))
    assert len(str(caught.value)) < 1000


def test_long_refusal() -> None:
    """A server cannot fill the client's terminal."""
    with pytest.raises(SystemFailureError) as caught:
        decode_response(encode_error(INTERNAL, "x" * 100_000))
    assert len(str(caught.value)) < 1000


# What is no JSON object at all, in either direction. S3CRET stands for what must not be repeated.
NO_OBJECTS = [
    pytest.param(b"", id="nothing"),
    pytest.param(b"S3CRET", id="no JSON"),
    pytest.param(b'{"command":"dump","env":{},"S3CRET":', id="half an object"),
    pytest.param(b'{"command":"dump","env":{}} S3CRET', id="more after the object"),
    pytest.param(b'{"command":"dump","env":{},}', id="a comma too many"),
    pytest.param(b"{'command':'dump','env':{}}", id="single quotes"),
    pytest.param(b'["S3CRET"]', id="an array"),
    pytest.param(b'"S3CRET"', id="a string"),
    pytest.param(b"null", id="null"),
    pytest.param(b'{"command":"dump","env":{},"x":"S3CRET\xff"}', id="not UTF-8"),
    pytest.param('{"command":"dump","env":{}}'.encode("utf-16"), id="UTF-16"),
    pytest.param('\ufeff{"command":"dump","env":{}}'.encode(), id="a byte order mark"),
    pytest.param(b'{"command":"dump","env":{},"x":"S3CRET\t"}', id="a raw control character"),
    pytest.param(b'{"command":"dump","env":{},"x":NaN}', id="NaN"),
    pytest.param(b'{"command":"dump","env":{},"x":-Infinity}', id="Infinity"),
    pytest.param(b'{"command":"dump","env":{},"x":%s}' % (b"9" * 10_000), id="a huge number"),
    pytest.param(b'{"command":"dump","env":{},"x":' + b"[" * 100_000, id="deep nesting"),
    pytest.param(b'{"command":"dump","env":{},"S3CRET":1,"S3CRET":1}', id="a field twice"),
    pytest.param(b'{"command":"dump","env":{},"x":[{"y":1,"y":1}]}', id="a field twice, inside"),
]

NO_REQUESTS = [
    pytest.param(b"{}", id="no command"),
    pytest.param(b'{"command":"S3CRET"}', id="unknown command"),
    pytest.param(b'{"command":"RUN","args":["x"]}', id="capitals"),
    pytest.param(b'{"command":null}', id="command null"),
    pytest.param(b'{"command":["dump"]}', id="command is an array"),
    pytest.param(b'{"command":"dump","command":"dump"}', id="command twice"),
    pytest.param(b'{"command":"run"}', id="no args"),
    pytest.param(b'{"command":"run","args":null}', id="args null"),
    pytest.param(b'{"command":"run","args":[]}', id="args empty"),
    pytest.param(b'{"command":"run","args":"S3CRET"}', id="args is a string"),
    pytest.param(b'{"command":"run","args":{"S3CRET":"x"}}', id="args is an object"),
    pytest.param(b'{"command":"run","args":["S3CRET",1]}', id="a number in args"),
    pytest.param(b'{"command":"run","args":["S3CRET",null]}', id="null in args"),
]

NO_RESPONSES = [
    pytest.param(b"{}", id="nothing in it"),
    pytest.param(b'{"env":{},"error":"INTERNAL","message":"S3CRET"}', id="both"),
    pytest.param(b'{"env":null}', id="env null"),
    pytest.param(b'{"env":["S3CRET"]}', id="env is an array"),
    pytest.param(b'{"env":{"A":1}}', id="a value is a number"),
    pytest.param(b'{"env":{"A":null}}', id="a value is null"),
    pytest.param(b'{"env":{"A":"S3CRET","A":"S3CRET"}}', id="a name twice"),
    pytest.param(b'{"env":{"":"S3CRET"}}', id="an empty name"),
    pytest.param(b'{"env":{"S3CRET=":"x"}}', id="equals sign in a name"),
    pytest.param(b'{"env":{"A":"S3CRET\\u0000"}}', id="NUL in a value"),
    pytest.param(b'{"env":{"S3CRET\\u0000":"x"}}', id="NUL in a name"),
    pytest.param(b'{"env":{"A":"S3CRET\\udcff"}}', id="no text"),
    pytest.param(b'{"error":"S3CRET","message":"S3CRET"}', id="unknown error"),
    pytest.param(b'{"error":["BAD_REQUEST"],"message":"S3CRET"}', id="error is an array"),
    pytest.param(b'{"error":"INTERNAL"}', id="no message"),
    pytest.param(b'{"error":"INTERNAL","message":["S3CRET"]}', id="message is an array"),
]


def refused(decode: Callable[[bytes], object], line: bytes) -> None:
    """``decode`` blames the peer for ``line``, and no part of a traceback repeats it."""
    with pytest.raises(ArtifactError) as caught:
        decode(line)
    assert "S3CRET" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("line", [*NO_OBJECTS, *NO_REQUESTS])
def test_no_request(line: bytes) -> None:
    """A line that is no request is the client's fault."""
    refused(decode_request, line)


@pytest.mark.parametrize("line", [*NO_OBJECTS, *NO_RESPONSES])
def test_no_response(line: bytes) -> None:
    """A line that is no response is the server's fault."""
    refused(decode_response, line)


@given(st.binary())
def test_noise(noise: bytes) -> None:
    """Noise is refused, whatever it is."""
    refused(decode_request, noise)
    refused(decode_response, noise)


@pytest.mark.parametrize("rest", ['"later":{"x":[1,null,{}]}', '"LATER":1.5'])
def test_unknown_fields(rest: str) -> None:
    """Fields of a later version are ignored, and so is white space."""
    assert decode_request(f' {{ "command" : "dump" , {rest} }} '.encode()) == Request("dump")
    assert decode_response(f'{{{rest},"env":{{"A":"b"}}}}\r'.encode()) == {"A": "b"}


def test_limits() -> None:
    """A request has at most 8 MiB, a response 64 MiB (decisions 8 and 18)."""
    assert (protocol.REQUEST_LIMIT, protocol.RESPONSE_LIMIT) == (8 * 2**20, 64 * 2**20)


@pytest.mark.parametrize(
    ("limit", "encode"),
    [
        pytest.param("REQUEST_LIMIT", lambda: encode_request(Request("run", ["S3CRET"])), id="req"),
        pytest.param("RESPONSE_LIMIT", lambda: encode_response({"A": "S3CRET"}), id="response"),
    ],
)
def test_too_large_to_send(
    limit: str, encode: Callable[[], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line of exactly the limit is sent; one byte more is refused before anything is sent."""
    line = encode()
    monkeypatch.setattr(protocol, limit, len(line))
    assert encode() == line
    monkeypatch.setattr(protocol, limit, len(line) - 1)
    with pytest.raises(SystemFailureError, match="too l") as caught:
        encode()
    assert "S3CRET" not in str(caught.value)


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([b"12345678\n"], id="complete"),
        pytest.param([b"12345678"], id="incomplete"),
        pytest.param([b"1234", b"5678"], id="in pieces"),
        pytest.param([b"123456789012345\n"], id="far over"),
    ],
)
def test_too_large_to_receive(pieces: list[bytes]) -> None:
    """A line over the limit is refused, an endless one as soon as it cannot fit any more."""
    reader = LineReader(8)
    for piece in pieces[:-1]:
        reader.feed(piece)
    with pytest.raises(ArtifactError, match="longer than 8 bytes"):
        reader.feed(pieces[-1])
    assert not reader.complete


@pytest.mark.parametrize("line", [b"", b"\r", b"x", b"\0\xff"])
def test_any_line(line: bytes) -> None:
    """The reader does not look into a line: it may be empty, or no text."""
    assert received(line + b"\n") == line


def test_largest_line() -> None:
    """A line of exactly the limit is taken; the newline counts."""
    reader = LineReader(8)
    reader.feed(bytearray(b"1234567"))
    reader.feed(b"\n")
    assert reader.line() == b"1234567"


@pytest.mark.parametrize(
    ("data", "started"), [(b"", False), (b"12", True)], ids=["nothing", "half"]
)
def test_no_line_yet(data: bytes, started: bool) -> None:
    """Nothing came, and half a line came, are told apart; neither is a line."""
    reader = LineReader(8)
    reader.feed(data)
    assert reader.started == started
    assert not reader.complete
    with pytest.raises(ArtifactError, match="incomplete"):
        reader.line()


@pytest.mark.parametrize(
    ("command", "args"),
    [("status", []), ("", []), ("Run", ["x"]), ("run", []), ("dump", ["x"])],
    ids=["unknown", "empty", "capital", "run without words", "dump with words"],
)
def test_invalid_request(command: str, args: list[str]) -> None:
    """A request that breaks the rules cannot be made."""
    with pytest.raises(UsageError):
        Request(command, args)


def test_request_is_a_value() -> None:
    """Requests are compared and hashed by what they ask."""
    run = Request("run", ["a", "b"])
    assert run == Request("run", ("a", "b"))
    assert len({run, Request("run", ("a", "b")), Request("run", ["a"]), Request("dump")}) == 3
    assert run != ("run", ("a", "b"))


def test_request_is_silent() -> None:
    """Arguments can be private: repr counts them, and so does a failed assert."""
    request = Request("run", ["S3CRET", "S3CRET"])
    assert repr(request) == str(request) == "<Request run, 2 args>"
    with pytest.raises(AssertionError) as caught:
        assert request == Request("dump")
    assert "S3CRET" not in str(caught.value)
    assert "2 args" in str(caught.value)


def test_encoding_is_plain_json() -> None:
    """Any other JSON library reads what is sent."""
    wire = encode_response({"A": '"\\/\b\f\n\r\t\x01\x7f\U0001f600'})
    assert json.loads(wire) == {"env": {"A": '"\\/\b\f\n\r\t\x01\x7f\U0001f600'}}
    assert wire.count(b"\n") == 1
