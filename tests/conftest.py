"""Fixtures: a runtime directory of the test's own, and async tests that run in Trio."""

from __future__ import annotations

import inspect
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from trio.testing import MockClock, trio_test

from hotenv.guards import privatetmp
from hotenv.session import runtime as bases
from hotenv.shell import approval, kept
from hotenv.termination import TERMINATION_SIGNALS
from processes import LIMIT
from users import STRANGER, VICTIM

# For the fixtures shop and machine, and so that a failed assert in them is explained.
pytest_plugins = ["readme", "sshd"]

settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")  # none of them is about speed


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Run a coroutine test with trio.run, on the clock that it asks for."""
    if inspect.iscoroutinefunction(pyfuncitem.obj):
        pyfuncitem.obj = trio_test(pyfuncitem.obj)


def pytest_make_parametrize_id(val: object) -> str | None:
    """The same names in each worker of a run for users whose numbers are not."""
    return {VICTIM: "victim", STRANGER: "stranger"}.get(val) if isinstance(val, int) else None


@pytest.fixture(scope="session", autouse=True)
def dispositions() -> Iterator[None]:
    """Every signal that ends a process by default does so, even if the caller ignores it."""
    ignored = [each for each in TERMINATION_SIGNALS if signal.getsignal(each) is signal.SIG_IGN]
    for each in ignored:
        signal.signal(each, signal.default_int_handler if each == signal.SIGINT else signal.SIG_DFL)
    yield
    for each in ignored:
        signal.signal(each, signal.SIG_IGN)


_GUARDED = ("test_guard", "test_agent", "test_desk", "test_mcp")
_MEASURED = """[run]
source_pkgs = hotenv
branch = true
parallel = true
patch = subprocess, _exit
"""


@pytest.fixture(autouse=True)
def measured(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Under coverage, the process that becomes a guarded command does not save what it did.

    That would be a file written under a guard, and so blocked, and reported.
    """
    is_guarded = request.path.stem.startswith(_GUARDED)
    if "COVERAGE_PROCESS_CONFIG" in os.environ and is_guarded:
        settings = tmp_path_factory.getbasetemp() / "coverage.ini"
        settings.write_text(_MEASURED)
        monkeypatch.delenv("COVERAGE_PROCESS_CONFIG")
        monkeypatch.setenv("COVERAGE_PROCESS_START", str(settings))


@pytest.fixture
def unmeasured(measured: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """No process that the test starts is measured: it may not write, or not load, what it takes."""
    for name in [name for name in os.environ if name.startswith("COVERAGE_")]:
        monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _patience(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, a parser may take its time, and so may the end of a shell's processes."""
    if request.path.stem.startswith(("test_shell", "test_remote")):
        for module in (approval, kept):
            monkeypatch.setattr(module, "_PATIENCE", LIMIT)


@pytest.fixture
def importing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pythons that the test starts import what is in their directory, as they do outside of tox."""
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)


@pytest.fixture
def mock_clock() -> MockClock:
    """A clock that a test moves by hand."""
    return MockClock()


@pytest.fixture
def autojump_clock() -> MockClock:
    """A clock that jumps to the next deadline when all tasks wait. Not for real sockets."""
    return MockClock(autojump_threshold=0)


@pytest.fixture(autouse=True)
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A private XDG_RUNTIME_DIR. Its path is short, for sockets: pytest's own can be too long."""
    directory = Path(tempfile.mkdtemp(prefix="hx", dir="/tmp"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(directory))
    for name in ("SUDO_UID", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(autouse=True)
def _umask() -> Iterator[None]:
    """What tests write, other users cannot: a project's file, and what it names, must be so."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A private XDG_STATE_HOME: which files of projects are allowed is the test's own affair."""
    directory = tmp_path_factory.getbasetemp() / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(directory))
    return directory


@pytest.fixture
def alone(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process knows no sessions of its user but those of the test. Others: see ALONE."""
    monkeypatch.setattr(bases, "LOGINS", str(runtime))
    for module in (bases, privatetmp):
        monkeypatch.setattr(module, "SHARED", str(runtime))


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def umask() -> Iterator[None]:
    """Puts the umask back that a test changed."""
    before = os.umask(0o022)
    yield
    os.umask(before)
