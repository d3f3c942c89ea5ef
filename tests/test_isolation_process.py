"""`hotenv run --isolated` and its neighbours as processes, with the tools that people run."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import io
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hotenv.handover.wellknown import ESSENTIALS
from processes import HOTENV, LIMIT, hotenv, needs, said, serving

PARENT = {
    "PATH": os.environ["PATH"],
    "LANG": "C.UTF-8",
    "HTTP_PROXY": "http://proxy.invalid",
    "SHADOWED": "parent",
    "BLANK": "",
}
"""What the commands in here inherit, and some of them a little more."""


@pytest.fixture
def session(directory: Path) -> Iterator[Path]:
    """A directory with a session."""
    with serving(directory, b"TOKEN=s3cret\nSHADOWED=session\nBLANK=session\n", "-q"):
        yield directory


def run(
    directory: Path, *args: str | bytes, **more: str | bytes
) -> subprocess.CompletedProcess[bytes]:
    """``hotenv run`` with ``args``, on top of PARENT and ``more``."""
    parent = {os.fsencode(n): os.fsencode(v) for n, v in (PARENT | more).items()}
    return subprocess.run(
        [*HOTENV, "run", *args], cwd=directory, env=parent, capture_output=True, timeout=LIMIT
    )


def environment(
    directory: Path, *options: str, parent: dict[bytes, bytes] | None = None
) -> dict[bytes, bytes]:
    """What a command has under ``hotenv run`` with ``options``."""
    cat = shutil.which("cat") or "cat"  # also with another PATH
    result = subprocess.run(
        # Not the script: where its path has a space, it is a shell that starts Python.
        [sys.executable, "-m", "hotenv", "run", *options, "--", cat, "/proc/self/environ"],
        cwd=directory,
        env={os.fsencode(n): os.fsencode(v) for n, v in PARENT.items()} | (parent or {}),
        capture_output=True,
        timeout=LIMIT,
    )
    assert result.stderr == b""
    assert result.returncode == 0
    pairs = (entry.partition(b"=") for entry in result.stdout.split(b"\0") if entry)
    return {name: value for name, _, value in pairs}


def test_isolated(session: Path) -> None:
    """The command has the essentials that there are, the session, and nothing else."""
    assert environment(session, "--isolated") == {
        b"PATH": PARENT["PATH"].encode(),
        b"LANG": b"C.UTF-8",
        b"TOKEN": b"s3cret",
        b"SHADOWED": b"session",
        b"BLANK": b"session",
    }


def test_all_layers(session: Path) -> None:
    """Each layer over the one below, directories made absolute and in front of PATH, in order."""
    options = ["--isolated", "--pass", "@net", "--pass", "NOPE", "--define", "SHADOWED=mine"]
    options += ["--define", "PATH=/defined", "--bin", "b", "--bin", "/a", "--except", "BLANK"]
    assert environment(session, *options) == {
        b"PATH": f"{session}/b:/a:/defined".encode(),
        b"LANG": b"C.UTF-8",
        b"HTTP_PROXY": b"http://proxy.invalid",
        b"TOKEN": b"s3cret",
        b"SHADOWED": b"mine",
    }


@pytest.mark.parametrize("isolated", [["--isolated", "--pass", "*"], ["--define", "TOKEN=t"]])
def test_bytes_survive(session: Path, isolated: list[str]) -> None:
    """What of the parent is no UTF-8 arrives byte for byte, on every locale."""
    for locale in (b"C", b"C.UTF-8", b"en_US.ISO-8859-1"):
        odd = {b"RAW\xff": b"\x80\xff", b"with space": b"x\ny", b"LC_ALL": locale}
        child = environment(session, *isolated, parent=odd)
        assert {name: child[name] for name in odd} == odd


def test_no_override(session: Path) -> None:
    """What is set already stays, an empty value included; the rest comes from the session."""
    child = environment(session, "--no-override")
    assert (child[b"SHADOWED"], child[b"BLANK"], child[b"TOKEN"]) == (b"parent", b"", b"s3cret")
    child = environment(session, "--no-override", "--isolated", "--pass", "BLANK")
    assert (child[b"SHADOWED"], child[b"BLANK"], child[b"TOKEN"]) == (b"session", b"", b"s3cret")


def test_only_and_except(session: Path) -> None:
    """run and dump take the same patterns."""
    child = environment(session, "--only", "TOKEN", "--only", "B*", "--except", "BL*")
    assert (child[b"TOKEN"], child[b"SHADOWED"], child[b"BLANK"]) == (b"s3cret", b"parent", b"")
    dump = hotenv("dump", "--only", "[BS]*", "--except", "BLANK", cwd=session)
    assert (dump.stdout, dump.stderr) == (b"SHADOWED=session\n", b"")


def test_misspelt_name_runs_nothing(session: Path) -> None:
    """Exit code 2, and the command was not started without its secret."""
    for command in (["run", "--only", "TOKEM", "--", "touch", "ran"], ["dump", "--only", "TOKEM"]):
        result = hotenv(*command, cwd=session)
        assert result.returncode == 2
        assert said(result) == "hotenv: --only 'TOKEM': no matching variable in the session"
    assert not (session / "ran").exists()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--pass", "@x"], "--pass @x: no such group, choose from @net, @tls, @ssh-agent, @xdg"),
        (["--pass", "A=1"], "--pass: name contains '='"),
        (["--define", "A"], "--define must be NAME=VALUE"),
        (["--define", "=A"], "--define: empty name"),
        (["--bin", "a:b"], "--bin {}/a:b: a directory in PATH cannot contain ':'"),
        (["--bin", ""], "--bin must not be empty"),
        (["--as-file", "A=B=C"], "--as-file: name contains '='"),
        (["--env-file", "json"], "--env-file: requires exactly one {{}} in the command: put it "),
    ],
    ids=str,
)
def test_usage_errors_come_before_the_session(
    directory: Path, options: list[str], problem: str
) -> None:
    """What cannot be meant is exit code 2, with a session or without, and names the option."""
    result = hotenv("run", *options, "--", "true", cwd=directory)
    assert result.returncode == 2
    assert said(result).startswith(f"hotenv: {problem.format(directory)}")


def test_right_usage_without_a_session(directory: Path) -> None:
    """Then that is the error."""
    assert hotenv("run", "--isolated", "--", "true", cwd=directory).returncode == 3


@pytest.mark.parametrize("options", [["--only", "TOKEN"], ["--only", "TOKEN", "--"]])
def test_words_after_the_command_are_its_own(session: Path, options: list[str]) -> None:
    """Options end at -- or at the first word that is none."""
    assert run(session, *options, "echo", "--only", "B", "--", b"\xff").stdout == (
        b"--only B -- \xff\n"
    )


def test_explain(session: Path) -> None:
    """Names, layers and reasons, sorted; no value, and nothing is run."""
    options = ["--isolated", "--pass", "LD_*", "--pass", "NOPE", "--bin", "b", "--except", "BLANK"]
    result = run(session, "--explain", *options, "--", "touch", "ran", LD_DEBUG_OUTPUT="x")
    assert result.stderr == b""
    assert result.stdout == (
        b"BLANK\tabsent\texcluded by --except BLANK\n"
        b"LANG\tessential\n"
        b"LD_DEBUG_OUTPUT\tabsent\tcan load code: name it exactly in --pass\n"
        b"NOPE\tabsent\tnot set in the environment\n"
        b"PATH\tbin\tprepended to essential\n"
        b"SHADOWED\tsession\n"
        b"TOKEN\tsession\n"
    )
    assert not (session / "ran").exists()


def test_explain_is_logged_as_what_it_is(directory: Path) -> None:
    """No command gets the variables, so the server is asked as dump does."""
    with serving(directory) as server:
        assert hotenv("run", "--explain", "--", "nothing", cwd=directory).returncode == 0
        assert server.stderr is not None
        assert b"serving" in server.stderr.readline()
        assert server.stderr.readline().endswith(b" dump -\n")


# Tools


@needs("bash")
def test_bash(session: Path) -> None:
    """bash reads no start-up file and takes no function from the parent, unless it was named."""
    (session / "start").write_text("echo injected\n")
    injected: dict[str, str | bytes] = {
        "BASH_ENV": str(session / "start"),
        "BASH_FUNC_greet%%": "() { echo injected; }",
        "BASH_COMPAT": "5.0",
    }
    command = ["--", "bash", "-c", "type -t greet; echo $TOKEN $BASH_COMPAT $HTTP_PROXY"]
    result = run(session, "--isolated", "--pass", "BASH_*", *command, **injected)
    assert result.stdout == b"s3cret 5.0\n"
    named = ["--pass", "BASH_ENV", "--pass", "BASH_FUNC_greet%%"]
    result = run(session, "--isolated", *named, *command, **injected)
    assert result.stdout == b"injected\nfunction\ns3cret\n"


@needs("git")
def test_git(session: Path) -> None:
    """git has its author by a pattern, and the configuration in the environment by name only."""
    subprocess.run(["git", "init", "-q"], cwd=session, check=True, timeout=LIMIT)
    more: dict[str, str | bytes] = {
        "HOME": str(session),
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.org",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "user.injected",
        "GIT_CONFIG_VALUE_0": "yes",
    }
    pattern = ["--isolated", "--pass", "GIT_*", "--"]
    author = run(session, *pattern, "git", "var", "GIT_AUTHOR_IDENT", **more)
    assert author.stdout.startswith(b"Ada <ada@example.org> ")
    config = ["git", "config", "user.injected"]
    assert run(session, *pattern, *config, **more).returncode == 1
    named = ["GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_0"]
    options = [word for name in named for word in ("--pass", name)]
    assert run(session, "--isolated", *options, *config, **more).stdout == b"yes\n"


@needs("make")
def test_make(session: Path) -> None:
    """make has the session's variables and the project's tools, and no flags of its parent."""
    (session / "Makefile").write_text("all:\n\t@tool $(TOKEN) $(MODE) '$(HTTP_PROXY)'\n")
    (session / "tools").mkdir()
    (session / "tools" / "tool").write_text('#!/bin/sh\necho tool "$@"\n')
    (session / "tools" / "tool").chmod(0o755)
    options = ["--isolated", "--bin", "tools", "--define", "MODE=test", "--pass", "MAKE*"]
    result = run(session, *options, "make", MAKEFLAGS="n", MAKELEVEL="0")
    assert (result.stdout, result.stderr) == (b"tool s3cret test \n", b"")


def wheel() -> tuple[str, bytes]:
    """A wheel with one empty module: its file name, and what is in it."""
    files = {
        "sample.py": b"",
        "sample-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: sample\nVersion: 1.0\n",
        "sample-1.0.dist-info/WHEEL": (
            b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        ),
    }
    record = ""
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    files["sample-1.0.dist-info/RECORD"] = f"{record}sample-1.0.dist-info/RECORD,,\n".encode()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as wheel:
        for name, data in files.items():
            wheel.writestr(name, data)
    return "sample-1.0-py3-none-any.whl", archive.getvalue()


@contextmanager
def proxy() -> Iterator[tuple[str, list[str]]]:
    """An HTTP proxy on loopback that knows one package index; its address and what was asked."""
    name, content = wheel()
    page = f'<!DOCTYPE html><html><body><a href="/{name}">{name}</a></body></html>'.encode()
    pages = {
        "http://index.invalid/simple/sample/": ("text/html", page),
        f"http://index.invalid/{name}": ("application/octet-stream", content),
    }
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            kind, body = pages.get(self.path, ("text/plain", b""))
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_request(self, *_args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.skipif(not importlib.util.find_spec("pip"), reason="pip is not installed")
def test_pip_behind_a_proxy(session: Path) -> None:
    """An isolated pip installs through the proxy of @net, and sees none of the parent's settings.

    The index has a name that cannot be looked up: what comes, comes through the proxy.
    """
    options = ["--isolated", "--pass", "@net", "--define", f"PIP_CONFIG_FILE={os.devnull}"]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    source = ["--index-url", "http://index.invalid/simple/", "--trusted-host", "index.invalid"]
    download = ["download", "--retries", "0", "--no-cache-dir", "--no-deps", *source, "sample"]
    with proxy() as (address, asked):
        more: dict[str, str | bytes] = {
            "HOME": str(session),
            "HTTP_PROXY": address,
            "http_proxy": address,
            "no_proxy": "",
            "PYTHONPATH": "/nowhere",
            "PIP_EXTRA_INDEX_URL": "http://extra.invalid/",
        }
        result = run(session, *options, "--", *pip, *download, **more)
        settings = run(session, *options, "--", *pip, "config", "list", **more)
    assert result.returncode == 0, result.stderr
    assert (session / "sample-1.0-py3-none-any.whl").exists()
    assert asked == [
        "http://index.invalid/simple/sample/",
        "http://index.invalid/sample-1.0-py3-none-any.whl",
    ]
    assert b"extra.invalid" not in settings.stdout
    assert settings.returncode == 0


def test_essentials_are_enough_for_python(session: Path) -> None:
    """A script in Python starts in isolation, and sees essential names and the session's only."""
    code = "import os; print(*sorted(os.environ))"
    result = run(session, "--isolated", "--", sys.executable, "-c", code, PYTHONPATH="/nowhere")
    names = set(result.stdout.decode().split())
    assert {"PATH", "TOKEN"} <= names
    assert names - {*ESSENTIALS} == {"TOKEN", "SHADOWED", "BLANK"}
