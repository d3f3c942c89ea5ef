"""--deny-read: a path and what is in it, which nothing opens and nothing changes."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from guarded import freely, guard, needs_compiler, needs_guards, open_directory
from guarded import probe as probe  # a fixture
from processes import HOTENV, LIMIT, needs

pytestmark = needs_guards


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with secrets, and others beside it."""
    for name in ("secrets/deep", "work/sub"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "secrets/key").write_text("secret\n")
    (tmp_path / "secrets/deep/key").write_text("secret\n")
    (tmp_path / "secrets/tool").write_text("#!/bin/sh\necho secret\n")
    (tmp_path / "secrets/tool").chmod(0o755)
    (tmp_path / "work/file").write_text("open\n")
    (tmp_path / "work/link").symlink_to("../secrets/key")
    return tmp_path


DENIED = ["--deny-read", "secrets", "--"]


@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("cat secrets/key", "read"),
        ("cat secrets/deep/key", "read"),
        ("cat work/link", "read"),
        ("cat work/../secrets/key", "read"),
        ("cat /proc/self/cwd/secrets/key", "read"),
        ("cd secrets && cat key", "read"),
        ("ls secrets", "read"),
        ("ls secrets/deep", "read"),
        ("secrets/tool", "exec"),
        ("sh secrets/tool", "read"),
        ("echo x > secrets/key", "write"),
        ("echo x >> secrets/key", "write"),
        ("echo x > secrets/new", "write"),
        ("mkdir secrets/new", "create"),
        ("ln -s /etc/passwd secrets/new", "create"),
        ("rm -f secrets/key", "remove"),
        ("mv secrets/key work/key", "rename"),
        ("mv secrets work/secrets", "rename"),
        ("mv work/file secrets/key", "rename"),
        ("ln secrets/key work/key", "create"),
        ("truncate -s 0 secrets/key", "write"),
        ("mkdir new", "create"),  # in a directory above: it could take the place of what is denied
    ],
)
def test_closed(command: str, what: str, place: Path) -> None:
    """By any name, for anything; and it is said which guard that was."""
    before = (place / "secrets/key").read_bytes()
    result = guard(*DENIED, "sh", "-c", f"PATH=/bin:/usr/bin; {command}", cwd=place)
    assert result.status == 2, result
    assert "secret\n" not in result.out
    assert what in result.counted
    assert {each["guard"] for each in result.blocked if each["counts"]} == {"deny-read"}
    assert (place / "secrets/key").read_bytes() == before
    assert not (place / "secrets/new").is_symlink()
    assert not (place / "secrets/new").exists()
    assert sorted(path.name for path in place.iterdir() if path.suffix != ".json") == [
        "secrets",
        "work",
    ]


OPEN = """
set -e
cat work/file
echo more >> work/file
echo new > work/sub/new
cat work/sub/new
mv work/sub/new work/moved
mkdir work/dir
rm -r work/dir
ls work . / > /dev/null
ls -ld secrets secrets/key
chmod 600 work/file
"""


def test_open(place: Path) -> None:
    """All else can be read and changed, and what is denied can be seen from outside."""
    result = guard(*DENIED, "sh", "-c", OPEN, cwd=place)
    assert (result.status, result.counted) == (0, []), result
    assert (place / "work/moved").read_text() == "new\n"


@needs_compiler
@pytest.mark.parametrize(
    "words",
    [
        *(["read", "secrets/key"], ["write", "secrets/key"], ["cut", "secrets/key"]),
        *(["truncate", "secrets/key"], ["unnamed", "secrets"], ["create", "secrets/new"]),
        *(["rename", "secrets/key", "work/key"], ["rename", "work/file", "secrets/key"]),
        *(["link", "secrets/key", "work/key"], ["mkfifo", "secrets/new"]),
    ],
    ids=" ".join,
)
def test_calls(words: list[str], probe: str, place: Path) -> None:
    """Each by itself."""
    result = guard("--keep-status", *DENIED, probe, *words, cwd=place)
    assert result.status in (errno.EACCES, errno.EXDEV), result
    assert [each["guard"] for each in result.blocked] == ["deny-read"]
    if words[0] not in ("rename", "link"):  # they would change what the others use
        assert freely(probe, *words, cwd=place) == 0


def test_file(place: Path) -> None:
    """A single file is neither read nor replaced."""
    script = "cat secrets/key; cat secrets/deep/key; mv work/file secrets/key"
    result = guard("--deny-read", "secrets/key", "--", "sh", "-c", script, cwd=place)
    assert result.out == "secret\n"
    assert (place / "secrets/key").read_text() == "secret\n"
    assert sorted(result.counted) == ["read", "rename"]


def test_what_is_not_there(place: Path) -> None:
    """It stays closed when somebody else makes it while the command runs."""
    words = [*HOTENV, "guard", "--deny-read", "later/key", "--"]
    script = "echo ready; read line; cat later/key"
    with subprocess.Popen(
        [*words, "sh", "-c", script],
        cwd=place,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        (place / "later").mkdir()
        (place / "later/key").write_text("secret\n")
        out, err = process.communicate(b"\n", LIMIT)
    assert (process.returncode, out) == (2, b"")
    assert f"blocked read {place}/later/key by cat (deny-read)".encode() in err


def test_exceptions(place: Path) -> None:
    """What lies deeper and is allowed stays open, for reading and for changes."""
    script = "cat secrets/deep/key; echo new > secrets/deep/new; cat secrets/deep/new secrets/key"
    words = ["--deny-read", "secrets", "--allow-write", "secrets/deep"]
    for more in ([], ["--fs-readonly"], [f"--fs-readonly={place}"]):
        result = guard(*words, *more, "--", "sh", "-c", script, cwd=place)
        assert result.out == "secret\nnew\n", result
        assert result.counted == ["read"]
        (place / "secrets/deep/new").unlink()
    result = guard(*words, "--deny-read", "secrets/deep", "--", "sh", "-c", script, cwd=place)
    assert result.out == "", result


def test_readable_root(place: Path) -> None:
    """Of what can be read at all, it is a part that cannot."""
    script = "cat work/file secrets/key; ls secrets"
    words = [f"--fs-readonly={place}", "--deny-read", "secrets"]
    result = guard(*words, "--", "sh", "-c", script, cwd=place)
    assert (result.out, result.status) == ("open\n", 2), result
    assert {each["guard"] for each in result.blocked} == {"deny-read"}


@pytest.mark.parametrize("more", [[], ["--fs-readonly"]], ids=str)
def test_temporary_files(more: list[str]) -> None:
    """Those of all others are closed, those of the command are not."""
    with open_directory() as directory:
        (directory / "file").write_text("secret\n")
        script = 'echo mine > "$TMPDIR/file"; cat "$TMPDIR/file"; cat file; ls /tmp'
        words = ["--deny-read", "/tmp", "--private-tmp", *more, "--keep-status"]
        done = subprocess.run(
            [*HOTENV, "guard", *words, "--", "sh", "-c", script],
            cwd=directory,
            capture_output=True,
            timeout=LIMIT,
            check=False,
        )
    assert done.stdout == b"mine\n", done
    assert b"blocked read " in done.stderr


def test_inherited(place: Path) -> None:
    """What the command is given opened stays open."""
    words = [*HOTENV, "guard", *DENIED]
    with (place / "secrets/key").open() as file:
        for path in ("-", "/dev/stdin"):
            file.seek(0)
            done = subprocess.run(
                [*words, "cat", path], cwd=place, stdin=file, capture_output=True, timeout=LIMIT
            )
            assert (done.returncode, done.stdout) == (0, b"secret\n"), done


def test_in_another_guard(place: Path) -> None:
    """The kernel enforces it without a supervisor."""
    words = ["--keep-status", "--", *HOTENV, "guard", *DENIED, "cat", "secrets/key", "work/file"]
    result = guard(*words, cwd=place)
    assert (result.status, result.out) == (1, "open\n"), result


def test_attributes(place: Path) -> None:
    """With --fs-readonly, modes stay too, although the directory around them is open."""
    words = ["--fs-readonly", "--allow-write", ".", *DENIED]
    result = guard(*words, "chmod", "600", "work/file", "secrets/key", cwd=place)
    assert [each["guard"] for each in result.blocked if each["counts"]] == ["deny-read"], result
    assert (place / "work/file").stat().st_mode & 0o777 == 0o600
    assert (place / "secrets/key").stat().st_mode & 0o777 != 0o600


def test_lists(place: Path) -> None:
    """Directories above are opened by hotenv: only to list them, and not what is denied in them."""
    script = """
import os
top = os.open(".", os.O_RDONLY)
print(sorted(os.listdir(top))[-2:], os.get_inheritable(top))
print(os.open("work/file", os.O_RDONLY, dir_fd=top) > 0)
for call in (
    lambda: os.open("secrets/key", os.O_RDONLY, dir_fd=top),
    lambda: os.listdir("secrets"),
    lambda: os.listdir(os.path.join(os.getcwd(), "work/../secrets/deep")),
    lambda: os.mkdir("new", dir_fd=top),
):
    try:
        print(call())
    except PermissionError:
        pass
"""
    result = guard("--keep-status", *DENIED, sys.executable, "-S", "-c", script, cwd=place)
    assert result.out == "['secrets', 'work'] False\nTrue\n", result


@needs("unshare")
@needs("mount")
@pytest.mark.parametrize("where", ["other", "work/sub"])
def test_other_mounts(where: str, place: Path) -> None:
    """A directory that is mounted in another place, too, is denied there."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount")
    (place / "other").mkdir()
    script = f"mount --bind {place} {place}/{where} && exec {' '.join(HOTENV)} guard --deny-read "
    script += f"{place}/secrets -- cat {place}/{where}/secrets/key {place}/{where}/work/file"
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], capture_output=True, timeout=LIMIT, check=False
    )
    if b"mount: " in done.stderr or b"unshare: " in done.stderr:
        pytest.skip(f"no mounts here: {done.stderr.decode()}")
    assert done.stdout == b"open\n", done
    assert f"{where}/secrets/key by cat (deny-read)".encode() in done.stderr


def test_mistakes(place: Path) -> None:
    """An empty path would be the current directory."""
    result = guard("--deny-read", "", "--", "true", cwd=place)
    assert (result.status, result.err) == (2, "hotenv: --deny-read: must be a path\n")


def test_file_of_a_project(place: Path) -> None:
    """Paths are relative to its directory, and need not exist."""
    (place / "hotenv.toml").write_text('[guard]\ndeny-read = ["../none", "secrets"]\n')
    done = subprocess.run(
        [*HOTENV, "guard", "--", sys.executable, "-c", "open('../secrets/key')"],
        cwd=place / "work",
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 2
    assert f"blocked read {place}/secrets/key".encode() in done.stderr


OUTSIDE = """
import os, sys, time
pid = sys.argv[1]
def reads(path, beginning=b""):
    try:
        with open(path, "rb") as file:
            data = file.read(10)
            return bool(data) and data.startswith(beginning)
    except OSError:
        return False
child = os.fork() or os.execvp("sleep", ["sleep", "1000"])
for _ in range(1000):  # while it is being executed, it has no words
    if reads(f"/proc/{child}/cmdline", b"sleep"):
        break
    time.sleep(0.01)
print(*(
    reads(path)
    for path in (
        *(f"/proc/{pid}/{name}" for name in ("cmdline", "stat", "status", "comm", "environ")),
        f"/proc/{pid}/task/{pid}/cmdline",
        f"/proc/self/root/proc/{pid}/cmdline",
    )
))
print(*(
    reads(path)
    for path in (
        *("/proc/self/cmdline", "/proc/thread-self/status", f"/proc/{os.getpid()}/environ"),
        *(f"/proc/{child}/cmdline", f"/proc/{child}/task/{child}/stat", "/proc/meminfo"),
        *("/proc/sys/kernel/ostype", "/proc/self/fdinfo/0"),
    )
))
print(pid in os.listdir("/proc"), len(os.listdir("/proc/self/fd")) > 2)
os.kill(child, 9)
"""


def test_other_processes(tmp_path: Path) -> None:
    """With /proc, only what is about the command's own processes, and the system, is read."""
    with subprocess.Popen(["sleep", "1000"]) as other:
        words = (sys.executable, "-c", OUTSIDE, str(other.pid))
        free = subprocess.run(words, capture_output=True, check=True, text=True).stdout
        result = guard("--deny-read", "/proc", "--", *words, cwd=tmp_path)
        other.kill()
    assert free.split() == ["True"] * 17
    others, own, listed = result.out.splitlines()
    assert (set(others.split()), set(own.split()), listed) == ({"False"}, {"True"}, "True True")
    assert result.blocked[0]["guard"] == "deny-read"
