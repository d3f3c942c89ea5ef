"""The plan of the package (design): who imports whom, and what nobody has to wait for."""

from __future__ import annotations

import ast
import graphlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hotenv
from processes import serving

PACKAGE = Path(hotenv.__file__).parent


def name_of(path: Path) -> str:
    """What a module of the package is called here: ``errors``, ``session.marker``, ``session``."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)


MODULES = {name_of(path): ast.parse(path.read_text()) for path in PACKAGE.rglob("*.py")}

QUALIFIED = {f"hotenv.{name}" for name in MODULES}

ROOMS = {"exchange", "handover", "intake", "serving", "session", "upkeep"}

LAYERS = [
    {"cli", "__main__", "argumentparser", "arguments", "commands"},
    {"upkeep"},
    {"serving"},
    {"intake", "handover"},
    {"exchange"},
    {"session"},
    {"stdio"},
    {"durations", "errors", "printable", "snapshot", "table", "variables"},
]
"""Modules and rooms, from the top. Each imports from its own layer and from those below."""

PURE = {
    *("durations", "errors", "printable", "snapshot", "table", "variables"),
    "exchange.protocol",
    *("handover.childenv", "handover.composition", "handover.formats", "handover.placeholder"),
    *("handover.selection", "handover.wellknown"),
    *("intake.bindings", "intake.contract", "intake.envtext", "intake.rules"),
    "intake.surveyreport",
    *("serving.options", "serving.requestlog"),
    "session.statusrecord",
    "upkeep.statusreport",
}

NO_EFFECTS = {
    *("__future__", "attrs", "collections", "collections.abc", "dotenv.parser"),
    *("dotenv.variables", "fnmatch", "io", "json", "math", "re", "types"),
}
"""What pure modules may import, beside each other: nothing that reaches the outside."""

EFFECTS = {"__import__", "breakpoint", "eval", "exec", "input", "open", "print"}
"""Builtins that pure modules do without."""


def imports(tree: ast.AST, *, typing: bool) -> Iterator[str]:
    """The modules that ``tree`` imports; with ``typing`` also those that only a type checker does.

    ``from hotenv.room import x`` is an import of the module ``hotenv.room.x``, if there is one.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not typing:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are not our style"
            source = str(node.module)
            names = {alias.name for alias in node.names}
            siblings = {name for name in names if f"{source}.{name}" in QUALIFIED}
            yield from (f"{source}.{name}" for name in siblings)
            if names - siblings:
                yield source
        yield from imports(node, typing=typing)


def layer(name: str) -> int:
    """How far from the top the module ``name`` is."""
    place = name.partition(".")[0]
    return next(depth for depth, places in enumerate(LAYERS) if place in places)


def ours(name: str) -> set[str]:
    """The modules of the package that ``name`` imports, be it for types only."""
    return {
        module.removeprefix("hotenv.")
        for module in imports(MODULES[name], typing=True)
        if module.startswith("hotenv.")
    }


def test_every_module_has_a_place() -> None:
    """A new module beside the rooms is given a place in the plan, and a new room is too."""
    planned = [place for places in LAYERS for place in places]
    assert sorted({name.partition(".")[0] for name in MODULES}) == sorted(["__init__", *planned])
    assert set(MODULES) >= PURE | ROOMS


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_a_room_says_what_it_is(room: str) -> None:
    """And does nothing else: its modules are imported one by one."""
    (docstring,) = MODULES[room].body
    assert ast.get_docstring(MODULES[room])
    assert isinstance(docstring, ast.Expr)


@pytest.mark.parametrize("name", sorted(set(MODULES) - {"__init__"}))
def test_imports_point_one_way(name: str) -> None:
    """A module imports nothing from a layer above its own, not even for its types."""
    assert {other for other in ours(name) if layer(other) < layer(name)} == set()


def test_no_circles() -> None:
    """Within a layer too, no two modules need each other."""
    graph = {name: ours(name) for name in MODULES if name != "__init__"}
    graphlib.TopologicalSorter(graph).prepare()


def test_the_package_itself_imports_nothing() -> None:
    """Names are handed on when they are first used."""
    assert set(imports(MODULES["__init__"], typing=False)) <= {"__future__", "importlib"}


@pytest.mark.parametrize("name", sorted(PURE))
def test_pure_modules(name: str) -> None:
    """A pure module imports nothing that reaches the outside, and calls nothing that does."""
    tree = MODULES[name]
    allowed = NO_EFFECTS | {f"hotenv.{module}" for module in PURE}
    assert set(imports(tree, typing=False)) - allowed == set()
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert names & EFFECTS == set()


# In a fresh interpreter

HEAVY = {"attr", "attrs", "dotenv", "trio"}

FRESH = """
import json, sys
path, statement, watched = json.loads(sys.argv[1])
sys.path[:] = path
code = None
try:
    exec(statement)
except SystemExit as exit:
    code = exit.code
print()
print(json.dumps([code, sorted(set(watched).intersection(sys.modules))]))
"""


def loaded(statement: str, watched: set[str], folder: Path | None = None) -> tuple[object, str]:
    """The exit code of ``statement`` in a fresh interpreter, and what it loads of ``watched``.

    Without site: what it imports, coverage among it, does not count.
    """
    path = [str(PACKAGE.parent), *(entry for entry in sys.path if entry)]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", FRESH, json.dumps([path, statement, sorted(watched)])],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=60,
    )
    code, modules = json.loads(done.stdout.splitlines()[-1])
    return code, " ".join(modules)


def test_what_is_loaded_is_seen() -> None:
    """The way that the following tests look can find something."""
    assert loaded("import attrs, trio, dotenv; sys.exit(3)", HEAVY) == (3, "attr attrs dotenv trio")


@pytest.mark.parametrize("module", ["hotenv", "hotenv.cli"])
def test_light_import(module: str) -> None:
    """Importing the package or the command line loads none of the libraries."""
    assert loaded(f"import {module}", HEAVY) == (None, "")


@pytest.mark.parametrize(
    "module",
    ["errors", "exchange.protocol", "session.marker", "handover.launch", "handover.formats"],
)
def test_very_light_import(module: str) -> None:
    """What every client loads does without the slower modules of the standard library too."""
    watched = HEAVY | {"contextlib", "dataclasses", "typing"}
    assert loaded(f"import hotenv.{module}", watched) == (None, "")


def run(*args: str) -> str:
    """A statement that runs a command."""
    return f"from hotenv.cli import main; sys.exit(main({list(args)!r}))"


@pytest.mark.parametrize(
    ("args", "code"),
    [
        pytest.param(["--help"], 0, id="help"),
        pytest.param(["serve", "--help"], 0, id="help of a command"),
        pytest.param(["--version"], 0, id="version"),
        pytest.param([], 2, id="no command"),
        pytest.param(["serve", "-q", "-v"], 2, id="quiet and verbose"),
        pytest.param(["serve", "-t", "0"], 2, id="no duration"),
        pytest.param(["completion", "tcsh"], 2, id="no such shell"),
        pytest.param(["run", "--"], 2, id="nothing to run"),
        pytest.param(["run", "--isolated", "--define", "A", "true"], 2, id="no definition"),
        pytest.param(["status", "--short", "--json"], 2, id="short and JSON"),
    ],
)
def test_light_commands(args: list[str], code: int) -> None:
    """Help, version and errors of usage load none of the libraries."""
    assert loaded(run(*args), HEAVY) == (code, "")


def test_status_for_a_prompt(tmp_path: Path) -> None:
    """What is in everybody's prompt loads no more than the express lane of run does."""
    with serving(tmp_path):
        watched = HEAVY | {"argparse", "contextlib", "dataclasses", "datetime", "typing"}
        assert loaded(run("status", "--short"), watched, tmp_path) == (0, "")


@pytest.mark.parametrize(
    ("args", "marker", "code"),
    [
        pytest.param(["run", "--", "true"], None, 3, id="run without a session"),
        pytest.param(["dump"], None, 3, id="dump without a session"),
        pytest.param(["status"], None, 3, id="status without a session"),
        pytest.param(["status", "--short"], b"socket=/a\n", 4, id="status of a dead session"),
        pytest.param(["stop"], None, 3, id="stop without a session"),
        pytest.param(["run", "--", "true"], b"socket=\n", 9, id="malformed marker"),
        pytest.param(["serve"], b"socket=/a\n", 10, id="serve twice"),
    ],
)
def test_failures_before_a_connection(
    args: list[str], marker: bytes | None, code: int, tmp_path: Path
) -> None:
    """Everything that fails before a connection fails without loading Trio."""
    if marker is not None:
        (tmp_path / ".hotenv").write_bytes(marker)
        os.chmod(tmp_path / ".hotenv", 0o600)
    assert loaded(run(*args), {"trio"}, tmp_path) == (code, "")
