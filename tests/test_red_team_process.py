"""Programs that show their variables in every way they can think of, under ``run --redact``."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from processes import HOTENV, LIMIT, Terminal, needs, serving
from supervision import PYTHON

TOKEN = "s3cr3t/Val+ue=42"
PHRASE = 'p@ss "w0rd\'s" $x \\ é'
KEY = """-----BEGIN PRIVATE KEY-----
MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj
MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu
-----END PRIVATE KEY-----"""
TEXT = json.dumps({"TOKEN": TOKEN, "PHRASE": PHRASE, "KEY": KEY})

PIECES = [
    *(TOKEN[at : at + 6].encode() for at in range(len(TOKEN) - 5)),
    *(piece.encode() for piece in ("w0rd", "kqhkiG9w0", "C7VJTUt9", "S1GB4t7NX", "jNbvJZHt")),
]
"""What must not be seen."""

PROGRAMS = {
    "env": "env",
    "set": "set",
    "export": "export -p",
    "environ": "cat /proc/$$/environ",
    "strings": "cat /proc/self/environ | tr '\\0' '\\n'",
    "printenv": "printenv TOKEN PHRASE KEY",
    "trace": 'set -x; : "$TOKEN" "$PHRASE" "$KEY"',
    "base64": 'printf "user:$TOKEN" | base64; echo "x$PHRASE" | base64; echo "$KEY" | base64',
    "url": 'echo "https://user:$TOKEN@host/?q=$TOKEN#$TOKEN"',
    "sed": 'echo "$TOKEN" | sed "s/^/prefix/; s/$/suffix/"',
    "one byte": 'printf "%s" "$TOKEN" | while IFS= read -r -n 1 c; do printf "%s" "$c"; done',
    "colours": 'printf "\\033[1m%s\\033[0m%s\\n" "${TOKEN%ue=42}" "${TOKEN#s3cr3t/Val+}"',
    "progress": 'for i in 1 2 3; do printf "\\r$i $TOKEN "; done',
    "quoted": 'printf "%q\\n" "$TOKEN" "$PHRASE" "$KEY"; echo "${TOKEN@Q} ${PHRASE@Q}"',
    "error": '"/$TOKEN"; cat "$TOKEN"; cd "$TOKEN"',
    "head": 'echo "$KEY" | head -2; echo "$KEY" | tail -2',
    "heredoc": "cat <<end\n$TOKEN $PHRASE\n$KEY\nend",
}

CODES = {
    "repr": "print(dict(os.environ)); print(ascii(dict(os.environ)))",
    "bytes": "print(os.environb)",
    "json": "import json; print(json.dumps(dict(os.environ)))",
    "json as it is": "import json; json.dump({**os.environ}, sys.stdout, ensure_ascii=False)",
    "traceback": "raise ValueError(os.environ['TOKEN'], os.environ['PHRASE'])",
    "key error": "{}[os.environ['TOKEN']]",
    "hex": "print(os.environ['TOKEN'].encode().hex(), os.environb[b'KEY'].hex().upper())",
    "quote": "from urllib.parse import *; print(quote(os.environ['TOKEN'], ''))",
    "form": "from urllib.parse import *; print(urlencode(dict(os.environ)))",
    "base64": "import base64; print(base64.urlsafe_b64encode(b'??' + os.environb[b'TOKEN']))",
    "logging": "import logging; logging.basicConfig(); logging.error('%r', os.environ['PHRASE'])",
    "unbuffered": "[os.write(1, bytes([b])) for b in os.environb[b'KEY']]",
    "argparse": "import argparse; argparse.ArgumentParser().parse_args([os.environ['TOKEN']])",
}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory with a session."""
    directory = tmp_path_factory.mktemp("session")
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory(dir="/tmp") as runtime:
        patch.setenv("XDG_RUNTIME_DIR", runtime)
        with serving(directory, TEXT.encode(), "--format", "json"):
            yield directory


def check(output: bytes) -> None:
    """Names are there, and no piece of a value."""
    assert [piece for piece in PIECES if piece in output] == []
    assert b"[TOKEN]" in output or b"[PHRASE]" in output or b"[KEY]" in output


def run(*command: str, cwd: Path) -> bytes:
    """All that a command writes."""
    done = subprocess.run(
        [*HOTENV, "run", "--redact", "--", *command],
        cwd=cwd,
        capture_output=True,
        timeout=LIMIT,
        stdin=subprocess.DEVNULL,
    )
    return done.stdout + done.stderr


COMMANDS = [
    *(pytest.param(["bash", "-c", code], id=f"bash {name}") for name, code in PROGRAMS.items()),
    *(
        pytest.param([PYTHON, "-c", f"import os, sys\n{code}"], id=f"python {name}")
        for name, code in CODES.items()
    ),
]


@needs("bash")
@pytest.mark.parametrize("command", COMMANDS)
def test_programs(command: list[str], session: Path) -> None:
    """Through pipes."""
    check(run(*command, cwd=session))


@needs("bash")
@pytest.mark.parametrize("command", COMMANDS)
def test_programs_on_a_terminal(command: list[str], session: Path) -> None:
    """The same where there is a terminal in between."""
    terminal = Terminal([*HOTENV, "run", "--redact", "--", *command], session)
    terminal.wait()
    check(terminal.screen)


@needs("xxd")
def test_xxd(session: Path) -> None:
    """Hexadecimal in lines, in both cases."""
    check(run("sh", "-c", 'echo "$KEY" | xxd -p; echo "$TOKEN" | xxd -p -u -c 7', cwd=session))


def test_both_streams(session: Path) -> None:
    """On a terminal it does not matter which one a part of a value is written to."""
    code = """
import os
for at, byte in enumerate(os.environb[b"TOKEN"]):
    os.write(1 + at % 2, bytes([byte]))
"""
    terminal = Terminal([*HOTENV, "run", "--redact", "--", PYTHON, "-c", code], session)
    terminal.wait()
    check(terminal.screen)


@needs("git")
def test_git(session: Path) -> None:
    """A URL with a password, in an error message and in what is stored."""
    script = 'git init -q g; cd g; git remote add o "http://u:$TOKEN@127.0.0.1:1/x"; git remote -v'
    check(run("sh", "-c", f"{script}; git fetch o; cat .git/config", cwd=session))


@needs("curl")
def test_curl(session: Path) -> None:
    """Headers, as curl -v shows them, and HTTP Basic."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(LIMIT)
        threading.Thread(target=answer, args=(server, 2)).start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        options = f'-sv --noproxy "*" {url} --max-time 30'
        script = (
            f'curl {options} -H "X-Token: $TOKEN"; curl {options} -u "user:$TOKEN" -d "$PHRASE"'
        )
        check(run("sh", "-c", script, cwd=session))


def answer(server: socket.socket, times: int) -> None:
    """Answer so many requests with what they were."""
    for _ in range(times):
        connection, _ = server.accept()
        with connection:
            connection.settimeout(LIMIT)
            request = connection.recv(65536)
            connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + request)
            connection.shutdown(socket.SHUT_WR)
