"""--fs-readonly, with its exceptions: real programs, and odd calls."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from guarded import PYTHON, freely, guard, needs_compiler, needs_guards
from guarded import probe as probe  # a fixture
from hotenv.guards.covering import all_but
from processes import HOTENV, LIMIT, needs

pytestmark = [needs_guards, needs_compiler]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with a file, a directory and a link in it."""
    place = tmp_path / "place"
    (place / "folder").mkdir(parents=True)
    (place / "file").write_text("text\n")
    (place / "link").symlink_to("file")
    return place


def snapshot(place: Path) -> dict[str, tuple[object, ...]]:
    """All that can be seen of what is in ``place``."""
    seen: dict[str, tuple[object, ...]] = {}
    for path in sorted(place.rglob("*")):
        status = path.lstat()
        kept = (status.st_mode, status.st_uid, status.st_gid, status.st_size, status.st_mtime_ns)
        attributes = os.listxattr(path, follow_symlinks=False)
        seen[str(path.relative_to(place))] = (
            *kept,
            status.st_nlink,
            status.st_ctime_ns,
            attributes,
        )
    return seen


CHANGES = [
    (["create", "new"], "write"),
    (["ensure", "new"], "write"),
    (["unnamed", "folder"], "create"),
    (["write", "file"], "write"),
    (["cut", "file"], "write"),
    (["truncate", "file"], "write"),
    (["mkdir", "new"], "create"),
    (["mkfifo", "new"], "create"),
    (["unlink", "file"], "remove"),
    (["rmdir", "folder"], "remove"),
    (["rename", "file", "new"], "rename"),
    (["link", "file", "new"], "create"),
    (["symlink", "file", "new"], "create"),
    (["chmod", "file"], "change"),
    (["fchmod", "file"], "change"),
    (["fchmodat2", "file"], "change"),
    (["chown", "file"], "change"),
    (["lchown", "link"], "change"),
    (["utime", "file"], "change"),
    (["futimens", "file"], "change"),
    (["setxattr", "file"], "change"),
    (["setxattrat", "file"], "change"),
    (["flags", "file"], "change"),
]


@pytest.mark.parametrize(("words", "what"), CHANGES, ids=lambda value: " ".join(value))
def test_changes(words: list[str], what: str, probe: str, place: Path, tmp_path: Path) -> None:
    """Each is refused, and nothing has changed; then it works without the guard."""
    command = ["env", "-C", str(place), probe, *words]
    before = snapshot(place)
    result = guard("--fs-readonly", "--", *command, cwd=tmp_path)
    assert snapshot(place) == before
    without = freely(*command, cwd=tmp_path)
    if without in (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTTY):
        pytest.skip(f"not possible here: {errno.errorcode[without]}")
    assert without == 0
    assert (result.status, result.counted) == (2, [what]), result


@pytest.mark.parametrize("words", [words for words, _ in CHANGES], ids=" ".join)
def test_exceptions(words: list[str], probe: str, place: Path, tmp_path: Path) -> None:
    """Below a directory that is excepted, all that programs do can be done."""
    command = ["env", "-C", str(place), probe, *words]
    result = guard("--fs-readonly", "--allow-write", str(place), "--", *command, cwd=tmp_path)
    if words[0] in ("setxattrat", "flags"):
        assert result.status in (2, errno.ENOSYS), result
        return
    if result.status == errno.EOPNOTSUPP:
        pytest.skip("this file system has no extended attributes")
    assert (result.status, result.blocked) == (0, []), result


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["mkdir", "folder"], errno.EEXIST),
        (["mkdir", "no/folder"], errno.ENOENT),
        (["unlink", "missing"], errno.ENOENT),
        (["unlink", "folder"], errno.EISDIR),
        (["rmdir", "file"], errno.ENOTDIR),
        (["rmdir", "../place"], errno.ENOTEMPTY),
        (["write", "missing"], errno.ENOENT),
        (["unnamed", "missing"], errno.ENOENT),
        (["unnamed", "file"], errno.ENOTDIR),
        (["create", "file"], errno.EEXIST),
        (["ensure", "folder"], errno.EISDIR),
        (["symlink", "a", "file"], errno.EEXIST),
        (["chmod", "missing"], errno.ENOENT),
        (["rename", "missing", "b"], errno.ENOENT),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_would_fail_anyway(
    words: list[str], error: int, probe: str, place: Path, tmp_path: Path
) -> None:
    """It does not count, and fails."""
    command = ["env", "-C", str(place), probe, *words]
    assert freely(*command, cwd=tmp_path) == error
    result = guard("--fs-readonly", "--", *command, cwd=tmp_path)
    assert result.status in (error, errno.EACCES), result
    assert result.counted == []


def test_a_file_without_a_name(probe: str, place: Path, tmp_path: Path) -> None:
    """What would allow it is told, and does."""
    words = ["--", probe, "unnamed", str(place)]
    result = guard("--fs-readonly", *words, cwd=tmp_path)
    assert [each["remedy"] for each in result.blocked] == [f"--allow-write {place}"]
    result = guard("--fs-readonly", "--allow-write", str(place), *words, cwd=tmp_path)
    assert (result.status, result.blocked) == (0, []), result


def test_what_is_there_already(probe: str, place: Path, tmp_path: Path) -> None:
    """To open it for reading, and to create it if it were not there, changes nothing."""
    words = [probe, "ensure", str(place / "file")]
    assert guard("--fs-readonly", "--", *words, cwd=tmp_path).status == 0
    (tmp_path / "root").mkdir()
    guards = [f"--fs-readonly={tmp_path}/root", "--allow-read", probe]
    result = guard(*guards, "--", *words, cwd=tmp_path)
    assert (result.status, result.counted) == (2, ["read"]), result


def test_links_out_of_an_exception(probe: str, place: Path, tmp_path: Path) -> None:
    """What counts is where a file is, and not which way leads there."""
    (tmp_path / "outside").write_text("text\n")
    (place / "out").symlink_to(tmp_path / "outside")
    status = (tmp_path / "outside").stat()
    for words in (["write"], ["cut"], ["chmod"], ["utime"], ["truncate"]):
        command = [probe, *words, str(place / "out")]
        result = guard("--fs-readonly", "--allow-write", str(place), "--", *command, cwd=tmp_path)
        assert result.status == 2, result
    assert (tmp_path / "outside").stat() == status
    for words in (["rename", "../outside", "in"], ["link", "../outside", "in"]):
        command = ["env", "-C", str(place), probe, *words]
        result = guard("--fs-readonly", "--allow-write", str(place), "--", *command, cwd=tmp_path)
        assert result.status == 2, result
    assert (tmp_path / "outside").stat() == status


def test_one_file(probe: str, place: Path, tmp_path: Path) -> None:
    """An exception can be a file, and is not its neighbours then."""
    words = ["--fs-readonly", "--allow-write", str(place / "file"), "--", probe, "write"]
    assert guard(*words, str(place / "file"), cwd=tmp_path).status == 0
    (place / "other").touch()
    assert guard(*words, str(place / "other"), cwd=tmp_path).status == 2


@pytest.mark.parametrize("option", ["--allow-write", "--allow-read", "--allow-unix"])
def test_exceptions_that_are_not_there(option: str, tmp_path: Path) -> None:
    """A path that is made later would be any path."""
    result = guard("--fs-readonly=.", option, "missing", "--", "true", cwd=tmp_path)
    assert result.status == 2
    assert result.err == f"hotenv: {option} missing: no such file or directory: create it first\n"


def test_devices_and_streams(place: Path, tmp_path: Path) -> None:
    """/dev/null and its like, and what the command was started with, also by another path."""
    script = "echo a > /dev/null; echo b > /dev/stdout; echo c >&2; echo d > /dev/stderr"
    with open(place / "out", "w") as out:
        done = subprocess.run(
            [
                sys.executable,
                "-P",
                "-m",
                "hotenv",
                "guard",
                "--fs-readonly",
                "--",
                "sh",
                "-c",
                script,
            ],
            cwd=tmp_path,
            stdout=out,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, b"c\nd\n")
    assert (place / "out").read_text() == "b\n"


@pytest.mark.parametrize("root", [True, False])
def test_reading(root: bool, probe: str, place: Path, tmp_path: Path) -> None:
    """With a root, what is in it can be read, and the system; without one, everything."""
    (tmp_path / "secret").touch()
    words = [f"--fs-readonly={place}" if root else "--fs-readonly", "--allow-read", probe, "--"]
    if not root:
        words.remove("--allow-read")
        words.remove(probe)
    for path, status in ((place / "file", 0), (Path("/etc/passwd"), 0), (tmp_path / "secret", 2)):
        result = guard(*words, probe, "read", str(path), cwd=tmp_path)
        assert result.status == (status if root else 0), result
        assert result.counted == (["read"] if root and status else [])
    if root:
        assert f"allow it with --allow-read {tmp_path}/secret" in result.err


def test_an_exception_itself(place: Path, tmp_path: Path) -> None:
    """What is in it may be changed. To remove or rename it would change the directory above."""
    for words in (["rm", "-r", str(place)], ["mv", str(place), str(tmp_path / "new")]):
        result = guard("--fs-readonly", "--allow-write", str(place), "--", *words, cwd=tmp_path)
        assert (result.status, len(result.counted)) == (2, 1), result
        assert place.is_dir()
        (place / "file").touch()
    words = ["--allow-write", str(place / "file"), "--", "rm", str(place / "file")]
    assert guard("--fs-readonly", *words, cwd=tmp_path).counted == ["remove"]


def test_renames_that_would_fail(place: Path, tmp_path: Path) -> None:
    """mv tries to replace the directory first, which no guard has to refuse."""
    words = ["--allow-write", str(place), "--", "mv", "folder/in", "."]
    (place / "folder" / "in").touch()
    result = guard("--fs-readonly", *words, cwd=place)
    assert (result.status, result.blocked) == (0, []), result
    script = "import os; os.rename('file', 'folder')"
    (place / "folder" / "other").touch()
    words = ["--keep-status", "--", PYTHON, "-c", script]
    result = guard("--fs-readonly", *words, cwd=place)
    assert (result.status, result.blocked) == (1, []), result


def test_executing(place: Path, tmp_path: Path) -> None:
    """A program outside of the root is not executed, and that counts."""
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho ran\n")
    program.chmod(0o755)
    (place / "none").touch()
    script = f"{program}; {place}/none; {tmp_path}/missing; true"
    result = guard(f"--fs-readonly={place}", "--", "sh", "-c", script, cwd=tmp_path)
    assert (result.status, result.out, result.counted) == (2, "", ["exec"]), result
    assert f"blocked exec {program} by sh (fs-readonly): allow it with --allow-read {program}" in (
        result.err
    )
    words = [f"--fs-readonly={place}", "--allow-read", str(program), "--"]
    result = guard(*words, "sh", "-c", script, cwd=tmp_path)
    assert (result.status, result.out) == (0, "ran\n"), result


def test_reading_what_is_inherited(place: Path, tmp_path: Path) -> None:
    """What was opened for reading can be opened again, and what was opened for writing cannot."""
    (tmp_path / "file").write_text("text\n")
    words = ["guard", f"--fs-readonly={place}", "--", "sh", "-c"]
    with open(tmp_path / "file") as file:
        done = subprocess.run(
            [*HOTENV, *words, "cat /dev/stdin"], stdin=file, capture_output=True, timeout=LIMIT
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"text\n", b"")
    with open(tmp_path / "file", "a") as file:
        command = [*words, "exec 3>&1 >&2; cat /dev/fd/3"]
        done = subprocess.run(
            [*HOTENV, *command], stdout=file, stderr=subprocess.PIPE, timeout=LIMIT
        )
    assert done.returncode == 2
    assert b"text" not in done.stderr
    assert b"blocked read " in done.stderr


@pytest.mark.parametrize("path", ["/proc/./self/cwd/file", "link/file"])
def test_links_of_the_supervisors(path: str, place: Path, tmp_path: Path) -> None:
    """What would be another file for the supervisor than for the command is not changed."""
    (place / "below").mkdir()
    (place / "below" / "file").touch()
    (place / "below" / "link").symlink_to("/proc/self/cwd")
    script = f"import os; os.chdir('below'); os.chmod('{path}', 0o640)"
    words = ["--fs-readonly", "--allow-write", str(place), "--keep-status", "--"]
    before = (place / "file").stat().st_mode
    result = guard(*words, PYTHON, "-c", script, cwd=place)
    assert result.status == 1
    assert os.strerror(errno.ELOOP) in result.err
    assert (place / "file").stat().st_mode == before


def test_devices(tmp_path: Path) -> None:
    """Nobody is told to open all of them for one."""
    result = guard("--fs-readonly", "--", "sh", "-c", ": > /dev/ptmx", cwd=tmp_path)
    assert [each["remedy"] for each in result.blocked] == ["--allow-write /dev/ptmx"]
    words = ["--fs-readonly", "--allow-write", "/dev/ptmx", "--"]
    assert guard(*words, "sh", "-c", ": > /dev/ptmx", cwd=tmp_path).status == 0


def test_directories_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in there cannot be told apart: it stays closed, and the rest is open."""
    for name in ("open", "closed", "closed/settings"):
        (tmp_path / name).mkdir()
    scandir = os.scandir

    def scan(path: str) -> object:
        if path.endswith("closed"):
            raise PermissionError
        return scandir(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", scan)
        found = list(all_but([f"{tmp_path}/closed/settings"], str(tmp_path)))
    assert found == [f"{tmp_path}/open"]


def test_home_is_not_read(place: Path, tmp_path: Path) -> None:
    """With a root, git still starts: it must be able to read its configuration."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\nname = X\n")
    (home / ".netrc").write_text("secret")
    env = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    words = [f"--fs-readonly={place}", "--"]
    result = guard(*words, "cat", str(home / ".netrc"), cwd=tmp_path, env=env)
    assert (result.status, result.out) == (2, "")
    result = guard(*words, "git", "config", "user.name", cwd=tmp_path, env=env)
    assert (result.status, result.out) == (0, "X\n"), result


@needs("make")
@needs("cc")
def test_make(tmp_path: Path) -> None:
    """A build that may write one directory, and temporary files."""
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    (tmp_path / "Makefile").write_text("out/main: main.c\n\tcc -o $@ $<\n\tchmod 700 $@\n")
    (tmp_path / "out").mkdir()
    words = ["--fs-readonly", "--allow-write", "out", "--private-tmp", "--no-network"]
    result = guard(*words, "--", "make", "-s", cwd=tmp_path)
    assert (result.status, result.counted) == (0, []), result
    assert os.access(tmp_path / "out" / "main", os.X_OK)
    assert guard("--fs-readonly", "--", "make", "-sB", cwd=tmp_path).status == 2


@needs("git")
def test_git(tmp_path: Path) -> None:
    """git status does without the file that it would like to write."""
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    (tmp_path / "a").write_text("a")
    subprocess.run(["git", "add", "a"], cwd=tmp_path, check=True)
    os.utime(tmp_path / "a", (1, 1))
    result = guard("--fs-readonly", "--", "git", "status", "--short", cwd=tmp_path)
    assert (result.status, result.uncounted) == (0, ["write"]), result


def test_bytecode(tmp_path: Path) -> None:
    """Python does without its cache."""
    (tmp_path / "module.py").write_text("print('imported')\n")
    without = ["-u", "PYTHONDONTWRITEBYTECODE", "-u", "PYTHONSAFEPATH"]
    command = ["env", *without, PYTHON, "-c", "import module"]
    result = guard("--fs-readonly", "--", *command, cwd=tmp_path)
    assert (result.status, result.out, result.counted) == (0, "imported\n", []), result
    assert result.uncounted != []
    assert not (tmp_path / "__pycache__").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may change settings of the kernel")
def test_settings_of_the_kernel(probe: str, tmp_path: Path) -> None:
    """Root cannot have the kernel start a program that is not guarded."""
    path = "/proc/sys/kernel/core_pattern"
    if freely(probe, "write", path, cwd=tmp_path):
        pytest.skip("not possible here without a guard either")
    for words in (["--no-network"], ["--fs-readonly", "--allow-write", "/"]):
        result = guard("--keep-status", *words, "--", probe, "write", path, cwd=tmp_path)
        assert result.status == errno.EACCES
    result = guard("--fs-readonly", "--", probe, "write", path, cwd=tmp_path)
    assert [each["remedy"] for each in result.blocked] == [None]  # none would work


def test_settings_mounted_elsewhere(tmp_path: Path) -> None:
    """What counts is the type of the file system, not the path of it."""
    (tmp_path / "place").mkdir()
    alone = ["unshare", "--mount", *["--map-root-user"] * (os.geteuid() != 0), "sh", "-c"]
    mount = "mount --rbind /proc place"
    if freely(*alone, mount, cwd=tmp_path):
        pytest.skip("no mounts are possible here")
    script = f'{mount} && exec "$@"'
    words = ["guard", "--", "sh", "-c", "echo 0 > place/self/oom_score_adj"]
    done = subprocess.run(
        [*alone, script, "sh", *HOTENV, *words],
        cwd=tmp_path,
        capture_output=True,
        timeout=LIMIT,
    )
    assert done.returncode == 2  # of the shell
    assert os.strerror(errno.EACCES).encode() in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may write there")
def test_the_root_directory(probe: str) -> None:
    """What root loses, as the topic says: what is new in / cannot be written."""
    place = Path(tempfile.mkdtemp(dir="/"))
    new = Path(f"{place}.new")
    try:
        words = ["--keep-status", "--", "sh", "-c"]
        script = f"mkdir {new}; {probe} write {place}/file; echo $?; echo x > {new}/file"
        (place / "file").touch()
        result = guard(*words, script, cwd=place)
        assert result.out == "0\n", result
        assert (result.status, result.blocked) == (2, []), result  # of the shell
        assert new.is_dir()
    finally:
        shutil.rmtree(place)
        shutil.rmtree(new, ignore_errors=True)


def test_leases(tmp_path: Path) -> None:
    """A file that is only read does not keep others waiting either."""
    (tmp_path / "file").touch()
    script = """
import fcntl
with open("file") as file:
    fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
"""
    result = guard("--fs-readonly", "--", PYTHON, "-c", script, cwd=tmp_path)
    assert (result.status, result.counted) == (2, ["change"]), result
    result = guard("--no-network", "--", PYTHON, "-c", script, cwd=tmp_path)
    assert (result.status, result.blocked) == (0, []), result


def test_control_groups(probe: str, tmp_path: Path) -> None:
    """Never written, whatever is excepted: one of their files kills a process."""
    groups = [path for path in Path("/sys/fs/cgroup").glob("**/cgroup.procs") if os.access(path, 2)]
    if not groups or freely(probe, "write", str(groups[0]), cwd=tmp_path):
        pytest.skip("no control group can be written here")
    path = str(groups[0])
    assert guard("--keep-status", "--", probe, "write", path, cwd=tmp_path).status == errno.EACCES
    words = ["--fs-readonly", "--allow-write", "/", "--keep-status"]
    assert guard(*words, "--", probe, "write", path, cwd=tmp_path).status == errno.EACCES


def test_a_path_without_a_name(tmp_path: Path) -> None:
    """It fails without a guard, too."""
    script = "try:\n    open('', 'w')\nexcept FileNotFoundError:\n    print('none')"
    result = guard("--fs-readonly", "--", PYTHON, "-c", script, cwd=tmp_path)
    assert (result.status, result.out, result.counted) == (0, "none\n", []), result
