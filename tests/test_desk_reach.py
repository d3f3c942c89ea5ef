"""desk.reach: an agent does not start where it could change, or see, what it must not."""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hotenv.desk import start
from hotenv.desk.hardlinks import HardLinks, linked_files
from hotenv.desk.reach import check_reach, homes, without_values
from hotenv.errors import UsageError

Refusal = Callable[..., str]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """What the agent can write."""
    directory = tmp_path / "shop"
    directory.mkdir()
    return directory


@pytest.fixture
def refusal(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Refusal:
    """Why an agent in the project is not started; empty if it is."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    def why(*sockets: str, audit: str = "/var/log/audit") -> str:
        try:
            check_reach([str(project)], sockets, audit)
        except UsageError as error:
            return str(error)
        return ""

    return why


def test_a_project(refusal: Refusal) -> None:
    """One that has nothing of what people rely on."""
    assert refusal() == ""


def test_a_home(
    project: Path, refusal: Refusal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither that of HOME nor that of the user, whatever the other is."""
    monkeypatch.setenv("HOME", str(project))
    assert f"what your shell reads, in {project}: use a directory below that" in refusal()
    entry = pwd.struct_passwd(("u", "x", 1, 1, "", str(project / "me"), "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: entry)
    for named in (str(tmp_path), "/nonexistent"):
        monkeypatch.setenv("HOME", named)
        assert f"what your shell reads, in {project / 'me'}" in refusal()
        assert homes() == [named, str(project / "me")]


@pytest.mark.parametrize("named", ["", "relative"])
def test_no_home(named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is closed there would be found nowhere."""
    monkeypatch.setenv("HOME", named)
    with pytest.raises(UsageError, match="HOME must be an absolute path"):
        homes()


def test_a_directory_of_code(
    project: Path, refusal: Refusal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That Python looks into, as for a project that is installed to be edited."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(project / "src")])
    assert f"hotenv itself, in {project / 'src'}: install hotenv elsewhere" in refusal()


def test_hard_links(
    project: Path, refusal: Refusal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Installers share files between a cache, tools and projects."""
    code, cache = tmp_path / "code" / "part", tmp_path / "cache"
    code.mkdir(parents=True)
    module = code / "module.py"
    module.write_text("")
    os.link(module, cache)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "code")])
    assert refusal() == ""
    (project / "deep").mkdir()
    os.link(module, project / "deep" / "mine.py")
    assert f"could change {module}, a part of hotenv, which is a hard link" in refusal()


def test_linked_files(project: Path) -> None:
    """Those with several names, a single file too; no link is followed, and nothing has to be."""
    (project / "one").write_text("")
    (project / "two").write_text("")
    os.link(project / "two", project / "three")
    (project / "loop").symlink_to(".")
    found = {path for path, _ in linked_files(str(project))}
    assert found == {str(project / "two"), str(project / "three")}
    assert [path for path, _ in linked_files(str(project / "two"))] == [str(project / "two")]
    assert [*linked_files(str(project / "none"))] == []
    links = HardLinks([str(project / "three")])
    assert os.stat(project / "two") in links
    assert os.stat(project / "one") not in links


def test_the_command_itself(
    project: Path, refusal: Refusal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is found as hotenv by whoever answers questions."""
    (project / "bin").mkdir()
    (project / "bin" / "hotenv").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", f"{project / 'bin'}:{os.environ['PATH']}")
    assert f"the command {project / 'bin' / 'hotenv'}: take its directory" in refusal()


def test_what_hotenv_keeps(
    project: Path, refusal: Refusal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Permissions and heads of logs, the log, and the sockets."""
    assert "the audit log: name a file elsewhere" in refusal(audit=str(project / "log"))
    assert "answer its own questions: name a socket" in refusal("/run")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(project))
    assert "the sockets of hotenv" in refusal()
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setenv("XDG_STATE_HOME", str(project / "state"))
    assert f"what hotenv keeps, in {project}/state/hotenv: set XDG_STATE_HOME" in refusal()


def test_the_environment_of_a_desk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has nothing by which an agent could load code into the next process of the desk."""
    for name in ("LD_PRELOAD", "LD_LIBRARY_PATH", "GCONV_PATH", "PYTHONPATH", "API_TOKEN"):
        monkeypatch.setenv(name, "/shop")
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    found = start._environment()
    assert found["XDG_STATE_HOME"] == "/state"
    assert "/shop" not in found.values()


def test_values_in_the_environment() -> None:
    """A value is found under any name, and inside another one."""
    environment = {
        b"PASSWORD": b"other",
        b"COPY": b"s3cr3t-Value-1234",
        b"URL": b"pg://u:s3cr3t-Value-1234@db/x",
        b"CODED": b"czNjcjN0LVZhbHVlLTEyMzQ=",
        b"PATH": b"/bin:s3cr3t-Value-1234",
        b"MODE": b"dev",
        b"SHELL": b"/bin/sh",
    }
    kept = without_values(environment, {"PASSWORD": "s3cr3t-Value-1234", "MODE": "dev", "N": "1"})
    assert kept == {name: environment[name] for name in (b"PASSWORD", b"PATH", b"SHELL")}
