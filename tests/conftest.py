"""Fixtures: a runtime folder of the test's own, and async tests that run in Trio."""

from __future__ import annotations

import inspect
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from trio.testing import MockClock, trio_test

from users import STRANGER, VICTIM

pytest_plugins = ["readme"]  # for the fixture shop, and so that a failed assert in it is explained


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Run a coroutine test with trio.run, on the clock that it asks for."""
    if inspect.iscoroutinefunction(pyfuncitem.obj):
        pyfuncitem.obj = trio_test(pyfuncitem.obj)


def pytest_make_parametrize_id(val: object) -> str | None:
    """The same names in each worker of a run for users whose numbers are not."""
    return {VICTIM: "victim", STRANGER: "stranger"}.get(val) if isinstance(val, int) else None


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
    folder = Path(tempfile.mkdtemp(prefix="hx", dir="/tmp"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    for name in ("SUDO_UID", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def umask() -> Iterator[None]:
    """Puts the umask back that a test changed."""
    before = os.umask(0o022)
    yield
    os.umask(before)
