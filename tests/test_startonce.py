"""One start at a time, in this process."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from hotenv.errors import (
    ArtifactError,
    HotenvError,
    InputError,
    SystemFailureError,
    UnreachableError,
    kind_of,
)
from hotenv.project import startonce
from hotenv.project.startonce import remove_abandoned, start_once
from hotenv.session import lock


def starts(runtime: Path) -> list[Path]:
    """The files of starts."""
    return list((runtime / "hotenv").glob("*.start"))


def test_alone(runtime: Path) -> None:
    """It is called, and nothing is left."""
    called = []
    assert start_once("/shop", 1, lambda: called.append(len(starts(runtime))))
    assert called == [1]
    assert starts(runtime) == []


@pytest.mark.parametrize(
    "failure", [InputError("no"), SystemExit(3), KeyboardInterrupt(), ValueError("bug")], ids=repr
)
def test_failure(runtime: Path, failure: BaseException) -> None:
    """It is raised as it is, and nothing is left: the next one begins anew."""

    def fail() -> None:
        raise failure

    with pytest.raises(type(failure)) as caught:
        start_once("/shop", 1, fail)
    assert caught.value is failure
    assert starts(runtime) == []
    assert start_once("/shop", 1, lambda: None)


@pytest.mark.parametrize(
    ("outcome", "kind", "words"),
    [
        (InputError("no"), InputError, "failed with exit code 7"),
        (SystemExit(9), ArtifactError, "failed with exit code 9"),
        (SystemExit(99), SystemFailureError, "failed with exit code 99"),
        (KeyboardInterrupt(), SystemFailureError, "was interrupted"),
        (ValueError("bug"), SystemFailureError, "failed with exit code 8"),
    ],
    ids=repr,
)
def test_shared_failure(
    runtime: Path,
    monkeypatch: pytest.MonkeyPatch,
    outcome: BaseException,
    kind: type[HotenvError],
    words: str,
) -> None:
    """Who has opened the file before the end gets the same kind of error."""
    real = lock.guarded

    def after_the_other(*args: object, **options: object) -> object:
        monkeypatch.setattr(startonce, "guarded", real)

        def fail() -> None:
            raise outcome

        with pytest.raises(type(outcome)):
            start_once("/shop", 1, fail)
        return real(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(startonce, "guarded", after_the_other)
    with pytest.raises(kind, match=f"another command's attempt {words}$"):
        start_once("/shop", 1, lambda: pytest.fail("called"))
    assert starts(runtime) == []


def test_shared_success(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then nothing is called."""
    real = lock.guarded

    def after_the_other(*args: object, **options: object) -> object:
        monkeypatch.setattr(startonce, "guarded", real)
        assert start_once("/shop", 1, lambda: None)
        return real(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(startonce, "guarded", after_the_other)
    assert not start_once("/shop", 1, lambda: pytest.fail("called"))


def test_a_name_that_is_gone(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that has lost its name without a result guards nothing: it begins anew."""
    real = lock.guarded

    def without_the_name(*args: object, **options: object) -> object:
        monkeypatch.setattr(startonce, "guarded", real)
        (path,) = starts(runtime)
        path.unlink()
        return real(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(startonce, "guarded", without_the_name)
    called = []
    assert start_once("/shop", 1, lambda: called.append(len(starts(runtime))))
    assert called == [1]


def test_two_projects(runtime: Path) -> None:
    """They do not wait for each other."""
    called = []
    assert start_once("/a", 1, lambda: called.append(start_once("/b", 1, lambda: None)))
    assert called == [True]


def test_too_slow(runtime: Path) -> None:
    """The other one is not waited for any longer, and goes on."""

    def wait() -> None:
        with pytest.raises(UnreachableError, match=r"is still being started .* after 0\.01s"):
            start_once("/shop", 0.01, lambda: pytest.fail("called"))

    assert start_once("/shop", 1, wait)


def test_what_was_left(runtime: Path) -> None:
    """The empty file of one that was killed is taken over."""
    (runtime / "hotenv").mkdir(mode=0o700)
    os.close(os.open(startonce._path("/shop"), os.O_CREAT, 0o600))
    assert start_once("/shop", 1, lambda: None)
    assert starts(runtime) == []


def test_what_was_left_is_pruned(runtime: Path) -> None:
    """But not what a start holds that goes on, or what is no file."""
    base = runtime / "hotenv"
    base.mkdir(mode=0o700)
    (base / "directory.start").mkdir()
    left = Path(startonce._path("/gone"))
    left.touch()

    def prune() -> None:
        assert [*remove_abandoned(str(base))] == [str(left)]
        assert len(starts(runtime)) == 2

    assert start_once("/shop", 1, prune)
    assert starts(runtime) == [base / "directory.start"]


def test_a_full_disk(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the result cannot be written, nothing is left all the same."""

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", fail)
    assert start_once("/shop", 1, lambda: None)
    assert starts(runtime) == []


def test_kinds() -> None:
    """Each exit code is of one kind of error; any other is a failure of the system."""
    for kind in HotenvError.__subclasses__():
        assert kind_of(kind.exit_code) is kind
    assert kind_of(99) is SystemFailureError
