"""errors: each failure has its exit code (specification, section 12)."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from hotenv import errors
from hotenv.errors import ArtifactError, HotenvError, SystemFailureError, attempt, because

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
