"""``hotenv run --redact`` without a terminal: what comes out, where, and when."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from guarded import needs_guards
from processes import HOTENV, LIMIT, hotenv, said, serving, wait_until
from supervision import gone, only_linux, python

TEXT = b"TOKEN=s3cr3t/Val+ue=42\nOTHER=0ther-value\nPORT=5432\n"


@pytest.fixture
def session(directory: Path) -> Iterator[Path]:
    """A directory with a session."""
    with serving(directory, TEXT):
        yield directory


def redacted(*command: str, cwd: Path, **options: object) -> subprocess.CompletedProcess[bytes]:
    """What a command writes."""
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [*HOTENV, "run", "--redact=TOKEN", "--", *command],
        cwd=cwd,
        timeout=LIMIT,
        **{"capture_output": True, **options},
    )


def test_streams_stay_apart(session: Path) -> None:
    """Both are redacted, each in its place; the status is the command's."""
    result = redacted("sh", "-c", 'echo "o $TOKEN"; echo "e $TOKEN" >&2; exit 3', cwd=session)
    assert (result.returncode, result.stdout, result.stderr) == (3, b"o [TOKEN]\n", b"e [TOKEN]\n")


def test_one_file_for_both(session: Path) -> None:
    """What goes to the same file is in the order in which it was written."""
    program = "for i in 1 2 3 4 5 6 7 8 9; do echo o$i; echo e$i >&2; done"
    with open("output", "wb") as output:
        options = {"stdout": output, "stderr": output, "capture_output": False}
        assert redacted("sh", "-c", program, cwd=session, **options).returncode == 0
    expected = b"".join(b"o%d\ne%d\n" % (i, i) for i in range(1, 10))
    assert Path("output").read_bytes() == expected


def test_a_file_that_has_something(session: Path) -> None:
    """The command goes on where the file ended."""
    with open("output", "wb", buffering=0) as output:
        output.write(b"before\n")
        options = {"stdout": output, "stderr": -1, "capture_output": False}
        redacted("printenv", "TOKEN", cwd=session, **options)
        output.write(b"after\n")
    assert Path("output").read_bytes() == b"before\n[TOKEN]\nafter\n"


def test_input_is_the_commands(session: Path) -> None:
    """Byte for byte, and what the command leaves is for the next one."""
    data = bytes(range(256)) * 1000
    result = redacted("cat", cwd=session, input=data)
    assert (result.returncode, result.stdout) == (0, data)
    with open("input", "wb") as file:
        file.write(b"first\nsecond\n")
    with open("input", "rb", buffering=0) as file:
        assert redacted("head", "-c", "6", cwd=session, stdin=file).stdout == b"first\n"
        assert file.read() == b"second\n"


def test_much_output(session: Path) -> None:
    """Megabytes, on both streams at once, to a reader that takes its time."""
    program = 'head -c 3000000 /dev/zero; echo "$TOKEN"; head -c 3000000 /dev/zero >&2'
    result = redacted("sh", "-c", program, cwd=session)
    assert result.stdout == bytes(3_000_000) + b"[TOKEN]\n"
    assert result.stderr == bytes(3_000_000)


def test_patterns(session: Path) -> None:
    """Without one, all variables; the names of those that are left alone are told."""
    program = ["sh", "-c", 'echo "$TOKEN $OTHER $PORT"']
    result = hotenv("run", "--redact", "--", *program, cwd=session)
    assert result.stdout == b"[TOKEN] [OTHER] 5432\n"
    assert b"hotenv: warning: not redacted" in result.stderr
    assert result.stderr.count(b"PORT") == 1
    short = hotenv("run", "--redact=PO*", "--redact-short", "--", *program, cwd=session)
    assert (short.stdout, short.stderr) == (b"s3cr3t/Val+ue=42 0ther-value [PORT]\n", b"")
    both = hotenv("run", "--redact=T*", "--redact=O*", "--", *program, cwd=session)
    assert (both.stdout, both.stderr) == (b"[TOKEN] [OTHER] 5432\n", b"")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--redact=X", "--", "true"], "--redact 'X': no matching variable in the session"),
        (["--redact", "true"], "put '--' between the options and the command"),
        (["--redact", "--"], "missing command after '--'"),
        (["--redact=A=B", "--", "true"], "PATTERN is for names and must not contain '='"),
    ],
)
def test_usage_errors(args: list[str], message: str, session: Path) -> None:
    """One line, and nothing is started."""
    result = hotenv("run", *args, cwd=session)
    assert result.returncode == 2
    assert said(result) == f"hotenv: {message}"


def test_with_layers(session: Path) -> None:
    """What the command does not get is redacted too: it may come from elsewhere."""
    args = ["--only", "OTHER", "--redact", "--redact-short", "--"]
    result = hotenv("run", *args, "echo", "s3cr3t/Val+ue=42", cwd=session)
    assert result.stdout == b"[TOKEN]\n"


@needs_guards
def test_with_guards(session: Path) -> None:
    """Both at once: what is blocked is told, and what is written is redacted."""
    program = 'echo "$TOKEN"; echo x > file'
    args = ["--redact=TOKEN", "--fs-readonly", "--", "sh", "-c", program]
    result = hotenv("run", *args, cwd=session)
    assert result.returncode == 2
    assert result.stdout == b"[TOKEN]\n"
    assert b"hotenv: blocked write" in result.stderr
    assert not Path("file").exists()


def test_a_prompt(session: Path) -> None:
    """The beginning of a value appears while the command waits, as may any prompt."""
    program = 'printf "what s3c"; read -r line; printf "r3t/$line"'
    command = [*HOTENV, "run", "--redact=TOKEN", "--", "sh", "-c", program]
    with subprocess.Popen(command, cwd=session, stdin=-1, stdout=-1, bufsize=0) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        shown = b""
        while shown != b"what s3c":
            shown += process.stdout.read(1)
        process.stdin.write(b"Val+ue=42\n")
        assert process.stdout.read() == b"[TOKEN]"
        assert process.wait(LIMIT) == 0


@pytest.mark.parametrize("stream", [1, 2])
@only_linux
def test_a_disk_that_is_full(session: Path, stream: int) -> None:
    """What could not be written is lost, which no status of the command would tell."""
    with open("/dev/full", "wb") as full:
        streams = {"stdout": full} if stream == 1 else {"stderr": full}
        options = {"capture_output": False, "stdout": -1, "stderr": -1, **streams}
        result = redacted("sh", "-c", f"echo a >&{stream}", cwd=session, **options)
    assert result.returncode == 8
    if stream == 1:
        line = b"hotenv: cannot write to standard output: no space left on device\n"
        assert result.stderr == line


def test_a_reader_that_goes_away(session: Path) -> None:
    """The command gets SIGPIPE, be it in the midst of writing or silent before."""
    words = " ".join(HOTENV)
    script = f"{{ {words} run --redact=TOKEN -- yes; echo $? >&2; }} | head -1"
    result = subprocess.run(["sh", "-c", script], cwd=session, capture_output=True, timeout=LIMIT)
    assert (result.stdout, result.stderr) == (b"y\n", b"141\n")


@only_linux
def test_a_reader_that_goes_away_in_silence(session: Path) -> None:
    """The command can see it, as tail -f does, which writes nothing."""
    Path("log").write_text("line\n")
    command = [*HOTENV, "run", "--redact=TOKEN", "--", "tail", "-f", "log"]
    with subprocess.Popen(command, cwd=session, stdout=-1) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"line\n"
        process.stdout.close()
        process.wait(LIMIT)


def test_output_after_the_end(session: Path) -> None:
    """What the command leaves in the background is redacted for as long as it writes."""
    os.mkfifo("fifo")
    program = '{ read -r line < fifo; echo "late $TOKEN"; } & echo "pid $!"; exit 4'
    command = [*HOTENV, "run", "--redact=TOKEN", "--", "sh", "-c", program]
    with subprocess.Popen(command, cwd=session, stdout=-1) as process:
        assert process.stdout is not None
        late = int(process.stdout.readline().split()[1])
        assert process.wait(LIMIT) == 4
        Path("fifo").write_text("go\n")
        assert process.stdout.read() == b"late [TOKEN]\n"
    wait_until(lambda: gone(late), "the end of the background process")


def test_nothing_of_the_commands_is_held(session: Path) -> None:
    """A stream that the command closes is closed for its reader."""
    read, write = os.pipe()
    code = "os.close(1); sys.stdin.read()"
    command = [*HOTENV, "run", "--redact=TOKEN", "--", *python(code)]
    with subprocess.Popen(command, cwd=session, stdin=-1, stdout=write) as process:
        os.close(write)
        with open(read, "rb") as reader:
            assert reader.read() == b""
        process.communicate(timeout=LIMIT)
        assert process.returncode == 0


def test_closed_streams_and_null(session: Path) -> None:
    """What has no reader stays as it is."""
    code = """
import stat
say(*[stat.S_ISCHR(os.fstat(1).st_mode), stat.S_ISFIFO(os.fstat(2).st_mode)])
os.write(2, b"%d %d" % (stat.S_ISCHR(os.fstat(1).st_mode), stat.S_ISFIFO(os.fstat(2).st_mode)))
"""
    result = redacted(
        *python(code), cwd=session, stdout=subprocess.DEVNULL, stderr=-1, capture_output=False
    )
    assert (result.returncode, result.stderr) == (0, b"1 1")


def test_dump_has_no_redaction(session: Path) -> None:
    """It is there to print values."""
    assert hotenv("dump", "--redact", cwd=session).returncode == 2


def test_the_reader_of_a_pipe_that_is_full(session: Path) -> None:
    """The command waits as it would without hotenv, and can still be ended."""
    read, write = os.pipe()
    command = [*HOTENV, "run", "--redact=TOKEN", "--", "yes"]
    with subprocess.Popen(command, cwd=session, stdout=write) as process:
        os.close(write)
        assert os.read(read, 2) == b"y\n"
        process.terminate()
        assert process.wait(LIMIT) == -signal.SIGTERM
        os.close(read)
