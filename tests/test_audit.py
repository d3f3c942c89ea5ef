"""The audit log: what is written, and what can be seen when it was changed."""

from __future__ import annotations

import json
import os
import re
from hashlib import sha256
from pathlib import Path

import pytest

from hotenv.audit import writer
from hotenv.audit.chain import LONGEST_LINE, Head
from hotenv.audit.verification import CHANGED, CUT, INCOMPLETE, INTACT, UNKNOWN, verify
from hotenv.audit.writer import append, head_path, read_head
from hotenv.errors import SystemFailureError


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of a log, with a state directory of its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "log"


def written(log: Path, count: int = 6) -> bytes:
    """What a log with so many lines has."""
    for number in range(count):
        append(str(log), {"what": "run", "program": f"make {number} é \udcff", "status": number})
    return log.read_bytes()


def code(data: bytes, log: Path) -> int:
    """The verdict about ``data`` with the head of ``log``."""
    return verify(data, read_head(head_path(str(log)))).code


def test_lines(log: Path) -> None:
    """Each is canonical JSON, counts, and has the hash of the one before; nobody else reads it."""
    data = written(log, 3)
    first, second, third = map(json.loads, data.splitlines())
    assert [first["seq"], second["seq"], third["seq"]] == [1, 2, 3]
    assert first["program"] == "make 0 é \\udcff"
    assert re.fullmatch("[0-9a-f]{64}", third["previous"])
    assert list(first) == sorted(first)
    assert log.stat().st_mode & 0o777 == 0o600
    assert code(data, log) == INTACT


def test_long_texts(log: Path) -> None:
    """They are cut off, so that the end of the log can be read in one go."""
    long = "\0" * 1_000_000
    fields = {
        "what": "run",
        "program": long,
        "folder": long,
        "words": [long] * 3,
        "names": ["", "é"] * 500_000,
    }
    for number in range(3):
        append(str(log), {**fields, "status": number})
    data = log.read_bytes()
    assert max(map(len, data.splitlines())) < LONGEST_LINE
    line = json.loads(data.splitlines()[0])
    digest = sha256(long.encode()).hexdigest()
    rest = f"... {1_000_000 - 4096} more characters, SHA-256 of all {digest}"
    assert line["program"] == long[:4096] + rest
    digest = sha256("\0".join([long] * 3).encode()).hexdigest()
    rest = f"... {3_000_002 - 32768} more characters, SHA-256 of all {digest}"
    assert line["words"] == [long[:32768], rest]
    assert line["names"][:2] == ["", "é"]
    assert line["names"][-1].startswith("... ")
    assert code(data, log) == INTACT
    append(str(log), {"what": "run", "words": ["x" * 32767, ""]})
    last = json.loads(log.read_bytes().splitlines()[-1])
    assert last["words"] == ["x" * 32767, ""]


def test_every_flipped_bit_is_seen(log: Path) -> None:
    """Whichever byte of the log is changed."""
    data = written(log, 3)
    for at in range(len(data)):
        for bit in (1, 0x20, 0x80):
            changed = data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :]
            assert code(changed, log) in (CHANGED, CUT), at


def test_lines_that_are_moved(log: Path) -> None:
    """Removed, doubled, swapped, inserted; at the beginning, in the middle, at the end."""
    lines = written(log).splitlines(keepends=True)
    for at in range(len(lines)):
        without = lines[:at] + lines[at + 1 :]
        expected = CUT if at == len(lines) - 1 else CHANGED
        assert code(b"".join(without), log) == expected
        assert code(b"".join([*lines[:at], lines[at], *lines[at:]]), log) == CHANGED
        assert code(b"".join([*lines[:at], b"{}\n", *lines[at:]]), log) == CHANGED
    for at in range(len(lines) - 1):
        swapped = [*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]]
        assert code(b"".join(swapped), log) == CHANGED


def test_every_cut_is_seen(log: Path) -> None:
    """At each byte of the last two lines, and an older copy."""
    data = written(log)
    start = data[:-1].rindex(b"\n", 0, data[:-1].rindex(b"\n")) + 1
    assert {code(data[:at], log) for at in range(start, len(data))} == {CUT}
    assert code(b"", log) == CUT
    older = data[:start]
    assert code(older, log) == CUT


def test_another_chain(log: Path, tmp_path: Path) -> None:
    """One that was made anew follows all rules but has another head."""
    data = written(log)
    other = tmp_path / "other"
    for number in range(6):
        append(str(other), {"what": "run", "program": "forged", "status": number})
    assert code(other.read_bytes(), log) == CHANGED
    assert verify(data, Head()).code == CHANGED


def test_lines_of_others(log: Path) -> None:
    """What is no line of a log is taken for one that was changed, whatever it has."""
    data = written(log, 2)
    for line in (
        b"{}",
        b"[]",
        b'{"seq":3}',
        b'{"previous":"","seq":true,"what":"run"}',
        b'{"previous":1,"seq":3,"what":"run"}',
        b'{"previous":"","seq":3,"what":[]}',
        b'{"previous":"","seq":' + b"9" * 5000 + b',"what":"run"}',
        b"[" * 100_000,
        b"\xff",
    ):
        assert code(data + line + b"\n", log) == CHANGED
        assert code(line + b"\n" + data, log) == CHANGED


def test_without_a_head(log: Path) -> None:
    """What follows from the lines alone is said, and no more."""
    data = written(log)
    assert verify(data, None).code == UNKNOWN
    assert verify(data.replace(b"make 2", b"make 3"), None).code == CHANGED


def test_a_hash_that_was_noted(log: Path) -> None:
    """It proves all lines up to that one."""
    data = written(log)
    head = read_head(head_path(str(log)))
    assert head is not None
    assert verify(data, None, anywhere=head.hash).code == INTACT
    assert verify(data[: data.rindex(b"\n", 0, -1) + 1], None, anywhere=head.hash).code == CUT


@pytest.mark.parametrize("kept", [0, 1, 40])
def test_a_torn_line(kept: int, log: Path) -> None:
    """It is told apart from a change, and the next writer closes it."""
    data = written(log)
    line = b'{"duration":1,"previous":"' + b"0" * 100
    log.write_bytes(data + line[:kept])
    assert code(log.read_bytes(), log) == (INCOMPLETE if kept else INTACT)
    closed = written(log, 2)
    assert code(closed, log) == INTACT
    assert closed.count(b'"what":"torn"') == (1 if kept else 0)
    if kept:
        assert code(closed.replace(line[:kept] + b"\n", b"x\n"), log) == CHANGED
        assert code(closed.replace(line[:kept] + b"\n", b""), log) == CHANGED


def test_killed_before_the_head(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that the head does not know yet is intact; the next writer mends the head."""
    written(log)
    real = writer.keep_head

    def killed(path: str, head: Head) -> None:
        if head.count == 7:
            raise KeyboardInterrupt
        real(path, head)

    monkeypatch.setattr(writer, "keep_head", killed)
    with pytest.raises(KeyboardInterrupt):
        written(log, 1)
    assert code(log.read_bytes(), log) == INTACT
    monkeypatch.undo()
    monkeypatch.setenv("XDG_STATE_HOME", str(log.parent / "state"))
    assert code(written(log, 1), log) == INTACT


def test_rotation(log: Path) -> None:
    """A file that takes the log's place goes on with its chain."""
    first = written(log)
    log.rename(log.with_name("log.1"))
    second = written(log, 2)
    assert json.loads(second.splitlines()[0])["what"] == "continued"
    assert json.loads(second.splitlines()[0])["seq"] == 7
    assert code(second, log) == INTACT
    assert code(first + second, log) == INTACT
    assert code(second[second.index(b"\n") + 1 :], log) == CHANGED
    assert code(first, log) == CUT


def test_a_log_that_was_cut_is_not_mended(log: Path) -> None:
    """Who writes on does not hide it."""
    data = written(log)
    log.write_bytes(data[: data.rindex(b"\n", 0, -1) + 1])
    assert code(written(log, 2), log) != INTACT


def test_links_are_not_followed(log: Path) -> None:
    """Nor is anything written that is no file."""
    log.symlink_to("elsewhere")
    with pytest.raises(SystemFailureError, match="not a link"):
        written(log, 1)
    log.unlink()
    os.mkfifo(log)
    with pytest.raises(SystemFailureError, match="not a regular file"):
        written(log, 1)


def test_no_room_for_the_head(log: Path) -> None:
    """Without a head no line is written: it would be taken for a forged one."""
    (log.parent / "state").write_text("no directory")
    with pytest.raises(SystemFailureError):
        written(log, 1)
    assert log.read_bytes() == b""
