"""What a server publishes: it comes back as it was, and nothing else does."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes import describe
from hotenv.errors import ArtifactError
from hotenv.session.status import (
    _DEADLINE_OFFSET,
    Status,
    StatusFile,
    _encode_deadline,
    decode_status,
    encode_status,
    is_socket_name,
    read_status,
    status_path,
)

SECONDS = st.floats(min_value=0, allow_infinity=False)
PATHS = st.text(max_size=50) | st.just("/a\nb\udcff")


def fields(record: Status) -> dict[str, object]:
    """What ``record`` says."""
    return {name: getattr(record, name) for name in record.__slots__}


@given(
    st.builds(
        Status,
        marker=PATHS,
        device=st.integers(0, 2**64 - 1),
        inode=st.integers(0, 2**64 - 1),
        started=SECONDS,
        timeout=SECONDS,
        deadline=SECONDS,
        end=st.none() | SECONDS,
        variables=st.integers(0),
        log=st.none() | PATHS,
        standalone=st.booleans(),
        composition=st.none() | st.just({"only": ["A", "\u00e9*"], "as_file": {"A": "B"}}),
    ),
    SECONDS,
)
def test_round_trip(record: Status, deadline: float) -> None:
    """It is one line, comes back as it was, and takes a new deadline in place."""
    line = encode_status(record)
    assert line.count(b"\n") == 1
    assert fields(decode_status(line)) == fields(record)
    changed = bytearray(line)
    at = len(line) + _DEADLINE_OFFSET
    new = _encode_deadline(deadline)
    changed[at : at + len(new)] = new
    assert len(changed) == len(line)
    assert fields(decode_status(bytes(changed))) == {**fields(record), "deadline": deadline}


@pytest.mark.parametrize("deadline", [5e-324, 0.1 + 0.2, 5e16, 1e18, 1.7976931348623157e308])
def test_every_deadline_takes_the_same_room(deadline: float) -> None:
    """However long a session may last: it takes the place of another one, and is exact."""
    new = _encode_deadline(deadline)
    assert len(new) == len(_encode_deadline(0.0))
    assert json.loads(new) == deadline


GOOD = json.loads(encode_status(describe("/a/.hotenv")))


@pytest.mark.parametrize("line", [b"", b"\xff\n", b"[]\n", b"1\n", b"[" * 100_000, b"{}\n"])
def test_anything_else(line: bytes) -> None:
    """What is no such record is refused as such."""
    with pytest.raises(ArtifactError):
        decode_status(line)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("marker", None),
        ("device", None),
        ("device", 1.0),
        ("inode", "1"),
        ("inode", True),
        ("started", "now"),
        ("timeout", 300),
        ("variables", True),
        ("variables", 1.5),
        ("log", 1),
        ("standalone", 1),
        ("composition", ["only"]),
    ],
)
def test_bad_field(name: str, value: object) -> None:
    """A field of another kind is named, and its value is not shown."""
    with pytest.raises(ArtifactError) as caught:
        decode_status(json.dumps({**GOOD, name: value}).encode())
    assert str(caught.value) == f'invalid "{name}" in session status'


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/run/user/1000/hotenv/0123abcd.sock", True),
        ("0123abcd.sock", True),
        ("/x/0123ABCD.sock", False),
        ("/x/0123abc.sock", False),
        ("/x/0123abcde.sock", False),
        ("/x/0123abcg.sock", False),
        ("/x/0123abcd.json", False),
        ("/x/0123abcd", False),
        ("/x/.sock", False),
        ("/x/0123abcd.sock/", False),
        ("/x/0123abcd.sock/s", False),
        ("/x/0123abc\u0664.sock", False),
    ],
)
def test_socket_name(path: str, expected: bool) -> None:
    """A session's socket has the name that hotenv gives it."""
    assert is_socket_name(path) is expected


@pytest.mark.parametrize("name", ["started", "timeout", "deadline", "end"])
@pytest.mark.parametrize("number", ["1e999", "-1e999"])
def test_too_large_a_number(name: str, number: str) -> None:
    """A number that no float can hold would be infinite, and is refused by name."""
    line = json.dumps({**GOOD, name: "NUMBER"}).replace('"NUMBER"', number)
    with pytest.raises(ArtifactError, match=f'invalid "{name}"'):
        decode_status(line.encode())


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_no_number(number: float) -> None:
    """Python's own words for numbers that are none are not JSON."""
    with pytest.raises(ArtifactError, match=r"^invalid session status$"):
        decode_status(json.dumps({**GOOD, "end": number}).encode())


@pytest.mark.parametrize("name", GOOD)
def test_missing_field(name: str) -> None:
    """Each field has to be there; others may be, for later versions."""
    less = {key: value for key, value in GOOD.items() if key != name}
    with pytest.raises(ArtifactError):
        decode_status(json.dumps(less).encode())
    more = {"later": [1], **GOOD}
    assert fields(decode_status(json.dumps(more).encode())) == GOOD


# As files


def test_published(tmp_path: Path, umask: None) -> None:
    """What is published beside the socket is private and complete, and its deadline moves."""
    os.umask(0)
    socket = str(tmp_path / "0123abcd.sock")
    path = tmp_path / "0123abcd.json"
    assert status_path(socket) == str(path)
    status = describe("/a/.hotenv")
    file = StatusFile(socket, status)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    file.publish_deadline(12.5)
    published = read_status(socket)
    assert published is not None
    assert fields(published) == {**fields(status), "deadline": 12.5}
    file.remove()
    assert list(tmp_path.iterdir()) == []


def test_published_over_what_a_dead_server_left(tmp_path: Path) -> None:
    """A file or a link that is in the way is replaced, and what the link names is left alone."""
    socket = str(tmp_path / "0123abcd.sock")
    other = tmp_path / "other"
    other.write_text("mine")
    Path(status_path(socket)).symlink_to(other)
    StatusFile(socket, describe("/a/.hotenv")).remove()
    assert other.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [other]


def test_only_its_own_file_is_removed(tmp_path: Path) -> None:
    """A file that took its place stays, a missing one is no error, and nothing is left open."""
    before = os.listdir("/dev/fd")
    socket = str(tmp_path / "0123abcd.sock")
    path = Path(status_path(socket))
    replaced = StatusFile(socket, describe("/a/.hotenv"))
    path.unlink()
    path.write_text("another's")
    replaced.remove()
    assert path.read_text() == "another's"
    gone = StatusFile(socket, describe("/a/.hotenv"))
    path.unlink()
    gone.remove()
    assert os.listdir("/dev/fd") == before


def test_a_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A status that cannot be written leaves no file; one that cannot be updated stays as it is."""
    socket = str(tmp_path / "0123abcd.sock")

    def fail(*_args: object) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    file = StatusFile(socket, describe("/a/.hotenv"))
    before = Path(status_path(socket)).read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", fail)
        file.publish_deadline(1.0)
    assert Path(status_path(socket)).read_bytes() == before
    file.remove()
    monkeypatch.setattr(os, "fchmod", fail)
    with pytest.raises(OSError, match="no space"):
        StatusFile(socket, describe("/a/.hotenv"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [None, b"", b"{}\n"])
def test_nothing_published(tmp_path: Path, content: bytes | None) -> None:
    """Without a file, or with one that is no status, nothing is known."""
    if content is not None:
        (tmp_path / "0123abcd.json").write_bytes(content)
    assert read_status(str(tmp_path / "0123abcd.sock")) is None
