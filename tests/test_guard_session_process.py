"""A guarded command cannot get at the session: neither by hotenv nor by means of its own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from guarded import PYTHON, guard, needs_compiler, needs_guards, needs_scopes, open_directory
from guarded import probe as probe  # a fixture
from hotenv.exchange.protocol import Request, encode_request
from processes import HOTENV, connect, hotenv, serving, socket_path
from users import STRANGER, VICTIM, as_user, ask, make_directory

pytestmark = [needs_guards, needs_compiler]

SECRET = "a-very-secret-value"

FORBIDDEN = (
    "hotenv: the session of {} cannot be reached from here: connecting is not permitted "
    "(a guard or sandbox): run the command outside of it\n"
)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[int]:
    """A session in the test's directory; the process ID of its server."""
    with serving(tmp_path, f"SECRET={SECRET}\n".encode(), "--quiet") as server:
        yield server.pid


def test_the_variables(session: int, tmp_path: Path) -> None:
    """The command has them, guarded or not, composed or not."""
    script = 'test "$SECRET" = a-very-secret-value && test "$B" = 2'
    words = ["run", "--no-network", "--define", "B=2", "--isolated", "--", "sh", "-c", script]
    assert hotenv(*words, cwd=tmp_path).returncode == 0
    words = ["run", "--no-network", "--as-file", "SECRET", "--", "sh", "-c", "cat $SECRET_FILE"]
    assert hotenv(*words, cwd=tmp_path).stdout.decode() == SECRET


@pytest.mark.parametrize("words", [["run", "--", "env"], ["dump"]], ids=" ".join)
@pytest.mark.parametrize("guards", [[], ["--no-network"], ["--fs-readonly"]], ids=str)
@pytest.mark.usefixtures("unmeasured")
def test_by_hotenv(words: list[str], guards: list[str], session: int, tmp_path: Path) -> None:
    """hotenv itself is as confined as any other program."""
    assert SECRET in hotenv(*words, cwd=tmp_path).stdout.decode()
    result = guard(*guards, "--", *HOTENV, *words, cwd=tmp_path)
    assert result.status == 2, result
    assert SECRET not in result.out
    assert result.counted == ["connect"]
    assert FORBIDDEN.format(tmp_path) in result.err


@pytest.mark.parametrize("way", ["path", "name", "link", "hard link", "bound elsewhere"])
def test_by_its_socket(way: str, session: int, probe: str, tmp_path: Path, runtime: Path) -> None:
    """No exception opens it, whatever path leads there."""
    path = socket_path(tmp_path)
    allowed = runtime
    if way == "name":
        path = path.parent / ".." / path.parent.name / path.name
    elif way == "link":
        (runtime / "link").symlink_to(path)
        path = runtime / "link"
    elif way == "hard link":
        os.link(path, runtime / "other")
        path = runtime / "other"
    elif way == "bound elsewhere":
        allowed = Path("/")
    result = guard("--allow-unix", str(allowed), "--", probe, "unix", str(path), cwd=tmp_path)
    assert (result.status, result.counted) == (2, ["connect"]), result
    assert "allow it with" not in result.err


RENAME = """
import os, socket, sys
path, new, request = sys.argv[1:]
os.rename(path, new)
one = socket.socket(socket.AF_UNIX)
one.connect(new)
one.sendall(os.fsencode(request) + b"\\n")
print(one.recv(1000))
"""


def moves_its_socket(cwd: Path, folder: Path, options: list[str], command: list[str]) -> None:
    """Start a session in ``cwd`` and a guarded command that moves its socket, and connects."""
    new = str(folder / "x") if options[0] == "--allow-unix" else "$TMPDIR/x"
    request = encode_request(Request("dump", ())).decode().removesuffix("\n")
    text = f"SECRET={SECRET}\n".encode()
    with serving(cwd, text, "--allow-confined", command=command):
        shell = f'exec {PYTHON} -c "$1" "$2" "{new}" "$3"'
        words = ["sh", "-c", shell, "sh", RENAME, str(socket_path(cwd)), request]
        result = guard(*options, "--", *words, cwd=cwd, command=command)
    assert (result.status, result.counted) == (2, ["connect"]), result
    assert "allow it with" not in result.err
    assert SECRET not in result.out


@pytest.mark.parametrize("options", [["--private-tmp"], ["--allow-unix", "RUNTIME"]], ids=str)
def test_by_another_name(options: list[str], tmp_path: Path, runtime: Path) -> None:
    """A socket keeps the name that its server gave it, wherever it is moved."""
    options = [option.replace("RUNTIME", str(runtime)) for option in options]
    moves_its_socket(tmp_path, runtime, options, HOTENV)


TAKE_THE_PLACE = """
import os, socket, sys
path, new = sys.argv[1:]
one = socket.socket(socket.AF_UNIX)
one.bind(new)
one.listen()
os.rename(new, path)
print("moved", flush=True)
sys.stdin.read()
"""


def test_its_socket_in_the_place(session: int, tmp_path: Path, runtime: Path) -> None:
    """Another client does not take the command for the server, and asks it for nothing."""
    words = [PYTHON, "-c", TAKE_THE_PLACE, str(socket_path(tmp_path)), str(runtime / "x")]
    command = [*HOTENV, "guard", "--allow-unix", str(runtime), "--", *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as impostor:
        assert impostor.stdout is not None
        assert impostor.stdout.readline() == b"moved\n"
        result = hotenv("dump", cwd=tmp_path)
        assert (result.returncode, result.stdout) == (4, b"")
        assert "another socket has taken the place of " in result.stderr.decode()
        impostor.communicate()
    assert impostor.returncode == 0
    assert hotenv("serve", "--force", "--detach", cwd=tmp_path, stdin=b"A=1\n").returncode == 0
    assert hotenv("dump", cwd=tmp_path).stdout == b"A=1\n"
    assert hotenv("stop", cwd=tmp_path).returncode == 0


@needs_scopes
@pytest.mark.parametrize("way", ["environ", "maps", "memory", "ptrace", "descriptor", "kill"])
def test_by_the_process(way: str, session: int, probe: str, tmp_path: Path) -> None:
    """Nor the server, nor another command that has the variables."""
    command = [*HOTENV, "run", "--", "sleep", "1000"]
    with subprocess.Popen(command, cwd=tmp_path) as other:
        try:
            for process in (session, other.pid):
                words = ["--keep-status", "--", probe, way, str(process)]
                assert guard(*words, cwd=tmp_path).status in (1, 13)
        finally:
            other.kill()


def test_a_connection_of_its_parent(session: int, tmp_path: Path) -> None:
    """Whoever asks through one asks as the process that has opened it."""
    with connect(tmp_path) as one:
        fds = [one.fileno()]
        result = guard("--", "true", cwd=tmp_path, pass_fds=fds)
    assert result.status == 8
    assert f"a connection to a session as descriptor {fds[0]}: close it first" in result.err


def test_what_is_reported(session: int, tmp_path: Path) -> None:
    """No value of the session, and no argument."""
    words = ["run", "--fs-readonly", "--trace", "--report", "report.json", "--", PYTHON, "-c"]
    result = hotenv(*words, f"open('new', 'w') # {SECRET}", cwd=tmp_path)
    assert result.returncode == 2
    assert SECRET not in (tmp_path / "report.json").read_text() + result.stderr.decode()


WAYS = """
import ctypes, os, socket
from contextlib import suppress
value = os.environ["SECRET"]
for try_it in (
    lambda: open(f"new-{value}", "w"),
    lambda: os.mkdir(value + "-folder"),
    lambda: socket.socket(socket.AF_UNIX).connect("\\0" + value),
    lambda: ctypes.CDLL(None).prctl(15, value.encode()),  # PR_SET_NAME
    lambda: open("new", "w"),
    lambda: os.execv(value, ["x"]),
):
    with suppress(OSError):
        try_it()
"""


@pytest.mark.parametrize("guards", [["--fs-readonly"], ["--no-subprocess"]], ids=str)
def test_values_in_what_is_reported(guards: list[str], session: int, tmp_path: Path) -> None:
    """Whatever the command does with a value, its name is shown."""
    (tmp_path / SECRET).touch(mode=0o700)
    words = ["run", *guards, "--trace", "--report", "report.json", "--", PYTHON, "-c", WAYS]
    result = hotenv(*words, cwd=tmp_path)
    assert result.returncode == 2
    told = result.stderr.decode()
    assert "hotenv: blocked connect @[SECRET] by python" in told
    if guards == ["--fs-readonly"]:
        assert f"[hotenv] blocked write path={tmp_path}/new-[SECRET] program=" in told
        assert f"hotenv: blocked create {tmp_path}/[SECRET]-folder by " in told
    else:
        assert "hotenv: blocked exec [SECRET] by [SECRET] (no-subprocess)" in told
    assert SECRET[:4] not in (tmp_path / "report.json").read_text() + told


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
class TestAnotherUser:
    """All of it works without root."""

    @pytest.fixture
    def place(self) -> Iterator[Path]:
        """A directory of the user's."""
        with open_directory() as directory:
            yield make_directory(directory / "place", VICTIM, 0o700)

    @pytest.mark.parametrize(
        ("words", "status"),
        [
            (["--no-network", "--", "PROBE", "tcp", "9"], 2),
            (["--no-network", "--", "PROBE", "udp", "9", "sendmsg"], 2),
            (["--no-subprocess", "--", "PROBE", "clone"], 2),
            (["--no-subprocess", "--", "PROBE", "thread"], 0),
            (["--fs-readonly", "--", "PROBE", "create", "new"], 2),
            (["--fs-readonly", "--", "PROBE", "chmod", "."], 2),
            (["--fs-readonly", "--", "PROBE", "create", "/new"], 13),
            (["--fs-readonly", "--", "PROBE", "chmod", "/etc/passwd"], 1),
            (["--fs-readonly", "--allow-write", ".", "--", "PROBE", "create", "new"], 0),
            (["--fs-readonly", "--allow-write", ".", "--", "PROBE", "chmod", "."], 0),
            (["--", "PROBE", "unshare"], 2),
            (["--", "PROBE", "thread"], 0),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, list) else "",
    )
    def test_guards(self, words: list[str], status: int, probe: str, place: Path) -> None:
        """What is refused to a user, and what is not."""
        words = [word.replace("PROBE", probe) for word in words]
        result = ask(VICTIM, "guard", *words, cwd=place)
        assert result.returncode == status, result

    def test_files_of_others(self, probe: str, place: Path) -> None:
        """A supervisor has no rights that the command has not."""
        (place / "file").touch()
        os.chown(place / "file", STRANGER, STRANGER)
        for way in ("chmod", "chown", "utime", "write"):
            words = ["--fs-readonly", "--allow-write", ".", "--", probe, way, "file"]
            assert ask(VICTIM, "guard", *words, cwd=place).returncode in (1, 13)

    def test_another_name(self, place: Path) -> None:
        """The session of a user, whose socket is moved into a folder that is open."""
        command = as_user(VICTIM, XDG_RUNTIME_DIR=place)
        moves_its_socket(place, place, ["--allow-unix", str(place)], command)

    def test_processes_of_its_own(self, probe: str, place: Path) -> None:
        """A process of the same user outside is not reached."""
        with subprocess.Popen(["sleep", "1000"], user=VICTIM) as other:
            try:
                for way in ("kill", "limit", "priority", "memory", "environ", "descriptor"):
                    words = ["--keep-status", "--", probe, way, str(other.pid)]
                    result = ask(VICTIM, "guard", *words, cwd=place)
                    assert result.returncode in (1, 13), (way, result)
            finally:
                other.kill()


def test_a_guard_in_a_guard(probe: str, tmp_path: Path) -> None:
    """The inner one enforces without counting, and says so; the outer one counts its own."""
    inner = [*HOTENV, "guard", "--fs-readonly", "--"]
    result = guard("--no-network", "--", *inner, probe, "create", "new", cwd=tmp_path)
    assert result.status == 13, result
    assert "hotenv: note: inside another guard or sandbox, refusals" in result.err
    assert not (tmp_path / "new").exists()
    result = guard("--no-network", "--", *inner, probe, "tcp", "9", cwd=tmp_path)
    assert (result.status, result.counted) == (2, ["connect"]), result
    inner = [*HOTENV, "guard", "--no-network", "--"]
    for words in (["tcp", "9"], ["udp", "9", "sendto"], ["unix", "/run/x"], ["chmod", "."]):
        result = guard("--fs-readonly", "--", *inner, probe, *words, cwd=tmp_path)
        assert result.status in (1, 2), result


@pytest.mark.parametrize("guards", [[], ["--no-network"], ["--fs-readonly"]], ids=str)
@pytest.mark.usefixtures("unmeasured")
def test_a_guard_does_nothing_that_another_blocks(guards: list[str], tmp_path: Path) -> None:
    """What it does itself is not counted against the command."""
    for outer in (["--no-network"], ["--fs-readonly"]):
        result = guard(*outer, "--", *HOTENV, "guard", *guards, "--", "true", cwd=tmp_path)
        assert (result.status, result.counted) == (0, []), result


@pytest.mark.parametrize(
    "option", [["--no-subprocess"], ["--allow-unix", "/"], ["--report", "inner.json"]], ids=str
)
def test_what_an_inner_guard_cannot_do(option: list[str], tmp_path: Path) -> None:
    """It does not start the command then."""
    result = guard("--", *HOTENV, "guard", *option, "--", "echo", "started", cwd=tmp_path)
    assert (result.status, result.out) == (8, "")
    assert f"hotenv: {option[0]} cannot be used inside another guard" in result.err


def test_without_landlock(tmp_path: Path) -> None:
    """Where the kernel lacks it, nothing starts, and the message says how to go on."""
    from seccomp import is_possible, refusing

    if not is_possible():
        pytest.skip("no filters here")
    command = [*refusing("landlock_create_ruleset", "ENOSYS"), *HOTENV]
    result = guard("--fs-readonly", "--", "echo", "started", cwd=tmp_path, command=command)
    assert (result.status, result.out) == (8, "")
    assert "lacks Landlock ABI 2 (Linux 5.19): use --best-effort to continue" in result.err
    words = ["--no-network", "--best-effort", "--", "echo", "started"]
    result = guard(*words, cwd=tmp_path, command=command)
    assert (result.status, result.out) == (0, "started\n"), result
    assert result.err.startswith("hotenv: warning: this kernel or container lacks Landlock")
