"""ignored: whether git ignores a marker, and what it is made to run by a repository: nothing."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hotenv.session import ignored
from hotenv.session.ignored import how_to_ignore
from processes import HOTENV, LIMIT, Terminal, needs

pytestmark = needs("git")

IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@b")


def git(*args: str, cwd: Path) -> None:
    """A git command that succeeds."""
    subprocess.run(["git", *args], cwd=cwd, check=True, capture_output=True, timeout=LIMIT)


@pytest.fixture(autouse=True)
def no_settings(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this user has told git."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    home = str(tmp_path_factory.mktemp("home"))
    monkeypatch.setenv("HOME", home)
    monkeypatch.setenv("XDG_CONFIG_HOME", home)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def repository(directory: Path) -> Path:
    """A work tree, which is the current directory."""
    git("init", "-q", cwd=directory)
    return directory


def follow(command: str | None) -> None:
    """Do what is said, from elsewhere."""
    assert command is not None
    subprocess.run(["sh", "-ec", command], cwd="/", check=True, timeout=LIMIT)


def test_no_work_tree(directory: Path) -> None:
    """There is nothing to ignore."""
    assert how_to_ignore() is None


def test_what_is_said_works(repository: Path) -> None:
    """The marker and nothing else is ignored then."""
    follow(how_to_ignore())
    assert how_to_ignore() is None
    (repository / ".hotenv").touch()
    (repository / "other").touch()
    status = subprocess.run(
        ["git", "status", "--short"], capture_output=True, text=True, check=True
    )
    assert status.stdout == "?? other\n"


@pytest.mark.parametrize("before", ["no folder", "no newline", "quotes"])
def test_what_is_said_works_anywhere(
    directory: Path, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    """Without info/, after a line without an end, and whatever the directory is called."""
    place = directory / "it's $HOME" if before == "quotes" else directory / "place"
    (place / "below").mkdir(parents=True)
    git("init", "-q", "--template=", cwd=place)
    if before == "no newline":
        (place / ".git" / "info").mkdir()
        (place / ".git" / "info" / "exclude").write_text("secret.txt")
    monkeypatch.chdir(place / "below")
    follow(how_to_ignore())
    assert how_to_ignore() is None
    if before == "no newline":
        git("check-ignore", "-q", "secret.txt", cwd=place)


def test_linked_work_tree(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its exclude file is that of the repository; .git is a file there."""
    git(*IDENTITY, "commit", "-q", "--allow-empty", "-m", "x", cwd=repository)
    git("worktree", "add", "-q", "linked", cwd=repository)
    monkeypatch.chdir(repository / "linked")
    follow(how_to_ignore())
    assert how_to_ignore() is None
    assert (repository / ".git" / "info" / "exclude").read_text().endswith("\n.hotenv\n")


@pytest.mark.parametrize("where", [".gitignore", "../.gitignore", "user"])
def test_ignored_already(repository: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """By a file of the project or of the user; or excepted there, where advice might not help."""
    (repository / "below").mkdir()
    monkeypatch.chdir(repository / "below")
    if where == "user":
        (Path(os.environ["XDG_CONFIG_HOME"]) / "git").mkdir()
        where = os.environ["XDG_CONFIG_HOME"] + "/git/ignore"
    Path(where).write_text(".hotenv\n")
    assert how_to_ignore() is None
    for exception in ("!.hotenv", "!.*"):
        Path(where).write_text(f".hotenv\n{exception}\n")
        assert how_to_ignore() is None
    Path(where).write_text("*\n!other\n")
    assert how_to_ignore() is None
    Path(where).write_text("!other\n")
    assert how_to_ignore() is not None


PROGRAMS = [
    *("core.fsmonitor", "core.pager", "pager.check-ignore", "pager.rev-parse", "core.editor"),
    *("core.sshCommand", "core.askPass", "core.gitProxy", "core.alternateRefsCommand"),
    *("alias.check-ignore", "alias.rev-parse", "credential.helper", "diff.external"),
    *("filter.x.clean", "filter.x.smudge", "filter.x.process", "merge.x.driver", "gpg.program"),
    *("remote.origin.uploadpack", "remote.origin.vcs", "uploadpack.packObjectsHook"),
]
"""Settings of a repository that name programs."""

HOOKS = ("post-index-change", "reference-transaction", "post-checkout", "fsmonitor-watchman")


def make_hostile(repository: Path) -> Path:
    """Let whatever git runs for ``repository`` create the file that is returned."""
    ran, program = repository / "ran", repository / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    (repository / ".gitattributes").write_text("* filter=x\n")
    git("add", ".gitattributes", cwd=repository)
    git(*IDENTITY, "commit", "-q", "-m", "x", cwd=repository)
    (repository / "hooks").mkdir()
    for hook in HOOKS:
        (repository / "hooks" / hook).symlink_to(program)
    for name in PROGRAMS:
        git("config", name, str(program), cwd=repository)
    git("config", "core.hooksPath", str(repository / "hooks"), cwd=repository)
    return ran


def test_hostile_repository(repository: Path) -> None:
    """No program that it names is run; git alone would run one."""
    ran = make_hostile(repository)
    assert how_to_ignore() is not None
    assert not ran.exists()
    subprocess.run(["git", "check-ignore", "-q", ".hotenv"], timeout=LIMIT, capture_output=True)
    assert ran.exists(), "the repository is not hostile enough"


def test_objects_that_are_not_there(repository: Path) -> None:
    """A partial clone names the program that fetches what is missing, as a .gitignore may be."""
    (repository / ".gitignore").write_text("x\n")
    git("add", ".gitignore", cwd=repository)
    git("update-index", "--skip-worktree", ".gitignore", cwd=repository)
    (repository / ".gitignore").unlink()
    for path in (repository / ".git" / "objects").glob("??/*"):
        path.unlink()
    program, ran = repository / "program", repository / "ran"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    git("config", "core.repositoryFormatVersion", "1", cwd=repository)
    git("config", "extensions.partialClone", "origin", cwd=repository)
    git("config", "remote.origin.url", str(repository), cwd=repository)
    git("config", "remote.origin.promisor", "true", cwd=repository)
    git("config", "remote.origin.uploadpack", str(program), cwd=repository)
    assert how_to_ignore() is not None
    assert not ran.exists()
    subprocess.run(["git", "check-ignore", "-q", ".hotenv"], timeout=LIMIT, capture_output=True)
    if not ran.exists():
        pytest.skip("this git fetches nothing by itself")


@pytest.mark.parametrize("place", [".gitignore", ".git/info/exclude"])
def test_git_that_hangs(repository: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is given up."""
    monkeypatch.setattr(ignored, "GIT_TIMEOUT", 0.2)
    (repository / place).unlink(missing_ok=True)
    os.mkfifo(repository / place)
    assert how_to_ignore() is None


def test_time_limit_is_short() -> None:
    """Nobody waits for a remark."""
    assert ignored.GIT_TIMEOUT <= 1


def script(text: str) -> Callable[[Path], None]:
    """A program that stands in for git."""

    def make(path: Path) -> None:
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    return make


@pytest.mark.parametrize(
    "make",
    [
        lambda _: None,
        script("exit 128"),
        script("exit 1"),
        script("exit 0"),
        lambda path: (path.touch(), path.chmod(0o755)),
    ],
    ids=["missing", "fails", "fails later", "ignored", "empty"],
)
def test_git_that_cannot_tell(
    directory: Path, make: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then there is nothing to say."""
    (directory / "bin").mkdir()
    make(directory / "bin" / "git")
    monkeypatch.setenv("PATH", str(directory / "bin"))
    assert how_to_ignore() is None


def test_git_has_no_terminal(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It could take what is typed, if a repository names /dev/tty as a file of its settings."""
    (directory / "bin").mkdir()
    script(f"touch {directory}/asked; true </dev/tty && touch {directory}/got")(
        directory / "bin" / "git"
    )
    monkeypatch.setenv("PATH", str(directory / "bin"), prepend=os.pathsep)
    terminal = Terminal([*HOTENV, "serve", "-t", "0.01"], directory)
    terminal.expect(b"press Ctrl-D")
    terminal.type(b"A=1\n\x04")
    assert terminal.wait() == 0
    assert (directory / "asked").exists()
    assert not (directory / "got").exists()


@pytest.mark.parametrize("path", ["", ".", "bin"])
def test_git_of_the_directory(repository: Path, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PATH with a relative entry does not lead to a program of the repository."""
    (repository / "bin").mkdir()
    for place in (repository, repository / "bin"):
        script(f"touch {repository}/ran; exit 1")(place / "git")
    monkeypatch.setenv("PATH", path, prepend=os.pathsep)
    assert how_to_ignore() is None
    assert not (repository / "ran").exists()
