"""--strict-imports: Python programs import no native code (python/hotenv_words/imports.py)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from guarded import PYTHON, Result, guard, needs_compiler, needs_guards
from hotenv.guards.isolated import isolating_option

pytestmark = [needs_guards, pytest.mark.usefixtures("unmeasured")]  # coverage is native code

TRY = """
import importlib, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ImportError as error:
        print(error.name, error.msg)
"""


def tried(*words: str, cwd: Path, python: str = PYTHON) -> Result:
    """Import the modules that stand behind ``--``, with the options before it."""
    at = words.index("--")
    return guard(*words[:at], "--", python, "-c", TRY, *words[at + 1 :], cwd=cwd)


@pytest.fixture
def native(tmp_path: Path) -> str:
    """The name of an extension module in a package of ``tmp_path``."""
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "pure.py").touch()
    (tmp_path / "_fast.c").write_text(
        '#include <Python.h>\nstatic struct PyModuleDef d = {PyModuleDef_HEAD_INIT, "_fast"};\n'
        "PyMODINIT_FUNC PyInit__fast(void) { return PyModule_Create(&d); }\n"
    )
    script = "import sysconfig as s; print(s.get_path('include'), s.get_config_var('EXT_SUFFIX'))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    include, suffix = done.stdout.split()
    if not (Path(include) / "Python.h").exists():
        pytest.skip("the headers of Python are not installed")
    target = package / f"_fast{suffix}"
    words = ["cc", "-shared", "-fPIC", f"-I{include}", "-o", str(target), str(tmp_path / "_fast.c")]
    subprocess.run(words, check=True)
    return "shop._fast"


@needs_compiler
@pytest.mark.usefixtures("importing")
def test_extension_modules(native: str, tmp_path: Path) -> None:
    """Those of the standard library can be imported, others cannot, unless they are excepted."""
    python = sys.executable
    modules = ["--", "shop.pure", "json", "socket", native]
    result = tried("--strict-imports", *modules, cwd=tmp_path, python=python)
    words = f"hotenv guard --strict-imports blocked import {native}"
    assert result.out == f"{native} {words}: allow it with --allow-import shop\n", result
    assert (result.status, result.counted) == (2, ["import"])
    assert f"blocked import {native} by" in result.err
    assert result.blocked[0]["remedy"] == "--allow-import shop"
    for allowed in ("shop", "shop._fast"):
        options = ["--strict-imports", "--allow-import", allowed]
        result = tried(*options, *modules, cwd=tmp_path, python=python)
        assert (result.status, result.out, result.err) == (0, "", ""), result
    result = tried(
        "--strict-imports", "--allow-import", "sho", *modules, cwd=tmp_path, python=python
    )
    assert result.counted == ["import"]


@pytest.mark.parametrize("module", ["ctypes", "_ctypes", "_cffi_backend", "ctypes.util"])
def test_foreign_code(module: str, tmp_path: Path) -> None:
    """What calls native code in another way, although it is of the standard library."""
    name = "cffi" if "cffi" in module else "ctypes"
    result = tried("--strict-imports", "--", module, cwd=tmp_path)
    assert f"blocked import {name}: allow it with --allow-import {name}" in result.out, result
    assert (result.status, result.counted) == (2, ["import"])


def test_allowed_foreign_code(tmp_path: Path) -> None:
    """With its library."""
    script = "import ctypes; print(ctypes.CDLL(None).abs(-3))"
    words = ["--strict-imports", "--allow-import", "ctypes", "--", PYTHON, "-c", script]
    result = guard(*words, cwd=tmp_path)
    assert (result.status, result.out, result.err) == (0, "3\n", ""), result


def test_all(tmp_path: Path) -> None:
    """Not of the standard library either, but what is built in."""
    script = "import sys; print('mmap' in sys.builtin_module_names)"
    built_in = subprocess.run([PYTHON, "-c", script], capture_output=True, text=True).stdout
    if built_in != "False\n":
        pytest.skip("mmap is built in")
    assert tried("--strict-imports", "--", "mmap", cwd=tmp_path).status == 0
    result = tried("--strict-imports=all", "--", "mmap", "time", cwd=tmp_path)
    assert result.out.startswith("mmap hotenv guard --strict-imports blocked import mmap"), result
    assert "mmap" in [each["first"]["module"] for each in result.blocked]
    words = ["--strict-imports=all", "--allow-import", "mmap", "--", "mmap"]
    assert "mmap" not in tried(*words, cwd=tmp_path).out


def test_what_was_there_before(tmp_path: Path) -> None:
    """A file of a virtual environment that imports something earlier is told."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "v"], cwd=tmp_path, check=True)
    (packages,) = (tmp_path / "v" / "lib").glob("python*/site-packages")
    (packages / "early.pth").write_text("import ctypes\n")
    script = "import ctypes; ctypes.CDLL(None)"
    result = guard("--strict-imports", "--", "v/bin/python", "-c", script, cwd=tmp_path)
    assert {*result.counted} == {"import", "load a library with"}, result
    assert "blocked load a library with ctypes: allow it with --allow-import ctypes" in result.err


@pytest.mark.parametrize("switch", ["-I", "-E", "-S", "-sE"])
def test_isolated(switch: str, tmp_path: Path) -> None:
    """Where a Python would load nothing of ours, it is not started."""
    words = [PYTHON, switch, "-c", "print('started')"]
    result = guard("--strict-imports", "--", *words, cwd=tmp_path)
    option = f"-{switch[-1]}"
    assert (result.status, result.out) == (2, ""), result
    assert result.err == (
        f"hotenv: with {option}, Python ignores --strict-imports: leave {option} out\n"
    )
    result = guard("--", *words, cwd=tmp_path)
    assert (result.status, result.out) == (0, "started\n"), result


def test_isolated_script(tmp_path: Path) -> None:
    """Nor by the first line of a script."""
    script = tmp_path / "script"
    script.write_text(f"#!{PYTHON} -Es\nprint('started')\n")
    script.chmod(0o755)
    result = guard("--strict-imports", "--", "./script", cwd=tmp_path)
    assert (result.status, result.out) == (2, ""), result
    assert "leave -E out" in result.err


@pytest.mark.parametrize("others", [[], ["--fs-readonly=/"]], ids=["alone", "with reads"])
def test_isolated_grandchild(others: list[str], tmp_path: Path) -> None:
    """Whoever starts it."""
    lines = f"{PYTHON} -c 'print(1)'; ./not-there -I; {PYTHON} -sI -c 'print(2)'; exit 0"
    result = guard("--strict-imports", *others, "--", "sh", "-c", lines, cwd=tmp_path)
    assert (result.status, result.out, result.counted) == (2, "1\n", ["start"]), result
    assert result.blocked[0]["guard"] == "strict-imports"
    assert result.blocked[0]["first"]["option"] == "-I"


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ("-I", "-I"),
        ("-sE x", "-E"),
        ("-s -I", "-I"),
        ("-W ignore -S x", "-S"),
        ("-Wignore -S x", "-S"),
        ("-X dev -I", "-I"),
        ("-BX -I -S", "-S"),
        ("--check-hash-based-pycs always -I", "-I"),
        ("--version -I", "-I"),
        ("", ""),
        ("x -I", ""),
        ("-c -I", ""),
        ("-m x -I", ""),
        ("-sc -I", ""),
        ("-cI", ""),
        ("-XI", ""),
        ("- -I", ""),
        ("-- -I", ""),
    ],
)
def test_options(words: str, option: str) -> None:
    """As Python reads its command line."""
    assert isolating_option(b"/usr/bin/python3.12", words.encode().split()) == option
    assert isolating_option(b"/usr/bin/prog", words.encode().split()) == ""


def test_another_name(tmp_path: Path) -> None:
    """A link to Python is one, too."""
    (tmp_path / "py").symlink_to(PYTHON)
    assert isolating_option(bytes(tmp_path / "py"), [b"-I"]) == "-I"


def test_without_a_guard(tmp_path: Path) -> None:
    """A process that has no more than the environment of a guarded one is free."""
    script = "import os; print(os.environ['PYTHONPATH'], os.environ['HOTENV_WORDS'])"
    path, *words = guard("--strict-imports", "--", PYTHON, "-c", script, cwd=tmp_path).out.split()
    env = {**os.environ, "PYTHONPATH": path, "HOTENV_WORDS": " ".join(words)}
    subprocess.run([PYTHON, "-c", "import ctypes"], env=env, check=True)


def test_no_python(tmp_path: Path) -> None:
    """Other programs have nothing to do with it."""
    shell = str(shutil.which("sh"))
    result = guard("--strict-imports", "--", shell, "-c", "echo -I", "-I", cwd=tmp_path)
    assert (result.status, result.out, result.err) == (0, "-I\n", ""), result
