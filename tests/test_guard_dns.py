"""Messages of DNS (hotenv.guards.dns), and who answers them (hotenv.guards.resolver)."""

from __future__ import annotations

import socket
import struct
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotenv.guards.dns import Query
from hotenv.guards.names import Names
from hotenv.guards.resolver import Resolver
from processes import LIMIT

A, AAAA, MX = 1, 28, 15
ADDRESSES = ["192.0.2.1", "192.0.2.2", "2001:db8::1"]


def question(name: str, kind: int = A, *, flags: int = 0x0100, class_: int = 1) -> bytes:
    """A message that asks for ``name``, as resolvers send it."""
    header = struct.pack("!HHHHHH", 4711, flags, 1, 0, 0, 1)
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split(".") if label)
    extension = b"\0\0\x29\x04\xd0\0\0\0\0\0\0"
    return header + labels + b"\0" + struct.pack("!HH", kind, class_) + extension


def records(answer: bytes) -> tuple[int, list[tuple[int, str]]]:
    """The code of an answer, and the lifetime and address of each of its records."""
    number, flags, questions, count, *others = struct.unpack_from("!HHHHHH", answer)
    assert (number, flags & 0x8180, questions, others) == (4711, 0x8180, 1, [0, 0])
    at = answer.index(b"\0", 12) + 5
    found = []
    for _ in range(count):
        where, _, class_, lasts, size = struct.unpack_from("!HHHIH", answer, at)
        assert (where, class_) == (0xC00C, 1)
        family = {4: socket.AF_INET, 16: socket.AF_INET6}[size]
        found.append((lasts, socket.inet_ntop(family, answer[at + 12 : at + 12 + size])))
        at += 12 + size
    assert at == len(answer)
    return flags & 0xF, found


@pytest.mark.parametrize(
    ("kind", "addresses", "expected"),
    [
        (A, ADDRESSES, (0, [(30, "192.0.2.1"), (30, "192.0.2.2")])),
        (AAAA, ADDRESSES, (0, [(30, "2001:db8::1")])),
        (MX, ADDRESSES, (0, [])),
        (A, [], (0, [])),
        (A, None, (3, [])),
    ],
)
def test_answers(kind: int, addresses: list[str] | None, expected: object) -> None:
    """Of the kind that is asked for; a name that is not allowed does not exist."""
    query = Query(question("A.Example.", kind))
    assert (query.name, query.kind) == ("a.example", kind)
    assert records(query.answer(addresses, 30)) == expected


WHOLE = question("a.example")


@pytest.mark.parametrize(
    "message",
    [
        *(WHOLE[:size] for size in (0, 5, 12, 14, 22, 23, 26)),
        question("a.example", flags=0x8100),
        question("a.example", flags=0x2800),
        question("a.example", class_=3),
        WHOLE[:4] + b"\0\2" + WHOLE[6:],
        WHOLE[:12] + b"\xc0\x0c" + WHOLE[14:],
        WHOLE[:13] + b"." + WHOLE[14:],
        WHOLE[:13] + b"\xff" + WHOLE[14:],
    ],
)
def test_no_questions(message: bytes) -> None:
    """Cut off, an answer, of another class, or with a name that no host has."""
    words = "cut off|not a question of the kind that is answered|not a host name"
    with pytest.raises(ValueError, match=rf"^(?:{words})$|ascii"):
        Query(message)


@given(st.binary(max_size=60))
def test_junk(junk: bytes) -> None:
    """Whatever comes: it is a question, or none."""
    for message in (junk, WHOLE[:12] + junk):
        try:
            Query(message)
        except ValueError:
            continue


class Conversation:
    """A connection with the resolver, and what it has told."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        found = {"a.test": ADDRESSES}
        names = Names(["a.test"], find=lambda host: found.get(host, []))
        self.resolver = Resolver(names, lambda _, blocked: self.told.append(blocked))

    def connect(self) -> socket.socket:
        """A client that is served."""
        listener = self.resolver.listener()
        assert listener is not None
        client = socket.create_connection(listener.getsockname(), timeout=LIMIT)
        self.resolver.serve(None, listener, client.getsockname())  # type: ignore[arg-type]
        return client


def ask(client: socket.socket, *messages: bytes) -> list[bytes]:
    """Ask all of them at once; the answers."""
    client.sendall(b"".join(struct.pack("!H", len(each)) + each for each in messages))
    with client.makefile("rb") as stream:
        return [stream.read(*struct.unpack("!H", stream.read(2))) for _ in messages]


def test_stream() -> None:
    """Several questions on one connection, and what is refused is told."""
    conversation = Conversation()
    with conversation.connect() as client:
        one, other = ask(client, question("a.test"), question("b.test"))
    assert records(one) == (0, [(30, "192.0.2.1"), (30, "192.0.2.2")])
    assert records(other) == (3, [])
    (blocked,) = conversation.told
    assert (blocked.what, blocked.target) == ("look up", {"host": "b.test"})
    assert (blocked.counts, blocked.remedy) == (True, "--allow-domain b.test")


def test_what_does_not_matter() -> None:
    """Programs ask for the name of their machine, and for those of addresses, and do without."""
    conversation = Conversation()
    names = [socket.gethostname(), "1.2.0.192.in-addr.arpa"]
    answers = [conversation.resolver.answer(None, question(each)) for each in names]  # type: ignore[arg-type]
    assert [records(each)[0] for each in answers] == [3, 3]
    assert [(each.counts, each.remedy) for each in conversation.told] == [(False, "")] * 2


def test_junk_on_a_stream() -> None:
    """The connection ends, and nothing is said about it."""
    with Conversation().connect() as client:
        client.sendall(b"\0\3abc")
        assert client.recv(1) == b""


def test_strangers() -> None:
    """Who comes first, and is not the one for whom the listener is, hears nothing."""
    conversation = Conversation()
    listener = conversation.resolver.listener()
    assert listener is not None
    with (
        socket.create_connection(listener.getsockname(), timeout=LIMIT) as stranger,
        socket.create_connection(listener.getsockname(), timeout=LIMIT) as client,
    ):
        conversation.resolver.serve(None, listener, client.getsockname())  # type: ignore[arg-type]
        assert stranger.recv(1) == b""
        assert len(ask(client, question("a.test"))) == 1


def test_many_connections() -> None:
    """There are only so many at a time; one that has ended makes room."""
    conversation = Conversation()
    clients = [conversation.connect() for _ in range(64)]
    assert conversation.resolver.listener() is None
    for client in clients:
        client.close()
    ended = threading.Event()
    while not (listener := conversation.resolver.listener()):
        ended.wait(0.01)
    listener.close()
