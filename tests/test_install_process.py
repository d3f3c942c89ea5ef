"""How the command is started: from every place, as every installer leaves it, past all traps."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import venv
import zipfile
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path

import pytest

from hotenv import __file__ as module_of_hotenv
from processes import HOTENV, LIMIT, hotenv, needs, said, serving

PROGRAM = Path(sys.executable).with_name("hotenv")
SCRIPT = PROGRAM.with_name("hotenv-main")
IN_SHELL = Path(__file__).parents[1] / "scripts" / "launcher.sh"
PACKAGES = Path(find_spec("attr").origin).parents[1]  # type: ignore[union-attr,arg-type]

pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="hotenv is not installed as a wheel")
native = pytest.mark.skipif(
    not PROGRAM.exists() or PROGRAM.read_bytes().startswith(b"#!"),
    reason="started by a shell, which cannot do it",
)


@pytest.fixture
def trap(directory: Path) -> Iterator[Path]:
    """A directory with a session, and with what Python imports if it is let: that leaves a file."""
    code = "import posix\nposix.mkdir('caught')\n"
    packages = "lib/python{}.{}/site-packages".format(*sys.version_info)
    (directory / packages).mkdir(parents=True)
    for name in ("json", "signal", "encodings", "hotenv", "sitecustomize", "usercustomize"):
        (directory / f"{name}.py").write_text(code)
    (directory / packages / "usercustomize.py").write_text(code)
    (directory / packages / "trap.pth").write_text("import posix; posix.mkdir('caught')\n")
    with serving(directory, b"A=1\n", "-q"):
        yield directory
    assert not (directory / "caught").exists()


HOSTILE = [
    *({"PYTHONPATH": path} for path in (".", "", ":/nonexistent")),
    *({"PYTHONHOME": home} for home in (".", "/nonexistent")),
    {"PYTHONINSPECT": "1"},
    {"PYTHONSTARTUP": "json.py"},
    {"PYTHONUSERBASE": "."},
    {"PYTHONPLATLIBDIR": "."},
    {"PYTHONWARNINGS": "error::json.JSONDecodeError"},
    {"PYTHONVERBOSE": "1"},
]


@pytest.mark.parametrize("variables", HOSTILE, ids=str)
def test_pythons_variables_are_the_commands(trap: Path, variables: dict[str, str]) -> None:
    """They change nothing about hotenv, and the command gets them."""
    environment = {**os.environ, **variables}
    result = hotenv("run", "--", "printenv", "A", *variables, cwd=trap, env=environment)
    assert result.stderr == b""
    assert result.stdout.decode().splitlines() == ["1", *variables.values()]


def test_nothing_gets_at_what_is_served(trap: Path) -> None:
    """The text of a session is read without them too."""
    environment = {**os.environ, "PYTHONPATH": "."}
    result = hotenv("serve", "--check", cwd=trap, stdin=b"A=1", env=environment)
    assert (result.returncode, result.stderr) == (0, b"")


ODD = {
    b"a.b": b"dot",
    b"BASH_FUNC_x%%": b"() {  echo hello\n}",
    b"1": b"digit",
    b"x-y": b"dash",
    b" ": b"space",
    b"\xff": b"\xfe",
    b"EMPTY": b"",
    b"IFS": b"x",
    b"OPTIND": b"7",
    b"PPID": b"1",
    b"PS1": b"$",
    b"PS4": b"$(mkdir caught)",
    b"SHELLOPTS": b"xtrace",
    b"ENV": b"./json.py",
    b"BASH_ENV": b"./json.py",
    b"CDPATH": b"/",
    b"PWD": b"/nonexistent",
    b"OLDPWD": b"/nonexistent",
    b"SHLVL": b"3",
    b"_": b"/nonexistent",
    b"POSIXLY_CORRECT": b"",
    b"PYTHONPATH": b".",
    b"LC_ALL": b"C",
}


@native
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("environment", [ODD, {}], ids=["odd", "none"])
def test_environment_byte_for_byte(trap: Path, environment: dict[bytes, bytes]) -> None:
    """The command has what hotenv was started with, in that order, and the session's."""
    result = subprocess.run(
        [*HOTENV, "run", "--", "/bin/cat", "/proc/self/environ"],
        cwd=trap,
        env=environment,
        capture_output=True,
        timeout=LIMIT,
    )
    expected = b"".join(b"%s=%s\0" % each for each in [*environment.items(), (b"A", b"1")])
    assert (result.stdout, result.stderr) == (expected, b"")


_SIGNALS = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
exec(sys.argv[1])
os.execv(sys.argv[2], sys.argv[2:])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    "change",
    [
        "pass",
        "signal.signal(signal.SIGINT, signal.SIG_IGN)",
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])",
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGPIPE, signal.SIGTERM])",
    ],
)
def test_signals_are_the_commands(trap: Path, change: str) -> None:
    """What was ignored or blocked is, and nothing else: also the interrupt, which waits here."""
    reports = [
        subprocess.run(
            [
                sys.executable,
                "-I",
                "-c",
                _SIGNALS,
                change,
                *prefix,
                "/bin/grep",
                "Sig[BIC]",
                "/proc/self/status",
            ],
            cwd=trap,
            env={"PATH": os.environ["PATH"]},
            capture_output=True,
            check=True,
            timeout=LIMIT,
        ).stdout
        for prefix in ([], [*HOTENV, "run", "--"])
    ]
    assert reports[0] == reports[1]
    assert b"SigIgn" in reports[0]


@native
def test_interrupted_while_it_starts(tmp_path: Path) -> None:
    """At whatever moment: it dies of it, or ends with 130; there is no traceback."""
    venv.create(tmp_path, symlinks=True)
    shutil.copy(PROGRAM, tmp_path / "bin")
    shutil.copy(SCRIPT, tmp_path / "bin")
    write_first_lines(tmp_path / "bin" / "hotenv-main", f"#!{tmp_path}/bin/python")
    package = lend_packages(tmp_path).with_name("hotenv")
    (package / "cli").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "cli" / "__init__.py").touch()
    main = "import argparse, os, socket\ndef main(): os._exit(0)\n"
    (package / "cli" / "main.py").write_text(main)
    codes = set()
    for moment in range(40):
        process = subprocess.Popen([tmp_path / "bin" / "hotenv"], stderr=subprocess.PIPE)
        time.sleep(moment * 0.001)
        process.send_signal(signal.SIGINT)
        _, words = process.communicate(timeout=LIMIT)
        assert words == b""
        codes.add(process.returncode)
    assert codes <= {-signal.SIGINT, 130, 0}
    assert -signal.SIGINT in codes


# Places


def write_first_lines(script: Path, lines: str) -> None:
    """Let ``lines`` name the interpreter in ``script``, as installers do."""
    text = SCRIPT.read_text()
    script.write_text(f"{lines}\n{text[text.index(chr(34) * 3) :]}")


def link(place: Path, target: Path | str) -> Path:
    """A new link."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)
    return place


PLACES: dict[str, Callable[[Path, Path], Path]] = {
    "absolute link": lambda here, program: link(here / "hotenv", program),
    "relative link": lambda here, program: link(here / "hotenv", os.path.relpath(program, here)),
    "other name": lambda here, program: link(here / "he", program),
    "odd names": lambda here, program: link(here / "a b" / "$x*\n", program),
    "chain": lambda here, program: link(here / "a", link(here / "b" / "c", program).parent / "c"),
    "linked directory": lambda here, program: link(here / "bin", program.parent) / program.name,
    "link from a linked directory": lambda here, program: (
        link(here / "x" / "y" / "hotenv", "../hotenv"),
        link(here / "x" / "hotenv", program),
        link(here / "z", "x/y") / "hotenv",
    )[-1],
}


SHELL_MODES = {"in bash": "--posix", "in busybox": "sh"}


@pytest.fixture(params=["as installed", "in sh", "in bash", "in busybox"])
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the installer wrote into a directory of its own; its interpreter is this one."""
    home = tmp_path_factory.mktemp("home")
    kind = request.param
    if kind == "as installed":
        shutil.copy(PROGRAM, home / "hotenv")
    elif not IN_SHELL.exists():
        pytest.skip("the sources are not here")
    else:
        text = IN_SHELL.read_text()
        if kind != "in sh":
            shell = shutil.which(kind.removeprefix("in "))
            if not shell:
                pytest.skip(f"not {kind}: it is not installed")
            text = text.replace("/bin/sh", f"{shell} {SHELL_MODES[kind]}", 1)
        (home / "hotenv").write_text(text)
        (home / "hotenv").chmod(0o755)
    shutil.copy(SCRIPT, home)
    write_first_lines(home / "hotenv-main", f"#!{sys.executable}")
    return home / "hotenv"


def test_found_through_links(trap: Path, installed: Path) -> None:
    """Where it really is counts, and not where it was called."""
    for number, (name, make) in enumerate(PLACES.items()):
        here = trap / str(number)
        here.mkdir()
        called = make(here, installed)
        for word in (str(called), os.path.relpath(called, trap)):
            assert run_in(trap, [word]) == b"1\n", name


def test_found_in_path(trap: Path, installed: Path) -> None:
    """By its name, with and without the current directory; -a gives the process another name."""
    for path in ("{}", "/nonexistent:{}", ":{}", "{}:"):
        directorys = f"{path.format(installed.parent)}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": directorys}
        assert run_in(trap, ["hotenv"], environment) == b"1\n", path
        if shutil.which("bash"):
            renamed = ["bash", "-c", 'exec -a x hotenv "$@"', ""]
            assert run_in(trap, renamed, environment) == b"1\n", path


def test_found_in_an_empty_entry_of_path(trap: Path, installed: Path) -> None:
    """That is the current directory: the name comes without any."""
    environment = {**os.environ, "PATH": f":{os.environ['PATH']}"}
    script = 'export HERE=$PWD; cd "$1" && hotenv -C "$HERE" run -- printenv A'
    words = ["sh", "-c", script, "", str(installed.parent)]
    result = subprocess.run(words, cwd=trap, env=environment, capture_output=True, timeout=LIMIT)
    assert (result.stdout, result.stderr) == (b"1\n", b"")


def run_in(directory: Path, words: list[str], env: Mapping[str, str] | None = None) -> bytes:
    """What the command gets as A, if it is started from within the trap."""
    result = subprocess.run(
        [*words, "run", "--", "printenv", "A"],
        cwd=directory,
        env={**(env or os.environ), "PYTHONPATH": "."},
        capture_output=True,
        timeout=LIMIT,
    )
    assert result.stderr == b""
    return result.stdout


# Installers


def _distlib(python: str) -> str:
    return f"#!/bin/sh\n'''exec' {python} \"$0\" \"$@\"\n' '''"


FIRST_LINES: dict[str, Callable[[str], str]] = {
    "pip": lambda python: f"#!{python}",
    "pipx": lambda python: f"#!{python} -E",
    "distlib, long": _distlib,
    "distlib, space": lambda python: _distlib(f'"{python}"'),
    "uv, space": lambda python: _distlib(f"'{python}'"),
    "uv, relocatable": lambda _: _distlib('"$(dirname -- "$(realpath -- "$0")")"/\'python\''),
}


def test_forms_of_the_first_line(
    trap: Path, installed: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Each way in which installers name the interpreter."""
    for form, first_lines in FIRST_LINES.items():
        home = tmp_path_factory.mktemp("the env" if "space" in form else "env")
        venv.create(home, symlinks=True)
        lend_packages(home)
        for name in ("hotenv", "hotenv-main"):
            shutil.copy(installed.with_name(name), home / "bin")
        write_first_lines(home / "bin" / "hotenv-main", first_lines(f"{home}/bin/python"))
        assert run_in(trap, [f"{home}/bin/hotenv"]) == b"1\n", form


def lend_packages(home: Path) -> Path:
    """Let the environment in ``home`` import what this one can, as long as this file is there."""
    name = "python{}.{}".format(*sys.version_info)
    path = home / "lib" / name / "site-packages" / "these.pth"
    path.write_text(f"{PACKAGES}\n{Path(module_of_hotenv).parents[1]}\n")
    return path


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that hotenv was installed from, made again of what was installed."""
    installed = distribution("hotenv")
    stem = f"hotenv-{installed.version}"
    tag = (installed.read_text("WHEEL") or "").partition("Tag: ")[2].split()[0]
    path = tmp_path_factory.mktemp("wheel") / f"{stem}-{tag}.whl"
    record = f"{stem}.dist-info/RECORD"
    with zipfile.ZipFile(path, "w") as archive:
        for file in installed.files or ():
            source, name = Path(os.path.normpath(str(file.locate()))), str(file)
            content = source.read_bytes() if source.exists() else b""
            if source == SCRIPT:
                content = b"#!python\n" + content.partition(b"\n")[2]
            if source in (PROGRAM, SCRIPT):
                name = f"{stem}.data/scripts/{source.name}"
            if content and not name.startswith("..") and name != record:
                archive.writestr(zipfile.ZipInfo.from_file(source, name), content)
        names = [*archive.namelist(), record]
        archive.writestr(record, "".join(f"{name},,\n" for name in names))
    return path


INSTALLERS = {
    "pip": [sys.executable, "-m", "pip", "--python", "PYTHON", "--disable-pip-version-check"],
    "uv": ["uv", "--offline", "pip"],
}


@pytest.mark.parametrize("place", ["short", "with a space", "long"])
@pytest.mark.parametrize(
    "installer",
    [
        pytest.param("pip", marks=pytest.mark.skipif(not find_spec("pip"), reason="no pip here")),
        pytest.param("uv", marks=needs("uv")),
    ],
)
def test_installed_and_uninstalled(
    trap: Path, wheel: Path, tmp_path_factory: pytest.TempPathFactory, installer: str, place: str
) -> None:
    """In an environment with such a path it works, and nothing of it remains."""
    home = tmp_path_factory.mktemp(place) / ("x" * 150 + "/" + "y" * 150 if place == "long" else "")
    venv.create(home, symlinks=True)
    python = str(home / "bin" / "python")
    before = set((home / "bin").iterdir())
    command = [python if word == "PYTHON" else word for word in INSTALLERS[installer]]
    where = ["-p", python] if installer == "uv" else []
    install = [*command, "install", *where, "--no-index", "--no-deps", str(wheel)]
    subprocess.run(install, check=True, capture_output=True, timeout=LIMIT)
    packages = lend_packages(home)
    assert run_in(trap, [str(home / "bin" / "hotenv")]) == b"1\n"
    packages.unlink()
    assert set((home / "bin").iterdir()) - before == {
        home / "bin" / "hotenv",
        home / "bin" / "hotenv-main",
    }
    remove = [*command, "uninstall", *where, *(["-y"] if installer == "pip" else []), "hotenv"]
    subprocess.run(remove, check=True, capture_output=True, timeout=LIMIT)
    assert set((home / "bin").iterdir()) == before


def test_broken_installation(directory: Path, installed: Path) -> None:
    """One line, and the code of what the system does not let hotenv do."""
    words = [str(installed), "status"]
    script = installed.with_name("hotenv-main")
    script.write_text("#!/nonexistent/python\n")
    for reason in ("cannot start /nonexistent/python", f"cannot read {script}"):
        result = subprocess.run(words, cwd=directory, capture_output=True, timeout=LIMIT)
        assert result.returncode == 8
        assert reason in said(result)
        script.unlink(missing_ok=True)
