"""remote.welcome: what comes of an attempt to get in."""

from __future__ import annotations

import pytest

from hotenv.errors import SystemFailureError, UnreachableError
from hotenv.remote.welcome import directory_in, refusal


def test_a_directory() -> None:
    """Its path may have any characters."""
    assert directory_in(b" 5 /tmp/a b\xff", "box") == "/tmp/a b\udcff"
    assert directory_in(b" 12 /a", "box") == "/a"


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (b" 4 /a", "bash on box is too old: install version 5"),
        (b"  /a", "bash on box is too old"),
        (b" 5 ", "cannot make a directory with FIFOs on box"),
    ],
)
def test_no_directory(record: bytes, reason: str) -> None:
    """The reason is told."""
    with pytest.raises(SystemFailureError, match=reason):
        directory_in(record, "box")


@pytest.mark.parametrize(
    ("complaint", "reason"),
    [
        (b"a warning\r\nHost key \x1b[1m\xff failed.\r\n\n", r"Host key \x1b[1m\ufffd failed."),
        (b"\n", "ssh has ended with status 255, without a word"),
    ],
)
def test_a_refusal(complaint: bytes, reason: str) -> None:
    """It gives the last line of ssh, and nothing of that acts on a terminal."""
    error = refusal("box", complaint, 255)
    assert isinstance(error, UnreachableError)
    words = str(error).encode("ascii", "backslashreplace").decode()
    assert words == f"cannot connect to box: {reason} (see 'ssh box')"


def test_no_host() -> None:
    """What only ssh can tell is no destination."""
    usage = b"usage: ssh [-46AaCfGgKkMNnqsTtVvXxYy] [-B bind_interface]\n   destination [command]\n"
    assert str(refusal("@box", usage, 255)).startswith("host: must be a destination of ssh")


def test_no_bash() -> None:
    """There is a connection, and nothing to run."""
    error = refusal("box", b"sh: exec: bash: not found\n", 127)
    assert isinstance(error, SystemFailureError)
    assert str(error) == "a login on box cannot run bash: install version 5 or newer there"
