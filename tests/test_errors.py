"""errors: each failure has its exit code (specification, section 12)."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from hotenv import errors
from hotenv.errors import (
    ArtifactError,
    ExpiredError,
    FieldError,
    HotenvError,
    NoSessionError,
    RefusedError,
    SystemFailureError,
    UnreachableError,
    UnresponsiveError,
    UsageError,
    attempt,
    because,
    internal_error,
)

CODES = {
    "UsageError": 2,
    "NoSessionError": 3,
    "UnreachableError": 4,
    "InputError": 7,
    "SystemFailureError": 8,
    "ArtifactError": 9,
    "SessionExistsError": 10,
}


def test_exit_codes() -> None:
    """There is one error for each exit code of the specification, and no other."""
    assert {kind.__name__: kind.exit_code for kind in HotenvError.__subclasses__()} == CODES


@pytest.mark.parametrize("name", CODES)
def test_every_error_is_a_hotenv_error(name: str) -> None:
    """``except HotenvError`` catches them all, and str() is the message."""
    with pytest.raises(HotenvError, match=r"^the message$"):
        raise getattr(errors, name)("the message")


def test_unresponsive() -> None:
    """A server that does not answer in time is unreachable too, and can be told from others."""
    assert issubclass(UnresponsiveError, UnreachableError)
    assert UnresponsiveError.exit_code == UnreachableError.exit_code


def test_refused() -> None:
    """A server that refuses a client is unreachable for it, and waiting does not help."""
    assert issubclass(RefusedError, UnreachableError)
    assert not issubclass(RefusedError, UnresponsiveError)
    assert RefusedError.exit_code == UnreachableError.exit_code


def test_expired() -> None:
    """That a session has expired means that there is none, and says where."""
    error = ExpiredError("the message", "/prod/dev")
    assert isinstance(error, NoSessionError)
    assert (str(error), error.directory) == ("the message", "/prod/dev")


@pytest.mark.parametrize(
    ("item", "message"), [("", "only: no such name"), ("'A*'", "only 'A*': no such name")]
)
def test_field(item: str, message: str) -> None:
    """An error of an argument names it, says which part of it, and keeps both for others to use."""
    error = FieldError("only", "no such name", item)
    assert isinstance(error, UsageError)
    assert str(error) == message
    assert (error.field, error.reason, error.item) == ("only", "no such name", item)


def fail_below() -> None:
    """Fail in a function that this one calls."""

    def fail() -> None:
        raise KeyError("s3cret")

    fail()


FAILING_LINE = fail_below.__code__.co_firstlineno + 4


def test_internal_error() -> None:
    """A bug is described by its type and its place, the innermost, and never by its text."""
    with pytest.raises(KeyError) as caught:
        fail_below()
    expected = f"internal error: KeyError at test_errors.py:{FAILING_LINE}: please report this bug"
    assert internal_error(caught.value) == expected
    group = BaseExceptionGroup("s3cret", [ExceptionGroup("s3cret", [caught.value])])
    assert internal_error(group) == expected
    assert internal_error(KeyError("s3cret")) == "internal error: KeyError: please report this bug"


def test_attempt_that_succeeds() -> None:
    """Without an error the block has no effect."""
    with attempt("try"):
        done = True
    assert done


@pytest.mark.parametrize(
    ("hint", "end"), [("", ""), ("set NAME", " (set NAME)")], ids=["no hint", "hint"]
)
def test_attempt_that_fails(tmp_path: Path, hint: str, end: str) -> None:
    """An OSError becomes one line that says what failed, why, and what to do; it is the cause."""
    with (
        pytest.raises(SystemFailureError) as caught,
        attempt("open the file", hint),
    ):
        os.open(tmp_path / "nothing", os.O_RDONLY)
    assert str(caught.value) == f"cannot open the file: no such file or directory{end}"
    assert isinstance(caught.value.__cause__, FileNotFoundError)


@pytest.mark.parametrize("error", [ArtifactError("mine"), ValueError("bug"), KeyboardInterrupt()])
def test_attempt_is_about_the_system(error: BaseException) -> None:
    """Whatever is no OSError passes through as it is."""
    with pytest.raises(type(error)) as caught, attempt("try"):
        raise error
    assert caught.value is error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        pytest.param(
            PermissionError(errno.EACCES, "Permission denied", "/a/b"),
            "permission denied",
            id="number and file",
        ),
        pytest.param(OSError("Path too long"), "path too long", id="words only"),
        pytest.param(TimeoutError(), "timeouterror", id="nothing"),
    ],
)
def test_because(error: OSError, words: str) -> None:
    """The reason is the system's words without number and file name, and never empty."""
    assert because(error) == words
