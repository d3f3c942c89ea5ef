"""Lines that never make the server wait."""

from __future__ import annotations

import os
import select
from pathlib import Path

import pytest

from hotenv.serving.linewriter import LineWriter
from processes import fill


def test_writes_lines() -> None:
    """A line and its end, in UTF-8 on every locale."""
    reader, writer = os.pipe()
    LineWriter(writer).write("grün \udcff")
    assert os.read(reader, 100) == "grün \\udcff\n".encode()


def test_full_pipe_drops_and_counts() -> None:
    """What does not fit is dropped; when there is room again, the number is told."""
    reader, writer = os.pipe()
    lines = LineWriter(writer)
    size = fill(writer)
    for _ in range(3):
        lines.write("lost")
    while size > 0:
        size -= len(os.read(reader, size))
    lines.write("there")
    assert os.read(reader, 1000) == b"hotenv: 3 lines could not be written here\nthere\n"
    assert os.get_blocking(writer)  # it is shared, and was left as it was


def test_terminal_with_little_room() -> None:
    """A terminal nobody reads takes part of a line at most, and the writer does not wait."""
    controller, terminal = os.openpty()
    lines = LineWriter(terminal)
    for _ in range(5000):
        lines.write("x" * 200)
    assert select.select([controller], [], [], 0)[0]
    assert os.get_blocking(terminal)


@pytest.mark.parametrize("path", ["/dev/full", "/dev/null"])
def test_devices(path: str) -> None:
    """A full disk is no reason to fail."""
    descriptor = os.open(path, os.O_WRONLY)
    LineWriter(descriptor).write("x")
    os.close(descriptor)


def test_closed_descriptor() -> None:
    """Neither is a closed standard error, nor a pipe without a reader."""
    reader, writer = os.pipe()
    lines = LineWriter(writer)
    os.close(reader)
    lines.write("x")
    os.close(writer)
    LineWriter(writer).write("x")


def test_file_is_appended(tmp_path: Path) -> None:
    """A regular file is written where the shell has opened it."""
    path = tmp_path / "log"
    with path.open("wb") as file:
        os.write(file.fileno(), b"before\n")
        LineWriter(file.fileno()).write("line")
        os.write(file.fileno(), b"after\n")
    assert path.read_bytes() == b"before\nline\nafter\n"


def test_long_line_is_cut() -> None:
    """A line is written whole or not at all, so it must fit into what a pipe takes at once."""
    reader, writer = os.pipe()
    LineWriter(writer).write("ä" * 10_000)
    line = os.read(reader, 100_000)
    assert len(line) <= select.PIPE_BUF
    assert line.decode().endswith("ä...\n")
