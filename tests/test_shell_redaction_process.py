"""Command sessions redact: what a shell gives shows names in place of values."""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import hotenv as package
from hotenv.shell import session as sessions
from processes import LIMIT, hotenv, needs, serving, wait_until

pytestmark = needs("bash")

TOKEN = "s3cr3t/Val+ue=42"
ENV = {"PATH": os.environ["PATH"], "TOKEN": TOKEN}


@asynccontextmanager
async def shell(**options: Any) -> AsyncIterator[package.Shell]:  # noqa: ANN401 - of open_shell
    """A shell with a variable."""
    async with package.open_shell(env=ENV, **{"timeout": LIMIT} | options) as opened:
        yield opened


async def test_both_outputs() -> None:
    """In whatever form, and the command itself in the result."""
    async with shell() as opened:
        result = await opened.run(f"printf %s. $TOKEN; printf %s $TOKEN | base64 >&2 # {TOKEN}")
    assert (result.stdout, result.stderr) == (b"[TOKEN].", b"[TOKEN]g==\n")
    assert result.command == "printf %s. $TOKEN; printf %s $TOKEN | base64 >&2 # [TOKEN]"


async def test_nothing_is_redacted_if_that_is_said() -> None:
    """All comes as it is."""
    async with shell(redact=False) as opened:
        result = await opened.run(f"echo $TOKEN # {TOKEN}")
    assert (result.stdout, result.command) == (f"{TOKEN}\n".encode(), f"echo $TOKEN # {TOKEN}")


async def test_other_variables() -> None:
    """Those of a mapping instead, also if the shell does not have them."""
    async with shell(redact=package.Snapshot({"OTHER": "0ther-value"})) as opened:
        result = await opened.run("echo $TOKEN 0ther-value")
    assert result.stdout == f"{TOKEN} [OTHER]\n".encode()


async def test_what_is_known_already(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not redacted: what this process has itself, and what is essential."""
    own = "0wn-value"
    monkeypatch.setattr(sessions, "inherited_environment", lambda: {b"OWN": own.encode()})
    env = {"PATH": f"/nowhere:{os.environ['PATH']}", "OWN": own, "TOKEN": TOKEN}
    async with package.open_shell(env=env, timeout=LIMIT) as opened:
        result = await opened.run('printf "%s " "$PATH" "$OWN" "$TOKEN"')
    assert result.stdout == f"{env['PATH']} {own} [TOKEN] ".encode()


async def test_at_the_edge_of_a_bound() -> None:
    """No piece of a value remains where the output was cut."""
    for size in range(20, 60):
        async with shell(max_output=size) as opened:
            result = await opened.run("for i in {1..20}; do printf %s $TOKEN; done")
        whole = b"[TOKEN]" * 20
        assert result.omitted.stdout.bytes == len(whole) - size
        assert result.stdout == whole[: size - size // 2] + whole[len(whole) - size // 2 :]


async def test_directories(tmp_path: Path) -> None:
    """The shell is where it is, whatever is told of that."""
    async with shell(cwd=tmp_path) as opened:
        result = await opened.run("mkdir -p $TOKEN; cd $TOKEN")
        assert result.cwd == os.fsencode(tmp_path / "[TOKEN]")
        assert (await opened.run("touch here")).exit_code == 0
    assert (tmp_path / TOKEN / "here").exists()


async def test_late_output(tmp_path: Path) -> None:
    """Also a value of which the first part was in time."""
    os.mkfifo(tmp_path / "go")
    async with shell(cwd=tmp_path) as opened:
        program = "{ read < go; printf %s ${TOKEN:6}; touch done; } & printf %s ${TOKEN::6}"
        first = await opened.run(program)
        (tmp_path / "go").write_text("go\n")
        wait_until((tmp_path / "done").exists, "the late part")
        second = await opened.run("wait")
    assert (first.stdout, second.late_stdout) == (b"", b"[TOKEN]")


async def test_a_timeout() -> None:
    """What a command had begun to write is not shown either."""
    async with shell() as opened:
        result = await opened.run("printf 'a %s %s' $TOKEN ${TOKEN::3}; sleep 1000", timeout=0.5)
    assert result.timed_out
    assert result.stdout in (b"", b"a [TOKEN] s3c")


async def test_copies(tmp_path: Path) -> None:
    """Files with complete output are output too."""
    async with shell(max_output=4) as opened:
        await opened.run("echo text $TOKEN", stdout_file=str(tmp_path / "out"))
    assert (tmp_path / "out").read_bytes() == b"text [TOKEN]\n"


async def test_errors() -> None:
    """They show no value, nor does what they come from."""
    full = "/dev/full"
    async with shell(redact={"FILE": full}) as opened:
        with pytest.raises(package.SystemFailureError) as raised:
            await opened.run("echo text", stdout_file=full)
    assert str(raised.value) == "cannot write [FILE]: no space left on device"
    assert full not in "".join(traceback.format_exception(raised.value))


async def test_a_stream() -> None:
    """Each piece is redacted, and a prompt comes at once."""
    async with shell() as opened:
        program = "printf '%s ' $TOKEN; printf 'what s3c'; read -r line"
        shown = b""
        async with opened.stream(program) as running:
            async for chunk in running:
                shown += chunk.data
        assert shown == b"[TOKEN] what s3c"
        assert running.result.stdout == shown


def test_for_programs_without_trio() -> None:
    """The same."""
    for redact, shown in ((True, b"[TOKEN]\n"), (False, f"{TOKEN}\n".encode())):
        with package.open_shell_sync(env=ENV, timeout=LIMIT, redact=redact) as opened:
            assert opened.run("echo $TOKEN").stdout == shown


@pytest.fixture
def session(directory: Path) -> Iterator[Path]:
    """A directory with a session."""
    with serving(directory, f"TOKEN={TOKEN}\nPORT=5432\n".encode()):
        yield directory


def requests(*commands: str) -> bytes:
    """A line for each."""
    return b"".join(json.dumps({"command": each}).encode() + b"\n" for each in commands)


def answers(text: bytes) -> list[Mapping[str, Any]]:
    """The answers in ``text``."""
    return [json.loads(line) for line in text.splitlines()]


def test_the_command(session: Path) -> None:
    """The session's values are hidden; short ones are if that is asked for."""
    text = requests("echo $TOKEN $PORT; echo $TOKEN >&2; mkdir $PORT; cd $PORT")
    done = hotenv("shell", cwd=session, stdin=text)
    (answer,) = answers(done.stdout)
    assert (answer["stdout"], answer["stderr"]) == ("[TOKEN] 5432\n", "[TOKEN]\n")
    assert answer["cwd"] == f"{session}/5432"
    assert b"not redacted, as too short or too common: PORT" in done.stderr
    done = hotenv("shell", "--redact-short", cwd=session, stdin=text)
    assert answers(done.stdout)[0]["stdout"] == "[TOKEN] [PORT]\n"
    assert answers(done.stdout)[0]["cwd"] == f"{session}/[PORT]"
    assert b"not redacted" not in done.stderr


def test_the_command_without_redaction(session: Path) -> None:
    """All comes as it is."""
    done = hotenv("shell", "--no-redact", cwd=session, stdin=requests("echo $TOKEN"))
    assert answers(done.stdout)[0]["stdout"] == f"{TOKEN}\n"
    assert b"not redacted" not in done.stderr


def test_errors_of_the_command(directory: Path) -> None:
    """Answers that are errors show no value."""
    request = json.dumps({"command": "echo text", "stdout_file": "/dev/full"})
    with serving(directory, b"FILE=/dev/full\n"):
        done = hotenv("shell", cwd=directory, stdin=request.encode())
    assert answers(done.stdout)[0]["error"] == "cannot write [FILE]: no space left on device"
