"""supervised, standin: what they say to each other, and how a process ends like another."""

from __future__ import annotations

import os
import select
import signal
import sys

import pytest

from hotenv.coredump import restore_core_dumps
from hotenv.errors import (
    FieldError,
    HotenvError,
    NoSessionError,
    SystemFailureError,
    UsageError,
)
from hotenv.handover import signalling
from hotenv.handover.standin import FAILED, decode_error, encode_error, end_like


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (SystemFailureError("cannot run 'x'"), SystemFailureError, "cannot run 'x'"),
        (UsageError(""), UsageError, ""),
        (NoSessionError("two\nlines \0 \udcff é"), NoSessionError, "two\nlines \0 \udcff é"),
        (FieldError("env_file", "has no {}"), UsageError, "env_file: has no {}"),
        (OSError(1, "Not Permitted"), SystemFailureError, "a system call failed: not permitted: "),
        (ValueError("s3cret"), SystemFailureError, "internal error: ValueError: please report"),
        (KeyboardInterrupt(), SystemFailureError, "internal error: KeyboardInterrupt"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_cross(error: BaseException, kind: type[HotenvError], message: str) -> None:
    """An error of another process has the class and the words that it had there; a bug no text."""
    crossed = decode_error(encode_error(error))
    assert type(crossed) is kind
    assert crossed.exit_code == getattr(error, "exit_code", 8)
    assert str(crossed).startswith(message)
    assert "s3cret" not in str(crossed)


def test_long_errors_cross_at_once() -> None:
    """What a pipe does not take in one piece is cut, be it within a character."""
    for filler in ("x", "é"):
        data = encode_error(SystemFailureError(filler * 10_000))
        assert len(FAILED + data) == select.PIPE_BUF
        assert str(decode_error(data)).startswith(filler * 1000)


@pytest.mark.parametrize("code", [0, 1, 8, 130, 255])
def test_ends_with_the_exit_code(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a wait status, the exit code is the second byte."""
    monkeypatch.setattr(os, "_exit", sys.exit)
    with pytest.raises(SystemExit) as ended:
        end_like(code << 8)
    assert ended.value.code == code


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_that_does_not_end_it(signum: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first process of a container survives its own signals: it exits as a shell says it."""
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append((pid, number)))
    monkeypatch.setattr(os, "_exit", sys.exit)
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as ended:
            end_like(signum)
    finally:
        signal.signal(signal.SIGTERM, before)
        restore_core_dumps()
    assert ended.value.code == 128 + signum
    assert sent == [(os.getpid(), signum)]


def test_a_command_that_must_not_be_signalled(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that has changed its user ID gets no signal of hotenv, as it gets none of the user."""

    def refuse(*_args: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    signalling.send(1, signal.SIGTERM)
