"""Command sessions: what commands do to a shell, and that the next one is right all the same."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
import trio

import hotenv
from hotenv.shell import framing, session
from hotenv.shell.processes import descendants
from processes import LIMIT, needs

pytestmark = [
    needs("bash"),
    pytest.mark.skipif(sys.platform != "linux", reason="command sessions need Linux"),
]

BIN = os.path.dirname(shutil.which("bash") or "/bin/bash")
ENV = {"PATH": f"{BIN}:/usr/bin:/bin", "A": "secret", "LC_ALL": "C.UTF-8"}


@asynccontextmanager
async def shell(**options: object) -> AsyncIterator[hotenv.Shell]:
    """A shell that gives up on nothing because the machine is slow."""
    given = {"env": ENV, "timeout": LIMIT, "grace": LIMIT, **options}
    async with hotenv.open_shell(**given) as opened:  # type: ignore[arg-type]
        yield opened


async def is_sound(opened: hotenv.Shell, *, restarted: bool) -> bool:
    """Whether the next command is right, whatever has become of builtins and variables."""
    result = await opened.run("/bin/sh -c 'echo AFTER; echo too >&2; exit 7'")
    assert (result.stdout, result.stderr, result.exit_code) == (b"AFTER\n", b"too\n", 7)
    assert (result.late_stdout, result.late_stderr) == (b"", b"")
    return result.restarted == restarted


def alone(command: str, cwd: str | None = None) -> tuple[bytes, int]:
    """What ``bash -c`` gives."""
    done = subprocess.run(
        ["bash", "-c", command],
        env=ENV,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=LIMIT,
    )
    code = done.returncode
    return done.stdout, code if code >= 0 else 128 - code


@pytest.mark.parametrize(
    "command",
    [
        "echo hi # comment",
        "cat <<END\na $A\nEND",
        "cat <<END\na",
        "cat <<'END'\n$A 'b\nEND\necho c",
        "for i in 1 2; do echo $i; done",
        "",
        "\n\n# nothing\n",
        "echo a \\",
        "echo a \\\n",
        "echo 'a",
        'echo "a',
        "echo $(echo a",
        "echo )",
        "if true",
        "}",
        "echo a\necho b)",
        "nosuchprogram",
        "/",
        "false | true; echo ${PIPESTATUS[*]}",
        "break; continue; echo a",
        "return 3",
        "exec >/dev/null; echo a",
        "exec <&- >&- 2>&-",
        'printf() { echo mine; }; echo() { builtin echo "$@"; }; read() { :; }; printf',
        "exit() { :; }; export() { :; }; cd() { :; }; exec() { :; }; exit 4",
        "alias builtin=false eval=false; shopt -s expand_aliases",
        "PS1='$ '; PROMPT_COMMAND='echo prompt'; PS4='x '",
        "stty echo",
        "read x; echo $?",
        "cat; cat",
        "printf 'a\\0\\xff\\r\\n\\n'",
        "printf '\\n\\n x'",
        'IFS=0123456789; echo "$IFS"; false',
        "set -f; set -u; set -C; set -k; set -o pipefail",
        "readonly PWD OLDPWD A; A=1",
        "unset PATH; type cat",
        "enable -n printf echo read cd exit; type -t printf",
        "exec 4</dev/null 5>/dev/null",
        "trap '' PIPE INT TERM HUP",
        "trap 'echo err' ERR; set -ET; false",
        "trap 'echo debug' DEBUG; echo a",
        "set -x; echo a",
        "set -v; echo a",
        "umask 777; set -m",
        "ulimit -f 0",
        "coproc cat; echo ${COPROC_PID:+there}",
        "eval 'echo a'; . /dev/null; true & wait $!",
        "x=$(cat <<END\na\nEND\n); echo $x",
        "echo 1 2 3 | while read -r a b; do echo $b; done",
        "echo a >/dev/stderr; echo b >/dev/stdout",
        "jobs; trap; history",
        "(exit 300)",
        "kill -TERM $BASHPID & wait $!",
    ],
)
async def test_the_shell_lives_on(command: str) -> None:
    """A command gives what ``bash -c`` gives, and the next is right in the same shell."""
    async with shell() as opened:
        result = await opened.run(command)
        assert (result.stdout, result.exit_code) == alone(command)
        assert not result.timed_out
        await opened.run("set +xv; trap - DEBUG ERR")  # they tell of the next command
        assert await is_sound(opened, restarted=False)


@pytest.mark.parametrize(
    "command",
    [
        "exit 3",
        "exit",
        "false; exit",
        "set -e; false",
        "set -e; echo a; false; echo b",
        "exec sh -c 'echo a; exit 5'",
        "exec sleep 0",
        "kill -9 $$",
        "kill $$; sleep 1000",
        "trap 'echo bye' EXIT; exit 3",
        "trap 'echo bye > /dev/null' EXIT; set -e; false",
        "trap 'echo bye >&2; exit 9' EXIT; exit 3",
        "exec nosuchprogram",
        "set -n; echo a",
        "set -t",
        "sleep 1000 & exit 3",
    ],
)
async def test_the_shell_ends(command: str) -> None:
    """A command that ends the shell has its output and code, and the next is right in a new one."""
    async with shell() as opened:
        result = await opened.run(command)
        assert (result.stdout, result.exit_code) == alone(command.replace("sleep 1000 &", ""))
        assert not result.timed_out
        assert await is_sound(opened, restarted=True)


@pytest.mark.parametrize("command", ["set -u; echo $nothing", "echo ${nothing?}; echo a"])
async def test_unset_variables(command: str) -> None:
    """They end the shell with the code that they end a script with, which is not that of -c."""
    async with shell() as opened:
        result = await opened.run(command)
        assert (result.stdout, result.exit_code) == (b"", 1)
        assert await is_sound(opened, restarted=True)


@pytest.mark.parametrize(
    "command",
    [
        "shopt -s extdebug; trap false DEBUG",
        "set -r",
        "builtin() { :; }",
        "declare() { :; }; enable -n declare",
        "enable -n eval",
        "enable -n builtin",
        "ulimit -n 10",
        "ulimit -n 4",
        "ulimit -n 0",
        "exec 10<&- 11>&- 12>&-",
        "exec </dev/null; exec 255<&-",
    ],
)
async def test_the_shell_cannot_go_on(command: str) -> None:
    """What leaves the shell unable to report or to run another command ends it, and at once."""
    async with shell() as opened:
        result = await opened.run(command)
        assert not result.timed_out
        await is_sound(opened, restarted=True)


async def test_lines_for_the_shell_are_forged() -> None:
    """They are run behind the end of the command, by which it can have no other result."""
    async with shell() as opened:
        result = await opened.run("for f in /proc/$$/fd/1?; do echo 'exit 77' > $f; done; false")
        assert (result.stdout, result.exit_code) == (b"", 1)
        assert await is_sound(opened, restarted=True)


@pytest.mark.parametrize("report", ["", "> $P/77;"])
async def test_a_report_is_forged(report: str) -> None:
    """A command may lie about itself, but not about the next one."""
    async with shell() as opened:
        await opened.run(f"P=$(dirname $(readlink /proc/$$/fd/1)); {report} > $P/done; sleep 0.1")
        await is_sound(opened, restarted=True)


async def test_streams() -> None:
    """Both outputs are apart, byte for byte, and no file of ours is open in a command."""
    async with shell() as opened:
        result = await opened.run("printf 'a\\0\\n'; printf '\\377b' >&2; exit_code=3; (exit 3)")
        assert (result.stdout, result.stderr) == (b"a\0\n", b"\xffb")
        assert (result.stdout_text, result.stderr_text) == ("a\0\n", "\ufffdb")
        result = await opened.run("sh -c 'ls -l /proc/$$/fd'")
        assert len(result.stdout.splitlines()) == 4


async def test_nothing_of_ours() -> None:
    """Neither variables, functions, aliases, options, traps, jobs nor history tell of hotenv."""
    command = "declare -p; declare -f; alias; shopt; set +o; trap; jobs; history; ls -a"
    async with shell(cwd="/") as opened:
        await opened.run(":")
        assert b"hotenv" not in (await opened.run(command)).stdout
        assert b"hotenv" not in (await opened.run("exit")).stdout
        result = await opened.run(command)
        assert result.restarted
        assert b"hotenv" not in result.stdout


async def test_state() -> None:
    """What one command sets, the next finds: the status, too."""
    async with shell(cwd="/") as opened:
        first = "x=1; export Y=2; a=(1 2); f() { echo f$1; }; set -f; shopt -s nullglob extglob"
        await opened.run(f"{first}; shopt -s expand_aliases; alias g='echo g'; cd /tmp; false")
        result = await opened.run("echo $? $x $Y ${a[1]} $-; f 1; g; shopt nullglob; pwd")
        assert result.stdout == b"1 1 2 2 fhBs\nf1\ng\nnullglob       \ton\n/tmp\n"
        assert result.cwd == b"/tmp"


async def test_state_in_a_new_shell(tmp_path: Path) -> None:
    """It has the directory, exported variables and functions as of the command before the end."""
    odd = tmp_path / "a\nb'\udcff"
    odd.mkdir()
    async with shell(
        cwd=tmp_path, env={**ENV, "GONE": "1", "BASH_FUNC_old%%": "() { :; }"}
    ) as opened:
        await opened.run("unset GONE; unset -f old; export B=$'\\377\\n\\'' C; f() { echo f; }")
        await opened.run('declare -i n; g() { printf %q "$B"; }; export -f g; cd a*; lost=1')
        result = await opened.run("export B=never; cd /; exit 9")
        assert (result.exit_code, result.restarted, result.cwd) == (9, False, os.fsencode(odd))
        result = await opened.run("f; bash -c g; echo $lost $GONE; type old")
        assert result.stdout == b"f\n$'\\377\\n\\''\n"
        assert (result.restarted, result.cwd) == (True, os.fsencode(odd))
        assert not (await opened.run(":")).restarted


async def test_the_first_command_ends_the_shell(tmp_path: Path) -> None:
    """The next finds what the first has found."""
    async with shell(cwd=tmp_path) as opened:
        assert (await opened.run("A=2; exit 4")).exit_code == 4
        result = await opened.run("echo $A")
        assert (result.stdout, result.cwd) == (b"secret\n", os.fsencode(tmp_path))


async def test_a_directory_that_is_removed(tmp_path: Path) -> None:
    """The shell stays there; a new one cannot."""
    async with shell(cwd=tmp_path) as opened:
        result = await opened.run("mkdir a; cd a; rmdir ../a")
        assert (result.exit_code, result.cwd) == (0, os.fsencode(tmp_path / "a"))
        result = await opened.run("echo *; exit 3")
        assert (result.stdout, result.exit_code) == (b"*\n", 3)
        assert await is_sound(opened, restarted=True)
        assert (await opened.run(":")).cwd == os.fsencode(tmp_path)


async def test_environment(tmp_path: Path) -> None:
    """Only what is given, byte for byte. Files that bash would read at its start are not read."""
    script = tmp_path / "script"
    script.write_text("echo read; sourced=1")
    env = {b"PATH": ENV["PATH"].encode(), b"BASH_ENV": bytes(script), b"B": b"\xff"}
    async with shell(env=env, redact=False) as opened:
        result = await opened.run("echo $sourced; printenv BASH_ENV B A; bash -c :")
        assert result.stdout == b"\n" + bytes(script) + b"\n\xff\nread\n"
        await opened.run("exit")
        result = await opened.run("echo $sourced; bash -c :")
        assert (result.stdout, result.restarted) == (b"\nread\n", True)


async def test_stdin() -> None:
    """What is given and nothing else, be it read or not; then the end."""
    data = bytes(range(256)) * 1000
    async with shell(max_output=None) as opened:
        assert (await opened.run("cat", stdin=data)).stdout == data
        assert (await opened.run("read -r x; echo $x; cat", stdin=b"a\nb")).stdout == b"a\nb"
        assert (await opened.run("echo a", stdin=data)).stdout == b"a\n"
        assert (await opened.run("cat")).stdout == b""
        assert (await opened.run("exit 3", stdin=data)).exit_code == 3
        assert (await opened.run("exec cat", stdin=data)).stdout == data
        assert (await opened.run(":")).restarted
        assert await is_sound(opened, restarted=False)


async def test_long_command() -> None:
    """A command may be of any length, which no argument of a program may."""
    async with shell() as opened:
        result = await opened.run(f"x='{'y' * 300_000}'; echo ${{#x}}")
        assert result.stdout == b"300000\n"


async def test_nul() -> None:
    """There is none in a command, nor anything that is no text."""
    async with shell() as opened:
        with pytest.raises(hotenv.UsageError, match="NUL"):
            await opened.run("echo a\0b")
        with pytest.raises(hotenv.UsageError, match="Unicode"):
            await opened.run("echo \ud800")
        assert await is_sound(opened, restarted=False)


async def test_late_output(tmp_path: Path) -> None:
    """What a job writes after its command is a part of its own of a later result."""
    go = tmp_path / "go"
    os.mkfifo(go)
    async with shell() as opened:
        result = await opened.run(f"(read < {go}; echo late; echo err >&2) & echo started")
        assert (result.stdout, result.late_stdout) == (b"started\n", b"")
        result = await opened.run(f"echo > {go}; wait; echo done; echo also >&2")
        assert (result.stdout, result.late_stdout) == (b"done\n", b"late\n")
        assert (result.stderr, result.late_stderr) == (b"also\n", b"err\n")
        assert await is_sound(opened, restarted=False)


async def test_late_output_is_bounded(tmp_path: Path) -> None:
    """It delays nobody, and is counted."""
    go = tmp_path / "go"
    os.mkfifo(go)
    async with shell(max_output=10) as opened:
        result = await opened.run(f"{{ read < {go}; head -c 500000 /dev/zero; }} & true")
        assert result.omitted == hotenv.OmittedOutput()
        result = await opened.run(f"echo > {go}; wait")
        assert result.late_stdout == bytes(10)
        assert result.omitted.late_stdout == hotenv.Omitted(499_990, 0, 5)


async def test_output_of_a_job_that_goes_on() -> None:
    """It is not waited for, however much it is."""
    async with shell(max_output=100) as opened:
        result = await opened.run("yes & echo started >&2")
        assert result.stderr == b"started\n"
        result = await opened.run("echo AFTER; kill %1")
        assert result.stdout == b"AFTER\n"
        assert set(result.late_stdout) <= set(b"y\n")


async def test_redirections_that_stay() -> None:
    """Descriptors above the standard streams last; what is written there is late."""
    async with shell() as opened:
        await opened.run("exec 3>&1")
        result = await opened.run("echo a; echo b >&3")
        assert (result.stdout, result.late_stdout) == (b"a\n", b"b\n")
        assert await is_sound(opened, restarted=False)


@pytest.mark.parametrize(("limit", "stdout"), [(None, 600_000), (0, 0), (1000, 1000)])
async def test_bounds(limit: int | None, stdout: int) -> None:
    """Of each stream so much is kept."""
    async with shell(max_output=limit) as opened:
        result = await opened.run("yes 12345 | head -n 100000; echo ab >&2")
        assert len(result.stdout) == stdout
        assert result.stderr == (b"" if limit == 0 else b"ab\n")
        assert result.omitted.stdout.bytes == 600_000 - stdout
        assert abs(result.omitted.stdout.lines * 6 - result.omitted.stdout.bytes) < 6
        assert result.omitted.stderr.lines == (limit == 0)


async def test_complete_output(tmp_path: Path) -> None:
    """It is in files that nobody else can read, whatever is kept."""
    out, err = tmp_path / "out", tmp_path / "err"
    err.write_text("a file for everybody, which is longer")
    err.chmod(0o666)
    async with shell(max_output=10) as opened:
        command = "yes | head -n 100000; echo a >&2"
        result = await opened.run(command, stdout_file=str(out), stderr_file=str(err))
        assert (len(result.stdout), result.stderr) == (10, b"a\n")
        assert (out.read_bytes(), err.read_bytes()) == (b"y\n" * 100_000, b"a\n")
        assert {file.stat().st_mode & 0o777 for file in (out, err)} == {0o600}
        (tmp_path / "link").symlink_to(out)
        for path in (tmp_path / "link", tmp_path / "no" / "file", tmp_path, "a\0b"):
            with pytest.raises(hotenv.UsageError, match="stdout_file: "):
                await opened.run(f"> {tmp_path}/run", stdout_file=str(path))
        assert not (tmp_path / "run").exists()
        with pytest.raises(hotenv.SystemFailureError, match="cannot write /dev/full: no space"):
            await opened.run("echo a; echo b >&2", stdout_file="/dev/full")
        assert await is_sound(opened, restarted=False)


async def test_secrecy() -> None:
    """No representation of anything shows output, a command or a value."""
    async with shell() as opened:
        result = await opened.run("echo $A; echo $A >&2; export B=$A")
        assert result.stdout == b"secret\n"
        shown = repr([result, opened, vars(vars(vars(opened)["_executor"])["_bashes"])["_state"]])
        assert "secret" not in shown
        assert "echo" not in shown


async def test_one_at_a_time() -> None:
    """Calls at the same time run one after the other."""
    async with shell() as opened:
        results: list[bytes] = []

        async def run(number: int) -> None:
            command = f"x=${{x}}a; read -r y < <(echo {number}); echo $y $x"
            results.append((await opened.run(command)).stdout)

        async with trio.open_nursery() as nursery:
            for number in range(10):
                nursery.start_soon(run, number)
        assert sorted(int(result.split()[0]) for result in results) == [*range(10)]
        assert [len(result.split()[1]) for result in results] == [*range(1, 11)]


async def test_an_exit_code_that_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an error, and never 0."""
    lines = framing.command_lines

    def without_report(*args: bytes, stdin: bool, status: int) -> bytes:
        return lines(*args, stdin=stdin, status=status).replace(b'"$?"', b"no/directory")

    async with shell() as opened:
        with monkeypatch.context() as patch:
            patch.setattr(framing, "command_lines", without_report)
            with pytest.raises(hotenv.SystemFailureError, match="make room there"):
                await opened.run("true")
        assert await is_sound(opened, restarted=False)


async def test_a_command_that_removes_files_of_ours() -> None:
    """Its exit code is lost, which is an error; the next one is right, if it can be run at all."""
    async with shell() as opened:
        place = "$(dirname $(readlink /proc/$$/fd/1))"
        with pytest.raises(hotenv.SystemFailureError, match="cannot read what the shell reports"):
            await opened.run(f"rm -r {place}")
        assert await is_sound(opened, restarted=True)
        with pytest.raises(hotenv.SystemFailureError, match="cannot read what the shell reports"):
            await opened.run(f"rm -r $(dirname {place})")
        with pytest.raises(hotenv.SystemFailureError, match="cannot make"):
            await opened.run("true")


async def test_a_closed_shell() -> None:
    """Nothing runs in it."""
    async with shell() as opened:
        pass
    with pytest.raises(hotenv.SystemFailureError, match="closed"):
        await opened.run("true")


async def test_its_own_session() -> None:
    """The shell leads a session and a process group."""
    async with shell() as opened:
        pid = int((await opened.run("echo $$")).stdout)
        assert (os.getsid(pid), os.getpgid(pid)) == (pid, pid)
        assert (await opened.run(": < /dev/tty")).exit_code == 1


async def test_errors_are_bare() -> None:
    """What the block raises is not in a group."""
    with pytest.raises(ZeroDivisionError):
        async with shell():
            raise ZeroDivisionError


async def test_no_bash(tmp_path: Path) -> None:
    """A clear error if there is none, or none that is new enough, or no such directory."""
    for version in ("4", ""):
        (tmp_path / version).mkdir(exist_ok=True)
        bash = tmp_path / version / "bash"
        bash.write_text(f"#!/bin/sh\nBASH_VERSINFO={version} exec /bin/sh\n")
        bash.chmod(0o755)
    for path, error in {
        "/nowhere": "cannot run 'bash': command not found",
        tmp_path / "4": "the first bash on PATH is version 4: put version 5",
        tmp_path: "the first bash on PATH is not bash: put version 5",
    }.items():
        with pytest.raises(hotenv.SystemFailureError, match=error):
            async with shell(env={"PATH": str(path)}):
                pass
    with pytest.raises(hotenv.SystemFailureError, match=r"/nowhere.*no such file"):
        async with shell(cwd="/nowhere"):
            pass


async def test_another_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clear error where there is no /proc as Linux has it."""
    monkeypatch.setattr("os.uname", lambda: SimpleNamespace(sysname="Darwin"))
    with pytest.raises(hotenv.SystemFailureError, match="need Linux; this is Darwin"):
        async with shell():
            pass


@pytest.mark.parametrize(
    "env", [{"": "secret"}, {"A=B": "secret"}, {"A": "secret\0"}, {b"A\0": b"secret"}]
)
async def test_an_environment_that_cannot_be(env: dict[str, str]) -> None:
    """It is an error that names the argument, and no value."""
    with pytest.raises(
        hotenv.UsageError, match=r"^env: has an empty name, a name with '='"
    ) as caught:
        async with shell(env=env):
            pass
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "options", [{"timeout": 0}, {"timeout": float("nan")}, {"max_output": -1}, {"grace": -1}]
)
async def test_limits(options: dict[str, float]) -> None:
    """A number that is none is an error that names the argument."""
    with pytest.raises(hotenv.UsageError, match=next(iter(options))):
        async with shell(**options):
            pass


async def test_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many shells at once and after each other leave no descriptor, process or directory."""
    monkeypatch.setattr(session, "_MEMORY", str(tmp_path))
    descriptors, processes = {*os.listdir("/proc/self/fd")}, descendants(os.getpid())

    async def use(number: int) -> None:
        async with shell() as opened:
            result = await opened.run(f"sleep 1000 & echo {number}; exit {number}")
            assert (result.stdout, result.exit_code) == (b"%d\n" % number, number)
            assert await is_sound(opened, restarted=True)
            assert len(os.listdir(tmp_path)) >= 1

    async with trio.open_nursery() as nursery:
        for number in range(10):
            nursery.start_soon(use, number)
    assert {*os.listdir("/proc/self/fd")} <= descriptors
    assert descendants(os.getpid()) <= processes
    assert os.listdir(tmp_path) == []


async def test_a_directory_with_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is none in memory, it is where TMPDIR says."""
    odd = tmp_path / "a 'b\n$c"
    odd.mkdir()
    monkeypatch.setattr(session, "_MEMORY", "/nowhere")
    monkeypatch.setattr("tempfile.tempdir", str(odd))
    async with shell() as opened:
        assert (await opened.run("cat; x=1", stdin=b"a")).stdout == b"a"
        await opened.run("exit")
        assert await is_sound(opened, restarted=True)
    assert os.listdir(odd) == []
