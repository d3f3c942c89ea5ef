"""Bytes that no program sends on purpose, to everything that reads what another one wrote."""

from __future__ import annotations

import json
import math
import os
import re
from datetime import datetime

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from fakes import MemoryListener, awake, receive_all
from hotenv.errors import ArtifactError, InputError, SystemFailureError, UnreachableError
from hotenv.exchange import protocol
from hotenv.exchange.answer import conclude
from hotenv.intake import parsing
from hotenv.intake.parsing import Input
from hotenv.intake.rules import Rules
from hotenv.serving.events import Event, Outcome
from hotenv.serving.log import request_line
from hotenv.serving.server import hold
from hotenv.serving.watchdog import Watchdog
from hotenv.session.marker import SOCKET_PATH_LIMIT, Marker, parse_marker

RESPONSE = protocol.encode_response({"A": "1"})
DUMP = b'{"command":"dump"}\n'

JSON = st.recursive(
    st.sampled_from([None, True, math.nan, math.inf]) | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
WORDS = st.lists(st.text() | st.just("\udcff"), min_size=1)


def lines(**fields: st.SearchStrategy[object]) -> st.SearchStrategy[bytes]:
    """JSON as a line, most of it objects with ``fields``: missing, twice, or of another kind."""
    members = [
        st.lists(st.tuples(st.just(name), value | JSON), max_size=2)
        | st.tuples(st.tuples(st.just(name), value))
        for name, value in {**fields, "more": JSON}.items()
    ]
    objects = st.tuples(*members).map(
        lambda drawn: ",".join(
            f"{json.dumps(name)}:{json.dumps(value)}" for pairs in drawn for name, value in pairs
        )
    )
    return st.one_of(
        objects.map(lambda inner: f"{{{inner}}}\n".encode()),
        JSON.map(lambda value: json.dumps(value).encode() + b"\n"),
    )


@st.composite
def mutated(draw: st.DrawFn, valid: st.SearchStrategy[bytes]) -> bytes:
    """A valid line of which up to three pieces were removed, repeated or replaced."""
    line = draw(valid)
    for _ in range(draw(st.integers(1, 3))):
        start, end = sorted(draw(st.tuples(*[st.integers(0, len(line))] * 2)))
        piece = line[start:end]
        new = draw(st.sampled_from([b"", piece * 2, *SPECIAL]) | st.binary())
        line = line[:start] + new + line[end:]
    return line


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    """``data`` in pieces. What comes after the first newline comes with it."""
    whole = data.find(b"\n") if b"\n" in data else len(data)
    ends = sorted(cut % (whole + 1) for cut in cuts)
    return [data[i:j] for i, j in zip([0, *ends], [*ends, len(data)], strict=True)]


SPECIAL = [b"\n", b"\0", b'"', b"=", b" ", b"\xff"]
CUTS = st.lists(st.integers(0, 10_000), max_size=4)
RUN = WORDS.map(lambda words: protocol.encode_request(protocol.Request("run", words)))
REQUESTS = st.one_of(
    st.binary(),
    st.binary().map(lambda noise: noise + b"\n"),
    mutated(RUN | st.just(DUMP)),
    lines(
        command=st.sampled_from(["dump", "run"]),
        args=WORDS | st.lists(st.text() | JSON, min_size=1),
    ),
    RUN,
)


def is_request(line: bytes) -> bool:
    """Whether ``line`` is one by the specification (section 7), in other words than hotenv's."""
    if line.find(b"\n") != len(line) - 1:
        return False
    wrong: list[object] = []

    def collect(pairs: list[tuple[str, object]]) -> dict[str, object]:
        wrong.extend(pairs[len(dict(pairs)) :])
        return dict(pairs)

    try:
        match json.loads(line.decode(), object_pairs_hook=collect, parse_constant=wrong.append):
            case {"command": "dump"}:
                return not wrong
            case {"command": "run", "args": [_, *_] as args}:
                return not wrong and all(isinstance(arg, str) for arg in args)
    except ValueError:
        pass
    return False


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(REQUESTS, CUTS, st.booleans()), min_size=1, max_size=5))
def test_requests(clients: list[tuple[bytes, list[int], bool]]) -> None:
    """One line for an answer or none, never INTERNAL; other clients are served, before and after.

    A client ends its side of the connection after what it sends, or waits.
    """
    events: list[Event] = []

    async def ask(listener: MemoryListener, sent: list[bytes], *, ends: bool) -> bytes:
        stream = listener.connect()
        for piece in sent:
            try:
                await stream.send_all(piece)
            except trio.BrokenResourceError:
                break  # it has read enough
        if ends:
            await stream.send_eof()
        return await receive_all(stream)

    async def main() -> None:
        listener = MemoryListener()
        signal_came = trio.Event()
        async with trio.open_nursery() as nursery:
            watchdog = Watchdog(10_000, asleep=awake)
            nursery.start_soon(
                lambda: hold(
                    listener,
                    RESPONSE,
                    watchdog,
                    wait_for_signal=signal_came.wait,
                    on_event=events.append,
                )
            )
            for request, cuts, ends in clients:
                answer = await ask(listener, pieces(request, cuts), ends=ends)
                if is_request(request):
                    assert answer == RESPONSE
                elif b"\n" in request or ends:
                    assert answer.count(b"\n") == 1
                    assert answer.endswith(b"\n")
                    assert json.loads(answer)["error"] == "BAD_REQUEST"
                else:
                    assert answer == b""
            assert await ask(listener, [DUMP], ends=False) == RESPONSE
            signal_came.set()

    trio.run(main, clock=MockClock(autojump_threshold=0))
    answered = [event.answered for event in events if event.answered is not None]
    assert len(answered) == sum(is_request(request) for request, _, _ in clients) + 1
    log = [request_line(datetime.min, request, verbose=True) for request in answered]
    assert all(line.isprintable() for line in log)
    others = [event for event in events if event.answered is None]
    assert {event.outcome for event in others} <= {Outcome.REJECTED}
    assert all(event.request is None for event in others)


RESPONSES = st.one_of(
    st.binary(),
    st.binary().map(lambda noise: noise + b"\n"),
    mutated(st.sampled_from([RESPONSE, protocol.encode_error(protocol.INTERNAL, "message")])),
    lines(
        env=st.dictionaries(st.text(), st.text()) | st.dictionaries(st.text(), st.text() | JSON),
        error=st.sampled_from(["BAD_REQUEST", "INTERNAL"]),
        message=st.text(),
    ),
)


@settings(deadline=None, max_examples=200)
@given(RESPONSES, CUTS)
def test_responses(response: bytes, cuts: list[int]) -> None:
    """Variables that every environment can hold, or an error that a client knows."""
    reader = protocol.LineReader(protocol.RESPONSE_LIMIT)
    try:
        for piece in pieces(response, cuts):
            reader.feed(piece)
        variables = conclude(Marker("/x/.hotenv", "/x.sock", 0), reader, None)
    except UnreachableError:
        assert response == b""
    except (ArtifactError, SystemFailureError):
        assert response != b""
    else:
        for name, value in variables.items():
            entry = os.fsencode(name) + b"=" + value.encode()
            assert entry.partition(b"=")[0]
            assert b"\0" not in entry
            assert "=" not in name


MARKERS = st.binary() | mutated(st.sampled_from([b"socket=/a\n", b"version=2\nsocket=/a b\n"]))


@settings(deadline=None, max_examples=200)
@given(MARKERS)
def test_markers(content: bytes) -> None:
    """The absolute path of a socket, or an ArtifactError."""
    try:
        path = os.fsencode(parse_marker(content, "/x/.hotenv"))
    except ArtifactError:
        return
    assert path.startswith(b"/")
    assert len(path) <= SOCKET_PATH_LIMIT
    assert b"\0" not in path
    entries = [line.partition(b"=") for line in content.removesuffix(b"\n").split(b"\n")]
    assert [value for key, _, value in entries if key == b"socket"] == [path]
    assert all(key.strip() == key != b"" and equals for key, equals, _ in entries)


TOKENS = ["A", "B=", "=", "\n", "\r", " ", "'", '"', "\\", "#", "export ", "${", "}", ":-", "\0é"]
TEXTS = st.binary() | st.lists(st.sampled_from(TOKENS)).map(lambda words: "".join(words).encode())


@settings(deadline=None, max_examples=200)
@given(TEXTS | mutated(TEXTS), st.dictionaries(st.text(), st.text()), st.booleans())
def test_dotenv_text(text: bytes, environ: dict[str, str], interpolate: bool) -> None:
    """A snapshot, or an InputError that quotes nothing; and what there is to warn of, in words."""
    try:
        inputs = [Input("standard input", "dotenv", text)]
        rules = Rules(interpolate=interpolate)
        contents = parsing.parse(inputs, environ, rules, lambda asked: asked)
    except InputError as error:
        words = str(error)
        assert words.isascii()
        assert re.match("standard input: (line |this is (JSON|UTF-16): )", words)
        return
    assert all(warning.isprintable() for warning in contents.warnings)
    answer = protocol.encode_response(dict(contents.snapshot))
    assert protocol.decode_response(answer[:-1]) == dict(contents.snapshot)


@pytest.mark.parametrize("line", [b"[" * 200_000 + b"\n", b'{"a":' * 200_000 + b"1\n"])
def test_deep_nesting(line: bytes) -> None:
    """No message is deep enough to be a mistake of ours."""
    for decode in (protocol.decode_request, protocol.decode_response):
        with pytest.raises(ArtifactError):
            decode(line)
