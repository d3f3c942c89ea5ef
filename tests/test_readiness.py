"""Telling a supervisor, who may be slow or gone."""

from __future__ import annotations

import os

import pytest

from hotenv.errors import UsageError
from hotenv.serving.readiness import check_ready_fd, tell_ready
from processes import fill


def test_newline_and_end() -> None:
    """The reader gets a newline, and then the end."""
    reader, writer = os.pipe()
    check_ready_fd(writer)
    tell_ready(writer)
    assert os.read(reader, 10) == b"\n"
    assert os.read(reader, 10) == b""


def test_reader_that_is_gone() -> None:
    """Nobody listens any more: so be it."""
    reader, writer = os.pipe()
    os.close(reader)
    tell_ready(writer)
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(writer)


def test_full_pipe() -> None:
    """Nobody waits for a reader that does not read."""
    reader, writer = os.pipe()
    size = fill(writer)
    tell_ready(writer)
    os.set_blocking(reader, True)
    while size:
        size -= len(os.read(reader, size))
    assert os.read(reader, 10) == b""


def test_not_open_for_writing() -> None:
    """The number of a closed descriptor, or of one that is only read, is an error of usage."""
    reader, writer = os.pipe()
    os.close(writer)
    for number in (reader, writer, 10**30):
        with pytest.raises(UsageError, match="not open for writing"):
            check_ready_fd(number)
