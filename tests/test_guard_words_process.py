"""Words for people: what Python programs under a guard say (hotenv.guards.words)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import hotenv
from guarded import PYTHON, guard, needs_guards
from hotenv.guards.told import told
from hotenv.guards.verdict import Blocked
from hotenv.guards.words import FOLDER

pytestmark = needs_guards

OFFLINE = ["--no-network", "--"]
ALONE = ["--no-subprocess", "--"]


@pytest.mark.parametrize(
    ("options", "line", "words", "report"),
    [
        (
            ["--no-network"],
            "socket.create_connection(('192.0.2.1', 80))",
            "hotenv guard --no-network blocked connect 192.0.2.1:80: "
            "allow it with --allow-domain 192.0.2.1",
            "blocked connect 192.0.2.1:80 at script.py:3 by python",
        ),
        (
            ["--no-network"],
            "socket.create_connection(('127.0.0.1', 9))",
            "hotenv guard --no-network blocked connect 127.0.0.1:9: "
            "allow it with --allow-localhost",
            "blocked connect 127.0.0.1:9 at script.py:3 by python",
        ),
        (
            ["--allow-localhost"],
            "socket.getaddrinfo('Name.example.', 80)",
            "hotenv guard --no-network blocked look up Name.example.: "
            "allow it with --allow-domain Name.example.",
            "blocked look up Name.example. at script.py:3 by python",
        ),
        (
            ["--allow-domain", "192.0.2.2"],
            "socket.gethostbyname('name.example')",
            "hotenv guard --no-network blocked look up name.example: "
            "allow it with --allow-domain name.example",
            "blocked look up name.example at script.py:3 by python",
        ),
        (
            ["--no-subprocess"],
            "subprocess.run(['/bin/ls', 'secret'])",
            "hotenv guard --no-subprocess blocked start ls",
            "blocked start ls at script.py:3 by python",
        ),
        (
            ["--no-subprocess"],
            "os.execv('/bin/ls', ['secret'])",
            "hotenv guard --no-subprocess blocked exec /bin/ls",
            "blocked exec /bin/ls at script.py:3 by python",
        ),
        (
            ["--no-subprocess"],
            "os.system('ls secret')",
            "hotenv guard --no-subprocess blocked start sh",
            "blocked start sh at script.py:3 by python",
        ),
        (
            ["--no-subprocess"],
            "os.fork()",
            "hotenv guard --no-subprocess blocked fork",
            "blocked fork at script.py:3 by python",
        ),
    ],
)
def test_words(options: list[str], line: str, words: str, report: str, tmp_path: Path) -> None:
    """The error says what, which guard and which option; the report, which line of the program."""
    script = f"import os, socket, subprocess\ntry:\n    {line}\n"
    script += "except PermissionError as error:\n    print(error.errno, error.strerror)\n"
    (tmp_path / "script.py").write_text(script)
    result = guard(*options, "--", PYTHON, "script.py", cwd=tmp_path)
    assert (result.status, result.out) == (2, f"1 {words}\n"), result
    assert report in result.err
    assert len(result.counted) == 1
    assert "secret" not in result.err


OPEN = "import os; os.close(os.open(os.path.abspath('x'), os.O_WRONLY | os.O_CREAT))"


@pytest.mark.parametrize(
    ("line", "what", "path"),
    [
        ("open('here', 'w')", "write", "here"),
        ("open('new', 'x')", "write", "new"),
        ("open('link', 'a')", "write", "below/there"),
        (OPEN, "write", "x"),
        ("import pathlib; pathlib.Path('below', 'x').write_text('')", "write", "below/x"),
        ("import os; os.makedirs('one/two')", "create", "one"),
        ("import os; os.symlink('nowhere', 'x')", "create", "x"),
        ("import os; os.link('here', 'x')", "create", "x"),
        ("import os; os.remove('here')", "remove", "here"),
        ("import os; os.unlink('link')", "remove", "link"),
        ("import os; os.rmdir('empty')", "remove", "empty"),
        ("import os; os.replace('here', 'x')", "rename", "here"),
    ],
)
def test_files(line: str, what: str, path: str, shop: Path) -> None:
    """The error names the file, and the option that allows it, which does."""
    words = ["--allow-write", "out", "--", PYTHON, "-c", line]
    result = guard("--fs-readonly", *words, cwd=shop)
    where = shop / path
    option = f"--allow-write {where.parent}"
    said = f"hotenv guard --fs-readonly blocked {what} {where}: allow it with {option}\n"
    assert said in result.err, result
    assert result.status == 2
    assert [(each["first"]["path"], each["remedy"]) for each in result.blocked] == [
        (str(where), option)
    ]
    assert result.blocked[0]["times"] == 1
    result = guard("--fs-readonly", *option.split(" ", 1), *words, cwd=shop)
    assert (result.status, result.blocked) == (0, []), result


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A directory with files, in which only what is in ``out`` may be changed."""
    for name in ("below", "empty", "out"):
        (tmp_path / name).mkdir()
    (tmp_path / "here").write_text("here")
    (tmp_path / "below" / "there").touch()
    (tmp_path / "link").symlink_to("below/there")
    return tmp_path


@pytest.mark.parametrize(
    "line",
    [
        "open('out/x', 'w')",
        "import os; os.mkdir('out/x'); os.rename('out/x', 'out/y'); os.rmdir('out/y')",
        "import os; os.chdir('out'); open('x', 'w'); os.symlink('x', 'y'); os.remove('y')",
        "open('/dev/null', 'w')",
        "open('here')",
        "import tempfile; tempfile.NamedTemporaryFile()",
        "import os; out = os.open('out', os.O_RDONLY); os.mkdir('x', dir_fd=out)",
        "import os; out = os.open('out', os.O_RDONLY); os.open('x', os.O_CREAT, dir_fd=out)",
    ],
)
def test_files_that_may_be_changed(line: str, shop: Path) -> None:
    """No word is said about it, and it is done once."""
    words = ["--fs-readonly", "--private-tmp", "--allow-write", "out", "--", PYTHON, "-c", line]
    result = guard(*words, cwd=shop)
    assert (result.status, result.out, result.err, result.blocked) == (0, "", "", []), result


@pytest.mark.parametrize(
    "line",
    [
        "open('not/there', 'w')",
        "open('below', 'w')",
        "open('here', 'x')",
        "import os; os.mkdir('below')",
        "import os; os.remove('nothing')",
        "import os; os.rename('nothing', 'x')",
        "open('', 'w')",
        "open('a\\0b', 'w')",
        "import os; os.mkdir(1)",
    ],
)
def test_files_that_cannot_be_changed(line: str, shop: Path) -> None:
    """It is the same error as without a guard, and does not count."""
    words = [PYTHON, "-c", f"try:\n    {line}\nexcept Exception as error:\n    print(repr(error))"]
    freely = subprocess.run(words, capture_output=True, text=True, check=True, cwd=shop).stdout
    result = guard("--fs-readonly", "--", *words, cwd=shop)
    assert (result.status, result.out, result.blocked) == (0, freely, []), result


def test_bytecode_of_hotenv(tmp_path: Path) -> None:
    """Nobody hears of the caches of what Python loads because of hotenv; of the rest, they do."""
    script = """
import sys
for name in ("hotenv_words/__pycache__", "hotenv_words/__pycache__/new.pyc", "new.pyc"):
    try:
        open(f"{sys.argv[1]}/{name}", "w")
    except OSError:
        pass
"""
    words = ["--", PYTHON, "-c", script, FOLDER]
    result = guard("--fs-readonly", "--keep-status", *words, cwd=tmp_path)
    assert [each["first"]["path"] for each in result.blocked] == [f"{FOLDER}/new.pyc"], result


@pytest.mark.usefixtures("importing")
def test_bytecode(shop: Path) -> None:
    """Python does without what it cannot write."""
    (shop / "module.py").touch()
    result = guard("--fs-readonly", "--", PYTHON, "-c", "import module", cwd=shop)
    assert (result.status, result.err, result.counted) == (0, "", []), result


@pytest.mark.parametrize(
    "line",
    [
        "socket.getaddrinfo('localhost', 80)",
        "socket.getaddrinfo('127.0.0.1', 80)",
        "socket.getaddrinfo(None, 80)",
        "socket.getaddrinfo(b'localhost', 80)",
        "socket.create_server(('127.0.0.1', 0))",
    ],
)
def test_what_is_not_forbidden(line: str, tmp_path: Path) -> None:
    """No word is said about it."""
    result = guard("--allow-localhost", "--", PYTHON, "-c", f"import socket; {line}", cwd=tmp_path)
    assert (result.status, result.out, result.err) == (0, "", ""), result


@pytest.mark.parametrize(
    "line",
    ["socket.socket().connect(1)", "socket.socket().connect((1, 2))", "socket.getaddrinfo(1, 2)"],
)
def test_junk(line: str, tmp_path: Path) -> None:
    """It is the same error as without a guard."""
    script = (
        f"import socket\ntry:\n    {line}\nexcept Exception as error:\n    print(repr(error))\n"
    )
    words = [PYTHON, "-c", script]
    freely = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert guard("--no-network", "--", *words, cwd=tmp_path).out == freely


SEPARATE = """
import os, subprocess, sys
for number in range(3):
    os.close(number)
os.closerange(3, 100)
if os.fork() == 0:
    import socket
    try:
        socket.create_connection(("192.0.2.1", 80))
    finally:
        os._exit(0)
os.wait()
"""


def test_who_has_closed_everything(tmp_path: Path) -> None:
    """A grandchild without any descriptor can tell."""
    result = guard(*OFFLINE, PYTHON, "-c", SEPARATE, cwd=tmp_path)
    assert (result.status, result.counted) == (2, ["connect"]), result
    assert result.blocked[0]["first"] == {"host": "192.0.2.1", "port": "80"}


@pytest.mark.parametrize("switch", ["-I", "-E", "-S"])
def test_without_words(switch: str, tmp_path: Path) -> None:
    """Nothing more is possible: the kernel says the same in fewer words."""
    script = "import socket; socket.socket().connect(('192.0.2.1', 80))"
    result = guard(*OFFLINE, PYTHON, switch, "-c", script, cwd=tmp_path)
    assert (result.status, result.counted) == (2, ["connect"]), result
    assert "hotenv guard --no-network blocked" not in result.err
    result = guard(*ALONE, PYTHON, switch, "-c", "import os; os.fork()", cwd=tmp_path)
    assert (result.status, result.counted) == (2, ["fork"]), result


def test_another_sitecustomize(tmp_path: Path) -> None:
    """The one that was there is loaded as ever, and its errors are its own."""
    (tmp_path / "sitecustomize.py").write_text("print(__name__, __file__)")
    script = "import sys, sitecustomize; print(sitecustomize.__file__, sys.path)"
    words = [PYTHON, "-c", script]
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    freely = subprocess.run(words, capture_output=True, text=True, env=env, check=True).stdout
    result = guard(*OFFLINE, *words, cwd=tmp_path, env=env)
    assert (result.status, result.out, result.err) == (0, freely, ""), result
    (tmp_path / "sitecustomize.py").write_text("import not_there")
    words = [PYTHON, "-c", ""]
    freely = subprocess.run(words, capture_output=True, text=True, env=env, check=True).stderr
    assert "not_there" in freely
    assert guard(*OFFLINE, *words, cwd=tmp_path, env=env).err == freely


def test_no_other_sitecustomize(tmp_path: Path) -> None:
    """A virtual environment has none."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "v"], cwd=tmp_path, check=True)
    result = guard(*OFFLINE, "v/bin/python", "-c", "import sys; print(1)", cwd=tmp_path)
    assert (result.status, result.out, result.err) == (0, "1\n", ""), result


def test_root(tmp_path: Path) -> None:
    """The module can be read, whatever else cannot."""
    script = "import socket; socket.create_connection(('192.0.2.1', 80))"
    words = [f"--fs-readonly={tmp_path}", "--no-network", "--", PYTHON, "-c", script]
    result = guard(*words, cwd=tmp_path)
    assert "hotenv guard --no-network blocked connect 192.0.2.1:80" in result.err


EACH = """
import os, socket
def ctypes():
    import ctypes
for action in (
    lambda: socket.create_connection(("192.0.2.1", 80)), lambda: os.system("ls"),
    lambda: open("x", "w"), ctypes,
):
    try:
        action()
    except (PermissionError, ImportError) as error:
        print(error)
"""

VERSIONS = sorted(
    {
        *map(str, Path("/usr/bin").glob("python3.[0-9]*[0-9]")),
        *map(str, Path("~/.pyenv/versions").expanduser().glob("3.*/bin/python3")),
    }
)


@pytest.mark.parametrize("python", VERSIONS)
def test_versions(python: str, tmp_path: Path) -> None:
    """Each Python that is installed, from 3.8."""
    known = "import sys; print(sys.version_info >= (3, 8))"
    tried = subprocess.run([python, "-c", known], capture_output=True, text=True)
    if tried.stdout != "True\n":
        pytest.skip("too old, or it does not start")
    options = ["--no-network", "--no-subprocess", "--fs-readonly", "--strict-imports"]
    result = guard(*options, "--", python, "-c", EACH, cwd=tmp_path)
    assert "hotenv guard --no-network blocked connect 192.0.2.1:80" in result.out
    assert "hotenv guard --no-subprocess blocked start sh" in result.out
    assert f"hotenv guard --fs-readonly blocked write {tmp_path}/x" in result.out
    assert "hotenv guard --strict-imports blocked import ctypes" in result.out
    assert len(result.counted) == 4, result


def test_what_is_told() -> None:
    """By the address of a Unix socket; what is none of the words is none of them."""
    address = b"\1\0\0hotenv\0no-network\0connect\0host=::1\0port=1\0at=a.py:1\0x=y\0"
    target = {"host": "::1", "port": "1", "at": "a.py:1"}
    expected = Blocked("no-network", "connect", counts=True, remedy="--allow-localhost", **target)
    assert told(address) == expected
    for words, remedy in (
        (b"host=192.0.2.1\0port=80", "--allow-domain 192.0.2.1:80"),
        (b"host=169.254.169.254\0port=80", ""),
        (b"host=192.0.2.1\0port=99999", ""),
        (b"host=A.example", "--allow-domain a.example"),
        (b"host=a b", ""),
        (b"path=ls", ""),
        (b"module=a.b", ""),
    ):
        blocked = told(b"\1\0\0hotenv\0no-network\0x\0" + words)
        assert blocked is not None
        assert blocked.remedy == remedy
    for name, remedy in ((b"a.b", "--allow-import a"), (b"a b", "")):
        blocked = told(b"\1\0\0hotenv\0strict-imports\0import\0module=" + name)
        assert blocked is not None
        assert (blocked.guard, blocked.remedy) == ("strict-imports", remedy)
    for other in (b"", b"\1\0", b"\1\0/hotenv", b"\1\0\0hotenv", b"\1\0\0hotenv\0else\0x"):
        assert told(other) is None


TOPIC = Path(hotenv.__file__).with_name("topics").joinpath("guards.rst").read_text()
PYTEST = """
import socket

def test_that_is_good():
    server = socket.create_server(("127.0.0.1", 0))
    socket.create_connection(server.getsockname()).close()

def test_that_connects():
    try:
        socket.create_connection(("192.0.2.1", 80))
    except OSError:
        pass
"""


@pytest.mark.usefixtures("unmeasured")
@pytest.mark.parametrize("options", [[], ["-n", "2"]], ids=["alone", "xdist"])
def test_pytest(options: list[str], tmp_path: Path) -> None:
    """A test suite that swallows it is told which line of which test has connected."""
    (tmp_path / "test_shop.py").write_text(PYTEST)
    pytest_ = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    result = guard("--profile", "net-hermetic", "--", *pytest_, cwd=tmp_path)
    assert "2 passed" in result.out
    assert (result.status, result.counted) == (2, ["connect"]), result
    said = "hotenv: blocked connect 192.0.2.1:80 at test_shop.py:10 by"
    assert said in result.err
    assert said in TOPIC
