"""Two network namespaces, joined by a cable: what leaves the one arrives in the other."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from guarded import PYTHON
from hotenv import libc
from hotenv.guards.kernel import this_kernel
from processes import LIMIT

INSIDE, OUTSIDE = "10.77.0.2", "10.77.0.1"

_ALL = 3  # ETH_P_ALL
_IP, _TARGET = b"\x08\x00", slice(30, 34)  # in an Ethernet frame
_INSIDE_HEADER = slice(12, 14)


def _lacking() -> str:
    """Why there can be no namespaces here; empty if there can."""
    if os.geteuid() != 0:
        return "only root can make network namespaces with a cable between them"
    if not shutil.which("ip"):
        return "ip is not installed"
    name = f"hotenv-{uuid.uuid4().hex[:8]}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    subprocess.run(["ip", "netns", "del", name], capture_output=True)
    return "" if made.returncode == 0 else f"no network namespaces here: {made.stderr.strip()}"


_LACKING = _lacking()
needs_namespaces = pytest.mark.skipif(bool(_LACKING), reason=_LACKING)


class Cable:
    """The two namespaces, and what is sent from ``inside`` to the outside."""

    def __init__(self, inside: str, outside: str, frames: socket.socket) -> None:
        self.enter = ["ip", "netns", "exec", inside]
        self.enter_outside = ["ip", "netns", "exec", outside]
        self._frames = frames

    def run(self, *words: str) -> int:
        """Run ``words`` inside; the exit status."""
        done = subprocess.run([*self.enter, *words], capture_output=True, timeout=LIMIT)
        return done.returncode

    def real_address(self) -> None:
        """Let what is sent outside arrive there."""
        _ip(["-n", self.enter[-1], "neigh", "del", OUTSIDE, "dev", "h0"])

    def came_out(self) -> set[str]:
        """The addresses to which packets of IPv4 were sent since the last look."""
        self.run(PYTHON, "-c", _MARK)
        found: set[str] = set()
        while True:
            frame, (_, _, kind, *_) = self._frames.recvfrom(2048)
            if kind == socket.PACKET_OUTGOING:  # an answer, which may repeat the mark
                continue
            if _MARKED in frame:
                return found
            if frame[_INSIDE_HEADER] == _IP:
                found.add(socket.inet_ntoa(frame[_TARGET]))


_MARKED = b"that was all"
_MARK = f"""
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto({_MARKED!r}, ("{OUTSIDE}", 9))
"""


@contextmanager
def cable(files: Mapping[str, str] | None = None) -> Iterator[Cable]:
    """Two namespaces; the loopback interface of the inner one is down.

    ``files``: what stands in /etc of the inner one, where that has such files.
    """
    inside, outside = (f"hotenv-{uuid.uuid4().hex[:8]}" for _ in range(2))
    etc = Path("/etc/netns") / inside  # of ip-netns(8)
    try:
        etc.mkdir(parents=True)
        for name, text in (files or {}).items():
            (etc / name).write_text(text)
        for words in (
            ["netns", "add", inside],
            ["netns", "add", outside],
            ["link", "add", "h0", "netns", inside, "type", "veth", "peer", "h1", "netns", outside],
            ["-n", inside, "addr", "add", f"{INSIDE}/24", "dev", "h0"],
            ["-n", outside, "addr", "add", f"{OUTSIDE}/24", "dev", "h1"],
            ["-n", inside, "link", "set", "h0", "up"],
            ["-n", outside, "link", "set", "h1", "up"],
            ["-n", inside, "route", "add", "default", "via", OUTSIDE],
            # Nobody has to ask who it is before something can be sent there.
            ["-n", inside, "neigh", "replace", OUTSIDE, "lladdr", "02:00:00:00:00:01", "dev", "h0"],
        ):
            _ip(words)
        with _frames_in(outside) as frames:
            yield Cable(inside, outside, frames)
    finally:
        shutil.rmtree(etc)
        for name in (inside, outside):
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


def _ip(words: Sequence[str]) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextmanager
def _frames_in(name: str) -> Iterator[socket.socket]:
    """A socket that gets all that arrives in the namespace ``name``."""
    ours = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    theirs = os.open(f"/run/netns/{name}", os.O_RDONLY)
    try:
        _enter(theirs)
        try:
            frames = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL))
        finally:
            _enter(ours)
    finally:
        os.close(ours)
        os.close(theirs)
    with frames:
        frames.settimeout(LIMIT)
        yield frames


def _enter(namespace: int) -> None:
    libc.system_call(this_kernel().number("setns"), namespace, 0)
