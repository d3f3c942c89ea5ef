"""The plan of the package (design): who imports whom, and what is not waited for."""

from __future__ import annotations

import ast
import graphlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import hotenv
from guarded import needs_guards
from processes import serving

PACKAGE = Path(hotenv.__file__).parent


def name_of(path: Path) -> str:
    """What a module of the package is called here: ``errors``, ``session.marker``, ``session``."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)


MODULES = {name_of(path): ast.parse(path.read_text()) for path in PACKAGE.rglob("*.py")}

QUALIFIED = {f"hotenv.{name}" for name in MODULES}

ROOMS = {
    *("audit", "cli", "desk", "exchange", "guards", "handover", "intake", "project", "redaction"),
    *("remote", "serving", "session", "shell", "upkeep"),
}

BESIDE = {
    *("durations", "errors", "libc", "lightweight", "printable", "snapshot", "suggestion"),
    *("table", "termination", "variables"),
}
"""Modules beside the rooms that all of them may use."""

LAYERS = [
    {"cli", "__main__"},
    {"upkeep"},
    {"serving"},
    {"desk", "shell"},
    {"project"},
    {"guards"},
    {"audit", "redaction", "remote"},
    {"intake", "handover"},
    {"exchange"},
    {"session"},
    {"program", "coredump", "descriptors", "lineage"},
    {"stdio"},
    BESIDE,
]
"""Modules and rooms, from the top. Each imports from its own layer and from those below."""

PURE = {
    *(
        "audit.chain",
        "audit.verification",
        "durations",
        "errors",
        "printable",
        "snapshot",
        "suggestion",
        "table",
    ),
    *("termination", "variables"),
    *("desk.agents", "desk.frames", "desk.request", "desk.settings", "desk.tools"),
    "exchange.protocol",
    *("guards.bpf", "guards.dns", "guards.domains", "guards.fields", "guards.filter"),
    *("guards.policy", "guards.probes", "guards.report", "guards.sources", "guards.syscalls"),
    "guards.verdict",
    *("handover.childenv", "handover.composition", "handover.formats", "handover.layers"),
    *("handover.selection", "handover.wellknown"),
    *("intake.answer", "intake.bindings", "intake.contract", "intake.dotenvtext"),
    *("intake.parsing", "intake.formats", "intake.jsontext", "intake.listing", "intake.rules"),
    *("project.agent", "project.agentrules", "project.argvpatterns", "project.converters"),
    *("project.said", "project.tables"),
    *("redaction.escapes", "redaction.finder", "redaction.forms", "redaction.needle"),
    *("redaction.redactor", "redaction.values", "remote.destination", "remote.lines"),
    *("remote.records", "remote.settlement", "remote.welcome"),
    "serving.events",
    *("shell.bounds", "shell.dialogue", "shell.framing", "shell.limits", "shell.policy"),
    *("shell.result", "shell.task", "shell.words", "shell.wrappers"),
    "upkeep.report",
}

NO_EFFECTS = {
    *("__future__", "attrs", "attrs.converters", "binascii", "bisect", "codecs", "collections"),
    *("collections.abc", "difflib", "dotenv.parser", "dotenv.variables", "enum", "fnmatch"),
    *("hashlib", "idna", "io", "ipaddress", "itertools", "json", "math", "posixpath", "re"),
    *("struct", "types", "typing", "unicodedata"),
}
"""What pure modules may import, beside each other: nothing that reaches the outside."""

WITHOUT_EFFECTS = {
    "hotenv.handover.launch": {"LONGEST_STRING"},
    "hotenv.lightweight": {"parse_json", "quote"},
    "signal": {"NAME"},  # the numbers of signals
    "errno": {"NAME"},  # the numbers of errors
    "os": {"fsdecode", "fsencode"},
    "sys": {"platform"},
}
"""Names that pure modules may take from modules which have others too."""

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
    for module in set(imports(tree, typing=False)) - allowed:
        assert used_of(tree, module) <= WITHOUT_EFFECTS.get(module, set()), module
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert names & EFFECTS == set()


def used_of(tree: ast.AST, module: str) -> set[str]:
    """What ``tree`` takes from ``module``: a constant in capitals counts as ``NAME``."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == module:
            names |= {alias.name for alias in node.names}
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == module:
            names.add(node.attr)
    return {"NAME" if name.startswith(("SIG", "E")) else name for name in names}


@pytest.mark.parametrize("name", sorted(PURE))
def test_pure_modules_say_so(name: str) -> None:
    """What is listed as pure is called so where it stands, unless its name alone says it."""
    said = {name for name, tree in MODULES.items() if "Pure" in (ast.get_docstring(tree) or "")}
    assert name in said | {"errors", "serving.events"}
    assert said <= PURE


def test_only_one_module_knows_the_cores() -> None:
    """The C cores of the standard library are chosen in lightweight, and ctypes is used in libc."""
    for name, tree in MODULES.items():
        loaded_ = {module.partition(".")[0] for module in imports(tree, typing=False)}
        if name.startswith("guards.python."):  # of programs that have nothing of hotenv
            continue
        assert name == "lightweight" or not loaded_ & {"_json", "_signal", "_socket"}
        assert name == "libc" or "ctypes" not in loaded_


# In a fresh interpreter

HEAVY = {"attr", "attrs", "dotenv", "trio"}

SLOW = HEAVY | {
    *("argparse", "collections", "contextlib", "ctypes", "dataclasses", "datetime", "enum"),
    *("fnmatch", "functools", "inspect", "json", "re", "signal", "socket", "struct", "typing"),
}
"""What takes long to load, measured by a bare interpreter."""

WITHOUT_ATTRS = HEAVY | {"inspect", "json", "shutil", "typing"}
"""What no option of run and dump needs, although argparse needs some of the rest."""

# Without json, which loads what is looked for. What is executed is not, but was found.
FRESH = """
import sys
path, statement, watched = eval(sys.argv[1])
sys.path[:] = path
bare = set(sys.modules)
import os
def execve(*_):
    raise SystemExit(0)
os.execve = execve
code = None
try:
    exec(statement)
except SystemExit as exit:
    code = exit.code
print()
print(repr((code, sorted(set(watched).intersection(sys.modules) - bare))))
"""


def loaded(statement: str, watched: set[str], directory: Path | None = None) -> tuple[object, str]:
    """The exit code of ``statement`` in a fresh interpreter, and what it loads of ``watched``.

    Without site: what it imports, coverage among it, does not count. No command is executed.
    """
    path = [str(PACKAGE.parent), *(entry for entry in sys.path if entry)]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", FRESH, repr((path, statement, watched))],
        cwd=directory,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=60,
    )
    code, modules = ast.literal_eval(done.stdout.splitlines()[-1].decode())
    return code, " ".join(modules)


def test_what_is_loaded_is_seen() -> None:
    """The way that the following tests look can find something, and finds nothing by itself."""
    assert loaded("import attrs, trio, dotenv; sys.exit(3)", HEAVY) == (3, "attr attrs dotenv trio")
    everything = "; ".join(f"import {module}" for module in sorted(SLOW))
    assert loaded(everything, SLOW) == (None, " ".join(sorted(SLOW)))
    assert loaded("", SLOW) == (None, "")


@pytest.mark.parametrize("module", ["hotenv", "hotenv.cli", "hotenv.cli.main"])
def test_light_import(module: str) -> None:
    """Importing the package or the command line loads none of the libraries, nor what is slow."""
    assert loaded(f"import {module}", SLOW) == (None, "")


@pytest.mark.parametrize(
    "module",
    [
        *("coredump", "errors", "exchange.answer", "exchange.direct", "exchange.probe"),
        *("exchange.protocol", "handover.launch", "lightweight", "program", "session.find"),
        *("session.liveness", "session.marker", "session.note", "session.runtime"),
        *("session.status", "stdio", "upkeep.status"),
    ],
)
def test_very_light_import(module: str) -> None:
    """What every client loads does without the slower modules of the standard library too."""
    assert loaded(f"import hotenv.{module}", SLOW) == (None, "")


def test_light_supervision() -> None:
    """What stays while a command runs keeps it waiting for ctypes alone."""
    beside = SLOW - {"ctypes", "struct"}
    assert loaded("import hotenv.handover.supervised", beside) == (None, "")


def test_guards_are_light() -> None:
    """What a guarded command waits for: ctypes, and what that needs."""
    modules = ("run", "supervisor", "confine", "landlock", "filter")
    statement = "; ".join(f"import hotenv.guards.{module}" for module in modules)
    assert loaded(statement, SLOW) == (None, "ctypes struct")


@needs_guards
@pytest.mark.usefixtures("unmeasured")
@pytest.mark.parametrize("options", [["--no-network"], ["--fs-readonly", "--trace"]], ids=" ".join)
def test_the_fastest_guards(options: list[str]) -> None:
    """Options without arguments need no argparse."""
    words = ["-I", "-X", "importtime", "-m", "hotenv", "guard", *options, "--", "true"]
    done = subprocess.run([sys.executable, *words], capture_output=True, check=True)
    assert b" hotenv.guards.supervisor\n" in done.stderr
    assert b" argparse\n" not in done.stderr


@pytest.mark.parametrize("args", [["run", "--", "true"], ["run", "--no-override", "--", "true"]])
def test_guards_are_not_loaded(args: list[str], session: Path) -> None:
    """Who wants no guard does not pay for them."""
    rooms = {"hotenv.guards", "hotenv.guards.policy", "hotenv.guards.run"}
    assert loaded(run(*args), rooms, session) == (0, "")


@pytest.mark.parametrize("module", ["handover.layers", "handover.formats", "handover.selection"])
def test_composition_without_attrs(module: str) -> None:
    """The core of what run and dump compose works on plain values."""
    assert loaded(f"import hotenv.{module}", WITHOUT_ATTRS | {"argparse"}) == (None, "")


def run(*args: str) -> str:
    """A statement that runs a command."""
    return f"from hotenv.cli.main import main; sys.exit(main({list(args)!r}))"


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
        pytest.param(["run", "--pass", "@x", "true"], 2, id="no such group"),
        pytest.param(["status", "--short", "--json"], 2, id="short and JSON"),
    ],
)
def test_light_commands(args: list[str], code: int) -> None:
    """Help, version and errors of usage load none of the libraries."""
    assert loaded(run(*args), HEAVY) == (code, "")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory with a session."""
    directory = tmp_path_factory.mktemp("session")
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(dir="/tmp") as base:
        patch.setenv("XDG_RUNTIME_DIR", base)
        with serving(directory, b"A=1\nAB=2\nB=3\n"):
            yield directory


DEAD = b"socket=/nowhere/0123abcd.sock\n"
"""The marker of a session that is gone with the directory of its socket."""


@pytest.mark.parametrize("args", [["run", "--", "true"], ["status", "--short"]], ids=" ".join)
def test_the_fastest_commands(args: list[str], session: Path) -> None:
    """What is used all day, and in every prompt, loads nothing that takes long to load."""
    assert loaded(run(*args), SLOW, session) == (0, "")


@pytest.mark.parametrize("args", [["run", "--", "true"], ["status", "--short"]], ids=" ".join)
def test_the_fastest_commands_below(args: list[str], session: Path) -> None:
    """The same from below, where notes of expired sessions are looked for."""
    (session / "a" / "b").mkdir(parents=True, exist_ok=True)
    assert loaded(run(*args), SLOW, session / "a" / "b") == (0, "")


def test_notes_are_looked_for_only_on_the_way_up(session: Path) -> None:
    """In the directory of the session their module is not loaded."""
    notes = {"hotenv.session.note", "hotenv.session.runtime"}
    assert loaded(run("run", "--", "true"), notes, session) == (0, "")
    (session / "below").mkdir()
    assert loaded(run("run", "--", "true"), notes, session / "below") == (
        0,
        " ".join(sorted(notes)),
    )


def test_the_file_of_the_project_is_not_looked_for(session: Path) -> None:
    """While a session answers: neither is the room loaded that reads it, nor what that needs."""
    rooms = {"hotenv.project", "hotenv.project.file", "hotenv.cli.ondemand", "tomllib"}
    (session / "hotenv.toml").write_text("nonsense")
    assert loaded(run("run", "--", "true"), rooms | SLOW, session) == (0, "")
    assert loaded(run("run", "-v", "true"), rooms, session) == (0, "")
    (session / "hotenv.toml").unlink()


def test_toml_is_not_loaded_without_a_file(tmp_path: Path) -> None:
    """Where there is no session and no file, the search for one is all that it costs."""
    assert loaded(run("run", "--", "true"), {"tomllib"}, tmp_path) == (3, "")


@pytest.mark.parametrize(
    "args",
    [
        ["dump"],
        ["dump", "--format", "json", "--except", "A*"],
        ["run", "--isolated", "--only", "A*", "--", "true"],
        ["run", "--as-file", "A", "--env-file", "null", "true", "{}"],
        ["run", "--define", "C=1", "--bin", "/a", "--pass", "@net", "--", "true"],
        ["run", "--explain", "true"],
        ["run", "--wait", "1", "--", "true"],
    ],
    ids=" ".join,
)
def test_options_without_attrs(args: list[str], session: Path) -> None:
    """No option of run or dump loads attrs, Trio, or what these need."""
    assert loaded(run(*args), WITHOUT_ATTRS, session) == (0, "")


@pytest.mark.parametrize(
    ("args", "marker", "code"),
    [
        pytest.param(["run", "--", "true"], None, 3, id="run without a session"),
        pytest.param(["dump"], None, 3, id="dump without a session"),
        pytest.param(["status"], None, 3, id="status without a session"),
        pytest.param(["status", "--short"], DEAD, 4, id="status of a dead session"),
        pytest.param(["stop"], None, 3, id="stop without a session"),
        pytest.param(["run", "--", "true"], b"socket=\n", 9, id="malformed marker"),
        pytest.param(["run", "--", "true"], b"socket=/a\n", 9, id="a socket of no session"),
        pytest.param(["serve"], DEAD, 10, id="serve twice"),
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
