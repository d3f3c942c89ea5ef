"""The runtime base: where it is, and when it is refused."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from hotenv.errors import SystemFailureError
from hotenv.session import runtime as bases
from hotenv.session.runtime import (
    find_runtime_bases,
    make_runtime_base,
    note_missing_directory,
    runtime_base,
    runtime_bases,
    sockets_in,
)

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user: needs root")


@pytest.mark.parametrize("value", [None, "", "relative", "./x", "/nonexistent/run", "/dev/null"])
def test_without_a_usable_xdg_runtime_dir(
    value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unset, empty, relative and missing are the same: a directory in /tmp that has the uid."""
    if value is None:
        monkeypatch.delenv("XDG_RUNTIME_DIR")
    else:
        monkeypatch.setenv("XDG_RUNTIME_DIR", value)
    assert runtime_base() == f"/tmp/hotenv-{os.geteuid()}"


def test_made_private(runtime: Path, umask: None) -> None:
    """Mode 0700, whatever the umask; a wider one that is there is tightened."""
    os.umask(0)
    base = make_runtime_base()
    assert base == str(runtime / "hotenv")
    assert stat.S_IMODE(os.stat(base).st_mode) == 0o700
    os.chmod(base, 0o755)
    assert make_runtime_base() == base
    assert stat.S_IMODE(os.stat(base).st_mode) == 0o700


@pytest.mark.parametrize("kind", ["file", "link"])
def test_not_a_real_directory(runtime: Path, tmp_path: Path, kind: str) -> None:
    """A file or a symbolic link in its place is refused and left alone."""
    base = runtime / "hotenv"
    if kind == "file":
        base.write_text("")
    else:
        base.symlink_to(tmp_path)
    with pytest.raises(SystemFailureError, match="not a directory"):
        make_runtime_base()
    assert os.path.lexists(base)


@needs_root
def test_another_users(runtime: Path) -> None:
    """The error names both users and what to do."""
    base = runtime / "hotenv"
    base.mkdir()
    os.chown(base, 12345, 12345)
    with pytest.raises(SystemFailureError) as caught:
        make_runtime_base()
    for part in ("uid 12345", f"uid {os.geteuid()}", "XDG_RUNTIME_DIR"):
        assert part in str(caught.value)


def test_where_it_cannot_be_made(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the directory and the variable."""

    def refuse(*_args: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(SystemFailureError, match=rf"{runtime}/hotenv: read-only.*XDG_RUNTIME_DIR"):
        make_runtime_base()


def test_newline_in_its_name(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A marker has no way to name a socket in there."""
    strange = runtime / "a\nb"
    strange.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(strange))
    with pytest.raises(SystemFailureError, match="newline"):
        make_runtime_base()
    assert list(strange.iterdir()) == []


def test_all_that_can_be_ours(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the environment first, then those of a login and of none; each once."""
    login, fallback = f"/run/user/{os.geteuid()}/hotenv", f"/tmp/hotenv-{os.geteuid()}"
    assert runtime_bases() == [str(runtime / "hotenv"), login, fallback]
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert runtime_bases() == [fallback, login]


@pytest.mark.parametrize("other", ["missing", "file", "below a file", "link", "good"])
def test_only_the_environments_has_to_be_good(
    runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    """One that only could be ours is passed over if it is not; that of the environment is not."""
    base, place = runtime / "hotenv", tmp_path / "other"
    if other == "file":
        place.touch()
    elif other == "below a file":
        place.touch()
        place /= "hotenv"
    elif other == "link":
        place.symlink_to(tmp_path)
    elif other == "good":
        place.mkdir()
    monkeypatch.setattr(bases, "runtime_bases", lambda: [str(base), str(place)])
    others = [str(place)] if other == "good" else []
    assert find_runtime_bases() == others  # nothing was ever started in that of the environment
    base.mkdir()
    assert find_runtime_bases() == [str(base), *others]
    base.rmdir()
    base.symlink_to(tmp_path)
    with pytest.raises(SystemFailureError, match="is not a directory"):
        find_runtime_bases()


@needs_root
def test_another_users_among_all(
    runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not looked into, and is an error only if the environment names it."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, 12345, 12345)
    monkeypatch.setattr(bases, "runtime_bases", lambda: [str(runtime / "hotenv"), str(theirs)])
    assert find_runtime_bases() == []
    monkeypatch.setattr(bases, "runtime_base", lambda: str(theirs))
    with pytest.raises(SystemFailureError, match="uid 12345"):
        find_runtime_bases()


@pytest.mark.parametrize(
    ("value", "told"),
    [("/nonexistent/run", True), ("/dev/null", True), ("/", False), ("x", False), ("", False)],
)
def test_missing_directory_is_told(
    value: str, told: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Where the sockets are instead is said once, and only for what should have been there."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", value)
    note_missing_directory()
    words = f"XDG_RUNTIME_DIR={value} does not exist: using /tmp/hotenv-{os.geteuid()}"
    assert capfd.readouterr().err == (f"hotenv: note: {words}\n" if told else "")


def test_sockets_in(tmp_path: Path) -> None:
    """Every session has one, also when only its status is left; other files belong to none."""
    for name in ("0123abcd.json", "00000001.sock", "00000001.json", "notes.sock", "0123ABCD.sock"):
        (tmp_path / name).touch()
    assert sockets_in(str(tmp_path)) == [f"{tmp_path}/00000001.sock", f"{tmp_path}/0123abcd.sock"]
