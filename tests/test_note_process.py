"""A session that expired, from outside: no other one silently takes its place."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import pytest
import trio

import hotenv as package
from processes import (
    ALONE,
    HOTENV,
    LIMIT,
    hotenv,
    is_clean,
    needs,
    said,
    serving,
    start_serve,
    wait_until,
)

COMMANDS = {
    "run": ("run", "--", "printenv", "A"),
    "run with options": ("run", "--only", "A", "--", "printenv", "A"),
    "dump": ("dump",),
    "status": ("status",),
    "status --short": ("status", "--short"),
}
commands = pytest.mark.parametrize("args", COMMANDS.values(), ids=COMMANDS)


@pytest.fixture
def dev(directory: Path) -> Path:
    """A directory of which a session has expired."""
    dev = directory / "dev"
    (dev / "below").mkdir(parents=True)
    done = start_serve(dev, b"A=dev\n", "-q", "-t", "0.01")
    assert done.communicate()[1] == b""
    assert done.returncode == 0
    return dev


def above(args: tuple[str, ...]) -> tuple[str, ...]:
    """The same with --above."""
    return (args[0], "--above", *args[1:])


@commands
def test_production_is_not_taken_for_development(
    directory: Path, dev: Path, args: tuple[str, ...]
) -> None:
    """Exit code 3, and two remedies, each of which works."""
    with serving(directory, b"A=prod\n", "-q"):
        for place in (dev, dev / "below"):
            result = hotenv(*args, cwd=place)
            assert result.returncode == 3
            words = re.fullmatch(
                rf"hotenv: the session of {dev} expired at \d\d:\d\d; that of {directory} is "
                rf"not used instead: run '(.*)' in {dev} to start it anew, or use (.*)",
                said(result),
            )
            assert words
            assert words.groups() == ("hotenv serve", "--above")
            done = hotenv(*above(args), cwd=place)
            assert (done.returncode, done.stderr) == (0, b"")
        with serving(dev, b"A=dev\n"):
            assert hotenv("dump", cwd=dev / "below").stdout == b"A=dev\n"
            assert hotenv("dump", "--above", cwd=dev).stdout == b"A=dev\n"


def test_stop_forgets_it(directory: Path, dev: Path) -> None:
    """And does not stop another one, but with --above; then it says whose turn it is."""
    with serving(directory, b"A=prod\n", "-q") as server:
        done = hotenv("stop", cwd=dev / "below")
        assert done.returncode == 0
        assert said(done) == (
            f"hotenv: forgot the expired session of {dev}: commands there use the session of "
            f"{directory} now"
        )
        assert server.poll() is None
        assert hotenv("dump", cwd=dev).stdout == b"A=prod\n"
        assert hotenv("stop", cwd=dev).returncode == 0
        assert server.wait() == 0
    done = hotenv("stop", cwd=dev)
    assert done.returncode == 3
    assert "no .hotenv in" in said(done)


def test_stop_where_there_is_nothing_else(dev: Path, runtime: Path) -> None:
    """It is forgotten all the same."""
    done = hotenv("stop", cwd=dev)
    assert (done.returncode, said(done)) == (0, f"hotenv: forgot the expired session of {dev}")
    assert is_clean(dev, runtime)


def test_stop_above(directory: Path, dev: Path, runtime: Path) -> None:
    """The note stays."""
    with serving(directory, b"A=prod\n", "-q") as server:
        assert hotenv("stop", "--above", cwd=dev).returncode == 0
        assert server.wait() == 0
    assert is_clean(dev, runtime, expired=True)


@pytest.mark.parametrize("command", ["stop", "status"])
def test_above_is_for_one_session(directory: Path, command: str) -> None:
    """Of all sessions there are none above."""
    result = hotenv(command, "--above", "--all", cwd=directory, command=ALONE)
    assert result.returncode == 2
    assert "--above cannot be used with --all" in said(result)


def test_prune_removes_it(directory: Path, dev: Path, runtime: Path) -> None:
    """From every base, and says so; a session above is used then."""
    (note,) = (runtime / "hotenv").glob("*.expired")
    with serving(directory, b"A=prod\n", "-q"):
        done = hotenv("prune", cwd=dev, command=ALONE)
        assert (done.returncode, said(done)) == (0, f"hotenv: removed {note}")
        assert hotenv("dump", cwd=dev).stdout == b"A=prod\n"


@pytest.mark.parametrize("how", ["signal", "stop", "lost", "killed"])
def test_other_ends_leave_none(directory: Path, runtime: Path, how: str) -> None:
    """Whoever ends a session knows that; one that was killed leaves its marker."""
    command = [*ALONE] if how == "stop" else ()
    with serving(directory, b"A=1\n", "-q") as server:
        if how == "signal":
            server.send_signal(signal.SIGINT)
        elif how == "stop":
            assert hotenv("stop", cwd=directory, command=command).returncode == 0
        elif how == "lost":
            (directory / ".hotenv").unlink()
        else:
            server.kill()
        server.wait()
    assert list((runtime / "hotenv").glob("*.expired")) == []
    if how == "killed":
        assert hotenv("dump", cwd=directory).returncode == 4


def test_wait_for_the_next_one(directory: Path, dev: Path) -> None:
    """--wait waits until it is started anew, and takes no other one meanwhile."""
    with serving(directory, b"A=prod\n", "-q"):
        waiting = subprocess.Popen(
            [*HOTENV, "run", "--wait", str(LIMIT), "--", "printenv", "A"],
            cwd=dev,
            stdout=subprocess.PIPE,
        )
        with serving(dev, b"A=again\n", "-q"):
            assert waiting.communicate(timeout=LIMIT)[0] == b"again\n"


async def test_python(directory: Path, runtime: Path) -> None:
    """A server in a nursery leaves a note too, and fetch passes it by only when it is told to."""
    dev = directory / "dev"
    dev.mkdir()
    prod, development = package.Snapshot({"A": "prod"}), package.Snapshot({"A": "dev"})
    async with trio.open_nursery() as nursery:
        await nursery.start(package.serve, prod, directory)
        assert await package.serve(development, dev, timeout=0.01) is package.Ending.EXPIRED
        with pytest.raises(
            package.NoSessionError, match=r" not used instead: .*, or use above=True$"
        ):
            await package.fetch(directory=dev)
        assert await package.fetch(directory=dev, above=True) == prod
        fetch_sync = trio.to_thread.run_sync
        got = await fetch_sync(lambda: package.fetch_sync(directory=dev, above=True))
        assert got == prod
        nursery.cancel_scope.cancel()
    with trio.move_on_after(0), pytest.raises(trio.Cancelled):
        await package.serve(development, dev)
    assert is_clean(dev, runtime, expired=True)


# What serve and run say


def test_serve_says_what_it_hides(directory: Path, runtime: Path) -> None:
    """Unless it is to be quiet; and only of a session that lives."""
    dev = directory / "dev"
    dev.mkdir()
    words = f"hotenv: note: hides the session of {directory} from commands in {dev} and below\n"
    with serving(directory, b"A=prod\n", "-q"):
        for options, told in (((), True), (("--detach",), True), (("-q",), False)):
            done = hotenv("serve", "-t", "0.01", *options, cwd=dev, stdin=b"A=dev\n")
            assert (words in done.stderr.decode()) is told
            wait_until(lambda: not (dev / ".hotenv").exists(), "the end")
    assert (directory / ".hotenv").exists()  # it was killed
    done = hotenv("serve", "-t", "0.01", cwd=dev, stdin=b"A=dev\n")
    assert "note: hides" not in done.stderr.decode()


@needs("git")
def test_serve_says_how_to_ignore_the_marker(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until it is done, unless it is to be quiet. What is to be served is not git's to read."""
    monkeypatch.setenv("HOME", str(directory))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(directory))
    hotenv("init", "-q", cwd=directory, command=["git"])
    command = rf"printf '\n.hotenv\n' >>{directory}/.git/info/exclude"
    words = f"hotenv: note: git does not ignore .hotenv here; to ignore it: {command}\n"

    def told(*options: str) -> bool:
        done = hotenv("serve", "-t", "0.01", *options, cwd=directory, stdin=b"A=1\n")
        assert done.returncode == 0
        assert options or b"hotenv: serving 1 variable in " in done.stderr
        return words in done.stderr.decode()

    assert told()
    assert not told("--quiet")
    hotenv("-c", command, cwd=directory, command=["sh"])
    assert not told()


def test_run_says_which_session(directory: Path, dev: Path) -> None:
    """Before the command starts, with its distance and for how long it stays."""
    with serving(directory, b"A=prod\n", "-t", "90", "-q"):
        for place, option, distance in (
            (directory, "-v", ""),
            (dev, "--verbose", ", 1 directory above"),
            (dev / "below", "-v", ", 2 directories above"),
        ):
            done = hotenv("run", option, "--above", "--", "sh", "-c", "echo $A >&2", cwd=place)
            assert done.returncode == 0
            assert done.stderr.decode() == (
                f"hotenv: using the session of {directory}{distance} (expires after 1m30s idle)\n"
                "prod\n"
            )
    with serving(dev, b"A=dev\n", "--max-age", "1h", "-q"):
        done = hotenv("run", "-v", "--explain", "true", cwd=dev)
        assert re.fullmatch(
            rf"hotenv: using the session of {dev} \(expires after 5m idle, in (59m\d+s|1h) at the "
            r"latest\)\n",
            done.stderr.decode(),
        )


# A directory that is made again


@pytest.fixture
def again(directory: Path, dev: Path) -> Path:
    """Another directory in its place, as a checkout of another branch and back makes it."""
    dev.rename(directory / "old")
    (dev / "below").mkdir(parents=True)
    return dev


@commands
def test_directory_that_is_made_again(directory: Path, again: Path, args: tuple[str, ...]) -> None:
    """The search ends there all the same."""
    with serving(directory, b"A=prod\n", "-q"):
        for place in (again, again / "below"):
            result = hotenv(*args, cwd=place)
            assert result.returncode == 3
            assert f"the session of {again} expired at " in said(result)
            assert result.stdout == b""


def test_its_path_by_a_link(directory: Path, again: Path) -> None:
    """Whichever way leads there, it is the same path."""
    (directory / "link").symlink_to(directory)
    with serving(directory, b"A=prod\n", "-q"):
        for place in ("dev", "link/dev", "link/dev/below"):
            assert hotenv("-C", place, "dump", cwd=directory).returncode == 3
            with pytest.raises(package.NoSessionError, match=" expired at "):
                package.fetch_sync(directory=directory / place)


def test_link_in_its_place(directory: Path, dev: Path) -> None:
    """In Python a path is followed up as it is given."""
    dev.rename(directory / "old")
    (directory / "elsewhere").mkdir()
    dev.symlink_to("elsewhere")
    with (
        serving(directory, b"A=prod\n", "-q"),
        pytest.raises(package.NoSessionError, match=" expired at "),
    ):
        package.fetch_sync(directory=dev)


@pytest.mark.parametrize("how", ["stop", "serve"])
def test_it_is_forgotten_by_its_path(directory: Path, again: Path, runtime: Path, how: str) -> None:
    """By stop there, and by the next session there."""
    with serving(directory, b"A=prod\n", "-q"):
        if how == "stop":
            assert f"forgot the expired session of {again}" in said(hotenv("stop", cwd=again))
        else:
            with serving(again, b"A=dev\n", "-q"):
                assert hotenv("dump", cwd=again).stdout == b"A=dev\n"
                assert hotenv("stop", cwd=again, command=ALONE).returncode == 0
        assert list((runtime / "hotenv").glob("*.expired")) == []
        assert hotenv("dump", cwd=again).stdout == b"A=prod\n"


def test_inode_of_another_note(directory: Path, dev: Path) -> None:
    """The next directory may get the inode; its own session, and its end, leave the note alone."""
    with serving(directory, b"A=prod\n", "-q"):
        (dev / "below").rmdir()
        dev.rmdir()
        other = directory / "other"
        other.mkdir()
        for _ in range(2):
            done = start_serve(other, b"A=other\n", "-q", "-t", "0.01")
            assert done.communicate()[1] == b""
        dev.mkdir()
        for place in (dev, other):
            assert hotenv("dump", cwd=place).returncode == 3
