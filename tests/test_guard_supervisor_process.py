"""The supervisor of a guarded command (hotenv.guards.supervisor)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from guarded import PYTHON, needs_guards
from processes import LIMIT, serving

pytestmark = needs_guards

_TELL_IMPORTS = """
import os, sys
def tell(event, args):
    if event == "import" and open("/proc/self/comm").read() == "supervisor\\n":
        os.write(2, f"loads {args[0]}\\n".encode())
from hotenv.cli.main import main
sys.addaudithook(tell)
sys.exit(main())
"""

_COMMAND = """
import os, shutil, signal, socket, subprocess
open("file", "w").close()
def attempt(function, *args):
    try:
        function(*args)
    except OSError:
        pass
attempt(os.mkdir, "/new")
attempt(os.chmod, "/", 0)
attempt(os.kill, os.getppid(), 0)
attempt(os.setxattr, ".", b"user.name", b"value")
attempt(os.utime, ".")
attempt(os.chown, ".", os.getuid(), os.getgid())
attempt(os.link, "file", "linked")
attempt(os.rename, "linked", "/linked")
attempt(os.unlink, "linked")
attempt(os.truncate, "file", 0)
attempt(os.setpriority, os.PRIO_PGRP, 0, 1)
open(os.environ["TMPDIR"] + "/file", "w").close()
for family, kind, address in (
    (socket.AF_UNIX, socket.SOCK_STREAM, "/run/socket"),
    (socket.AF_UNIX, socket.SOCK_STREAM, "allowed"),
    (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 9)),
    (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 9)),
):
    for name in ("bind", "connect", "listen"):
        with socket.socket(family, kind) as one:
            attempt(getattr(one, name), *[] if name == "listen" else [address])
attempt(socket.socket, socket.AF_NETLINK, socket.SOCK_RAW)
attempt(socket.getaddrinfo, "x.test", 9)
subprocess.run(["true"])
"""


@pytest.mark.usefixtures("unmeasured")
@pytest.mark.parametrize("command", ["guard", "run"])
@pytest.mark.parametrize(
    "network",
    [
        pytest.param(["--no-network"], id="closed"),
        pytest.param(["--allow-localhost", "--allow-udp", "--allow-domain", "x.test"], id="open"),
    ],
)
def test_nothing_is_loaded_while_the_command_runs(
    command: str, network: list[str], tmp_path: Path
) -> None:
    """It might have changed the files that hotenv consists of."""
    (tmp_path / "allowed").mkdir()
    options = [*network, "--private-tmp", "--trace", "--report", "report"]
    options += ["--fs-readonly=/", "--allow-write", ".", "--allow-unix", "allowed"]
    words = [command, *options, "--", PYTHON, "-I", "-S", "-c", _COMMAND]
    with serving(tmp_path, b"TOKEN=long-enough\n"):
        result = subprocess.run(
            [sys.executable, "-P", "-c", _TELL_IMPORTS, *words],
            cwd=tmp_path,
            capture_output=True,
            timeout=LIMIT,
            check=False,
        )
    told = result.stderr.decode()
    assert result.returncode == 2, told
    assert "[hotenv] blocked create path=/new" in told
    assert [line for line in told.splitlines() if line.startswith("loads ")] == []
    assert '"what": "create"' in (tmp_path / "report").read_text()
