"""Becoming the command: how it is found, and why it is not."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from hotenv.errors import SystemFailureError
from hotenv.handover import launch
from hotenv.handover.launch import Launch, inherited_environment
from hotenv.printable import printable


def execute(argv: list[str], environment: dict[bytes, bytes]) -> None:
    """Become the command ``argv``."""
    Launch(argv, environment).execute()


class Executed(BaseException):
    """The fake exec has executed something."""


class FakeExec:
    """Records what would be executed; ``fails`` says which paths cannot be, and why."""

    def __init__(self, fails: dict[bytes, int]) -> None:
        self.tried: list[tuple[bytes, list[bytes]]] = []
        self.fails = fails
        self.environment: dict[bytes, bytes] = {}

    def __call__(self, path: bytes, argv: list[bytes], environment: dict[bytes, bytes]) -> None:
        self.tried.append((path, argv))
        self.environment = environment
        if path in self.fails:
            raise OSError(self.fails[path], os.strerror(self.fails[path]))
        raise Executed


@pytest.fixture(autouse=True)
def ignored_signals() -> Iterator[None]:
    """Puts SIGPIPE and SIGXFSZ back as Python has them."""
    before = {s: signal.getsignal(s) for s in (signal.SIGPIPE, signal.SIGXFSZ)}
    yield
    for signum, handler in before.items():
        signal.signal(signum, handler)


def test_looked_up_along_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, skipping where it is not; an empty entry is the current directory."""
    fake = FakeExec({b"/a/cmd": errno.ENOENT, b"/b/cmd": errno.EACCES, b"cmd": errno.ENOTDIR})
    monkeypatch.setattr(os, "execve", fake)
    with pytest.raises(Executed):
        execute(["cmd", "x"], {b"PATH": b"/a:/b::/c"})
    assert [path for path, _ in fake.tried] == [b"/a/cmd", b"/b/cmd", b"cmd", b"/c/cmd"]
    assert fake.tried[-1][1] == [b"cmd", b"x"]


def test_without_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """No PATH at all: the system's default places."""
    fake = FakeExec({})
    monkeypatch.setattr(os, "execve", fake)
    with pytest.raises(Executed):
        execute(["cmd"], {})
    assert fake.tried[0][0] == b"/bin/cmd"


def test_a_name_with_a_slash_is_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not looked up."""
    fake = FakeExec({b"./cmd": errno.ENOENT})
    monkeypatch.setattr(os, "execve", fake)
    with pytest.raises(SystemFailureError, match="command not found"):
        execute(["./cmd"], {b"PATH": b"/bin"})
    assert len(fake.tried) == 1


@pytest.mark.parametrize(
    ("fails", "reason"),
    [
        ({b"/a/cmd": errno.ENOENT, b"/b/cmd": errno.ENOENT}, "command not found"),
        ({b"/a/cmd": errno.EACCES, b"/b/cmd": errno.ENOENT}, "permission denied"),
        ({b"/a/cmd": errno.ENOENT, b"/b/cmd": errno.EACCES}, "permission denied"),
        ({b"/a/cmd": errno.ETXTBSY}, "text file busy"),
    ],
    ids=["nowhere", "not executable", "not executable there", "other"],
)
def test_why_not(monkeypatch: pytest.MonkeyPatch, fails: dict[bytes, int], reason: str) -> None:
    """The error says what would help most."""
    monkeypatch.setattr(os, "execve", FakeExec(fails))
    with pytest.raises(SystemFailureError, match=reason):
        execute(["cmd"], {b"PATH": b"/a:/b"})


def test_script_without_a_first_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the kernel does not know how to start is given to sh, as execvp(3) does."""
    fake = FakeExec({b"/a/cmd": errno.ENOEXEC})
    monkeypatch.setattr(os, "execve", fake)
    with pytest.raises(Executed):
        execute(["cmd", "-x"], {b"PATH": b"/a"})
    assert fake.tried[-1] == (b"/bin/sh", [b"/bin/sh", b"/a/cmd", b"-x"])


@pytest.fixture
def script(request: pytest.FixtureRequest, directory: Path) -> Path:
    """An executable file ``cmd`` in the current directory, with this first line and more."""
    path = directory / "cmd"
    path.write_bytes(request.param + b"\necho s3cret\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("script", "shown"),
    [
        (b"#!/no/such/bash", "/no/such/bash"),
        (b"#!/bin/bash\r", "/bin/bash\\r"),
        (b"#! \t/no/such/env -S bash -x", "/no/such/env"),
        (b"#!/no/such/env\tbash", "/no/such/env"),
        (b"#!/no/such/caf\xc3\xa9", "/no/such/café"),
        (b"#!/no/such/\xff\x1b[0m", r"/no/such/\xff\x1b[0m"),
        (b"#!no-such-relative-path", "no-such-relative-path"),
    ],
    indirect=["script"],
    ids=ascii,
)
def test_missing_interpreter(script: Path, shown: str) -> None:
    """A script whose interpreter is not there: the error names the interpreter, printable."""
    for argv, path in ((["./cmd"], b""), (["cmd"], bytes(script.parent))):
        with pytest.raises(SystemFailureError) as caught:
            execute(argv, {b"PATH": path})
        assert printable(str(caught.value)) == (
            f"cannot run '{argv[0]}': its interpreter '{shown}' was not found"
        )


@pytest.mark.parametrize("script", [b"\x7fELF"], indirect=True)
@pytest.mark.parametrize("readable", [True, False])
def test_missing_loader(script: Path, readable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program whose loader is not there has no line that names it; it may not be readable."""

    def refuse(*_args: object) -> None:
        raise PermissionError

    if not readable:
        monkeypatch.setattr(launch, "open", refuse, raising=False)
    monkeypatch.setattr(os, "execve", FakeExec({b"./cmd": errno.ENOENT}))
    with pytest.raises(SystemFailureError) as caught:
        execute(["./cmd"], {})
    assert str(caught.value) == "cannot run './cmd': its interpreter was not found"


@pytest.mark.parametrize("script", [b"#!/no/such/sh"], indirect=True)
def test_missing_interpreter_and_another_command(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search goes on after it; a command that may not be executed is what to tell of."""
    here = bytes(script.parent)
    fake = FakeExec({here + b"/cmd": errno.ENOENT})
    monkeypatch.setattr(os, "execve", fake)
    with pytest.raises(Executed):
        execute(["cmd"], {b"PATH": here + b":/b"})
    assert [path for path, _ in fake.tried] == [here + b"/cmd", b"/b/cmd"]
    fake.fails[b"/b/cmd"] = errno.EACCES
    with pytest.raises(SystemFailureError, match=r"^cannot run 'cmd': permission denied$"):
        execute(["cmd"], {b"PATH": here + b":/b"})


def test_no_command_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty word is found nowhere, and is not the current directory."""
    fake = FakeExec({})
    monkeypatch.setattr(os, "execve", fake)
    with pytest.raises(SystemFailureError, match=r"^cannot run '': command not found$"):
        execute([""], {b"PATH": b"/a"})
    assert fake.tried == []


def test_dispositions_are_those_of_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGPIPE and SIGXFSZ, which Python ignores, end the command again."""
    monkeypatch.setattr(os, "execve", FakeExec({}))
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with pytest.raises(Executed):
        execute(["cmd"], {})
    assert signal.getsignal(signal.SIGPIPE) == signal.SIG_DFL
    assert signal.getsignal(signal.SIGXFSZ) == signal.SIG_DFL


def test_a_launch_can_be_made_without_effects() -> None:
    """It is a value: nothing happens before it is executed, and nothing is asked of it."""
    launched = Launch(["cmd"], {b"A": b"1"})
    assert (launched.argv, launched.env) == (["cmd"], {b"A": b"1"})
    assert (launched.files, launched.env_file) == ({}, None)


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="this system has no in-memory files")
@pytest.mark.parametrize("files", [{}, {b"F": b"one", b"G": b""}], ids=len)
@pytest.mark.parametrize("env_file", [None, b"", b"all"])
def test_files_are_made_at_the_end(
    files: dict[bytes, bytes], env_file: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each variable names its file, and the placeholder is the path of the one for the rest."""
    fake = FakeExec({})
    monkeypatch.setattr(os, "execve", fake)
    environment = {b"A": b"1", **dict.fromkeys(files, b"")}
    before = dict(environment)
    launched = Launch(["cmd", "-f{}"], environment, files=files, env_file=env_file)
    with pytest.raises(Executed):
        launched.execute()
    paths = {name: os.fsdecode(fake.environment[name]) for name in files}
    argument = os.fsdecode(fake.tried[0][1][1])
    made = [*paths.values(), *([] if env_file is None else [argument.removeprefix("-f")])]
    try:
        assert {name: Path(path).read_bytes() for name, path in paths.items()} == files
        if env_file is None:
            assert argument == "-f{}"
        else:
            assert Path(argument.removeprefix("-f")).read_bytes() == env_file
        assert fake.environment.keys() == before.keys()
        assert fake.environment[b"A"] == b"1"
        assert environment == before
        assert launched.argv == ["cmd", "-f{}"]
    finally:
        for path in made:
            os.close(int(path.rpartition("/")[2]))


def test_too_big_names_what_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too long a variable, too long an argument, too much together: never a value."""
    monkeypatch.setattr(os, "execve", FakeExec({b"/cmd": errno.E2BIG}))
    with pytest.raises(
        SystemFailureError, match=r"variable too long: B, Z \(limit 131071.*--as-file"
    ) as caught:
        execute(["/cmd"], {b"Z": b"v" * 131_072, b"A": b"v" * 1000, b"B": b"v" * 131_070})
    assert "vvv" not in str(caught.value)
    with pytest.raises(SystemFailureError, match=r"argument too long \(limit 131071 bytes\)"):
        execute(["/cmd", "x" * 131_072], {})
    with pytest.raises(SystemFailureError, match=r"too large \(3000040 bytes in total, more"):
        execute(["/cmd"], {b"A%d" % n: b"v" * 99_996 for n in range(10, 40)} | {b"X": b"v" * 3})


def test_just_not_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has exactly the size that the system takes is not to blame."""
    monkeypatch.setattr(os, "execve", FakeExec({b"/cmd": errno.E2BIG}))
    with pytest.raises(SystemFailureError, match=r"too large \(262147 bytes in total"):
        execute(["/cmd", "x" * 131_071], {b"A": b"v" * 131_069})
    with pytest.raises(SystemFailureError, match="variable too long: A "):
        execute(["/cmd", "x" * 131_071], {b"A": b"v" * 131_070})


def test_nul_in_an_argument() -> None:
    """Only the API can bring it; it is an error and no traceback."""
    with pytest.raises(
        SystemFailureError, match=r"^cannot run the command: an argument contains a NUL"
    ):
        execute(["/bin/true", "a\0b"], {})


def test_environment_without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no /proc, Python's own environment has to do."""

    def missing(*_args: object) -> None:
        raise FileNotFoundError

    monkeypatch.setenv("HOTENV_TEST", "x")
    monkeypatch.setattr(launch, "open", missing, raising=False)
    assert inherited_environment() == dict(os.environb)


def test_environment_is_the_one_the_process_began_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Python set since is not in it."""
    if not Path("/proc/self/environ").exists():
        pytest.skip("no /proc here")
    monkeypatch.setenv("HOTENV_TEST_LATER", "x")
    assert b"HOTENV_TEST_LATER" not in inherited_environment()
