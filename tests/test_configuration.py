"""Guards of a project's file and of variables (hotenv.cli.configuration, cli.projectguards)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hotenv.cli.configuration import options_in_variable, own_sources, sources
from hotenv.errors import SystemFailureError, UsageError
from hotenv.guards.policy import Guard
from hotenv.guards.sources import combined


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of a project, where this process is; no variable says anything."""
    for name in ("HOTENV_GUARD", "HOTENV_PROFILE", "HOTENV_FS_ROOT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def guard_of(**given: object) -> Guard:
    """What all sources make together, here."""
    return combined(sources(given, options_in_variable()))


def test_nothing(project: Path) -> None:
    """A folder without a file, and files that say nothing about guards."""
    assert guard_of() == Guard()
    (project / "pyproject.toml").write_text("[project]\nname = 'hotenv'\n")
    assert guard_of() == Guard()
    (project / "pyproject.toml").write_text("broken, but it is for others")
    assert guard_of() == Guard()
    (project / "hotenv.toml").write_text("")
    assert guard_of() == Guard()


def test_own_file(project: Path) -> None:
    """What it says holds for all directories below, and its paths start from where it is."""
    (project / "build").mkdir()
    (project / "hotenv.toml").write_text(
        "[guard]\nno-network = true\nno-subprocess = false\nfs-readonly = '.'\n"
        "allow-write = ['build']\nallow-read = ['/usr']\n"
    )
    guard = Guard(
        no_network=True,
        fs_readonly=True,
        allow_read=[str(project), "/usr"],
        allow_write=[str(project / "build")],
    )
    assert guard_of() == guard
    os.chdir(project / "build")
    assert guard_of() == guard


def test_hosts(project: Path) -> None:
    """A list of them, each as on the command line."""
    (project / "hotenv.toml").write_text("[guard]\nallow-domain = ['A.example', 'b.example:1']\n")
    assert guard_of() == Guard(allow_domain=["a.example", "b.example:1"])
    assert guard_of(no_network=True) == Guard(no_network=True)
    assert guard_of(allow_domain=["b.example"]) == Guard(allow_domain=["b.example"])
    (project / "hotenv.toml").write_text("[guard]\nallow-domain = ['*.example']\n")
    with pytest.raises(UsageError, match=r"toml: guard.allow-domain: \*.example: must be HOST"):
        guard_of()


def test_imports(project: Path) -> None:
    """A file can be strict, and except modules from that."""
    (project / "hotenv.toml").write_text(
        "[guard]\nstrict-imports = 'all'\nallow-import = ['a.b', '_socket']\n"
    )
    strict = Guard(strict_imports="all", allow_import=["a.b", "_socket"])
    assert guard_of() == strict
    assert guard_of(strict_imports=True) == Guard(strict_imports="all")
    assert guard_of(strict_imports=True, allow_import=["a"]) == Guard(
        strict_imports="all", allow_import=["a.b", "a"]
    )
    for wrong, said in (
        ("strict-imports = 'some'", 'strict-imports: must be true, false or "all"'),
        ("strict-imports = 1", 'strict-imports: must be true, false or "all"'),
        ("strict-imports = true\nallow-import = ['a-b']", "allow-import: a-b: must be the name"),
    ):
        (project / "hotenv.toml").write_text(f"[guard]\n{wrong}\n")
        with pytest.raises(UsageError, match=said):
            guard_of()


def test_modules_in_a_variable(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake is told with where it is."""
    monkeypatch.setenv("HOTENV_GUARD", "--strict-imports --allow-import a.b")
    assert guard_of() == Guard(strict_imports=True, allow_import=["a.b"])
    monkeypatch.setenv("HOTENV_GUARD", "--strict-imports --allow-import a-b")
    with pytest.raises(UsageError, match=r"HOTENV_GUARD: --allow-import a-b: must be the name"):
        guard_of()


def test_shared_file(project: Path) -> None:
    """In pyproject.toml it is below tool.hotenv; hotenv.toml beside it comes first."""
    (project / "pyproject.toml").write_text("[tool.hotenv.guard]\nno-network = true\n")
    assert guard_of() == Guard(no_network=True)
    (project / "hotenv.toml").write_text("[guard]\nno-subprocess = true\n")
    assert guard_of() == Guard(no_subprocess=True)


def test_nearest(project: Path) -> None:
    """The next file that says something about hotenv counts, and it alone."""
    (project / "hotenv.toml").write_text("[guard]\nno-network = true\n")
    inner = project / "inner"
    inner.mkdir()
    os.chdir(inner)
    (inner / "pyproject.toml").write_text("[tool.hotenv-like]\nx = 1\n")
    assert guard_of() == Guard(no_network=True)
    (inner / "pyproject.toml").write_text("[tool.hotenv]\n")
    assert guard_of() == Guard()


def test_profiles(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hotenv's and the project's, by option, by variable and by the file itself."""
    (project / "hotenv.toml").write_text(
        "[guard]\nprofile = ['exec-deny']\n[profiles.ci]\nprivate-tmp = true\n"
    )
    assert guard_of() == Guard(no_subprocess=True)
    assert guard_of(profile=["ci", "net-hermetic"]) == Guard(
        no_subprocess=True, private_tmp=True, allow_localhost=True
    )
    monkeypatch.setenv("HOTENV_PROFILE", "ci, fs-readonly")
    assert guard_of() == Guard(no_subprocess=True, private_tmp=True, fs_readonly=True)


def test_a_file_cannot_loosen(project: Path) -> None:
    """Whatever a project calls its profile, it does not open what its user has closed."""
    (project / "hotenv.toml").write_text("[profiles.ci]\nallow-localhost = true\n")
    assert guard_of(profile=["ci"]) == Guard(allow_localhost=True)
    assert guard_of(profile=["ci"], no_network=True) == Guard(no_network=True)
    assert guard_of(profile=["ci", "net-hermetic"]) == Guard(allow_localhost=True)


def test_variables(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Options as in a shell, and a root."""
    (project / "a b").mkdir()
    monkeypatch.setenv("HOTENV_GUARD", "--no-network --trace --allow-unix 'a b'")
    assert guard_of() == Guard(no_network=True, allow_unix=[f"{project}/a b"])
    assert options_in_variable()["trace"] is True
    monkeypatch.setenv("HOTENV_FS_ROOT", "a b")
    guard = Guard(no_network=True, fs_readonly=True, allow_read=[f"{project}/a b"])
    assert guard_of() == guard  # what counted for a lower source does not for the root
    assert guard_of(allow_unix=["a b"]).allow_unix == (f"{project}/a b",)


def test_command_line_alone(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For who has said all."""
    (project / "hotenv.toml").write_text("[guard]\nno-network = true\n")
    monkeypatch.setenv("HOTENV_PROFILE", "exec-deny")
    assert combined(own_sources({"private_tmp": True})) == Guard(private_tmp=True)


KNOWN = "(known: net-hermetic, exec-deny, fs-readonly, strict-imports, hermetic, mine)"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[guard", "hotenv.toml: not TOML: "),
        ("\udcff", "hotenv.toml: not UTF-8"),
        ("guard = 1", "hotenv.toml: guard: must be a table"),
        (
            "[gard]",
            "gard: unknown table: did you mean 'guard'? (known: session, run, agent, guard,",
        ),
        (
            "[guard]\nno-netwrk = true",
            "guard.no-netwrk: unknown key: did you mean 'no-network'? (known: no-network, no-sub",
        ),
        ("[guard]\nno_network = true", "did you mean 'no-network'?"),
        ("[guard]\nno-network = 'yes'", "hotenv.toml: guard.no-network: must be true or false"),
        ("[guard]\nfs-readonly = 1", "fs-readonly: must be true, false or a directory"),
        ("[guard]\nfs-readonly = ''", "fs-readonly: must be true, false or a directory"),
        ("[guard]\nfs-readonly = 'x'", "hotenv.toml: guard.fs-readonly x: no such file or direc"),
        (
            "[guard]\nallow-write = 'x'",
            "hotenv.toml: guard.allow-write: must be a non-empty list of strings",
        ),
        ("[guard]\nallow-read = [1]", "hotenv.toml: guard.allow-read: must be a non-empty string"),
        ("[guard]\nallow-write = ['x']", "hotenv.toml: guard.allow-write x: no such file or direc"),
        ("[guard]\nallow-write = ['/']", "--allow-write (hotenv.toml) has no effect"),
        ("[guard]\nallow-unix = ['/']", "a file cannot allow sockets: use --allow-unix or HOTENV"),
        ("[guard]\nkeep-status = true", "guard.keep-status: unknown key (known: "),
        ("[guard]\nprofile = ['min']\n[profiles.mine]", "hotenv.toml: no such profile 'min'{}"),
        (
            "[profiles.exec-deny]",
            "hotenv.toml: profiles.exec-deny: hotenv has a profile of this name",
        ),
        ("[profiles.a]\nprofile = ['b']", "hotenv.toml: profiles.a.profile: unknown key"),
        ("profiles.a = 1", "hotenv.toml: profiles.a: must be a table"),
    ],
)
def test_mistakes(text: str, said: str, project: Path) -> None:
    """Each is told with the file, what is known, and what may have been meant."""
    (project / "hotenv.toml").write_text(text, errors="surrogateescape")
    with pytest.raises(UsageError) as raised:
        guard_of()
    assert said.replace("{}", f": did you mean 'mine'? {KNOWN}") in str(raised.value)


def test_unknown_profile(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says who has asked for it."""
    with pytest.raises(UsageError, match="command line: no such profile 'x'"):
        guard_of(profile=["x"])
    monkeypatch.setenv("HOTENV_PROFILE", "net-hermetik")
    with pytest.raises(UsageError, match=r"HOTENV_PROFILE: .*did you mean 'net-hermetic'"):
        guard_of()


@pytest.mark.parametrize("words", ["--no-netwrk", "'", "--allow-write x"])
def test_mistakes_in_variables(words: str, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are told with the name of the variable."""
    monkeypatch.setenv("HOTENV_GUARD", words)
    with pytest.raises(UsageError, match="HOTENV_GUARD: "):
        guard_of()
    monkeypatch.setenv("HOTENV_GUARD", "")
    monkeypatch.setenv("HOTENV_FS_ROOT", "x")
    with pytest.raises(UsageError, match="HOTENV_FS_ROOT x: no such file or directory"):
        guard_of()


def test_what_is_no_file(project: Path) -> None:
    """It is not taken for a missing one, nor waited for, nor read without end."""
    os.mkfifo(project / "hotenv.toml")
    with pytest.raises(SystemFailureError, match="is not a regular file"):
        guard_of()
    (project / "hotenv.toml").unlink()
    with (project / "hotenv.toml").open("wb") as file:
        file.truncate(2 << 20)
    with pytest.raises(SystemFailureError, match="is too large"):
        guard_of()
    (project / "hotenv.toml").unlink()
    (project / "hotenv.toml").symlink_to("hotenv.toml")
    with pytest.raises(SystemFailureError, match="cannot read"):
        guard_of()
    (project / "hotenv.toml").unlink()
    os.mkfifo(project / "pyproject.toml")
    with pytest.raises(SystemFailureError, match="is not a regular file"):
        guard_of()


def test_a_file_of_others(project: Path) -> None:
    """Whoever can write to it, or has linked it: it can only tighten."""
    (project / "real.toml").write_text("[guard]\nno-network = true\n")
    (project / "real.toml").chmod(0o666)
    (project / "hotenv.toml").symlink_to("real.toml")
    assert guard_of() == Guard(no_network=True)


def test_beside_other_tables(project: Path) -> None:
    """What needs permission does not count here, and is no mistake."""
    (project / "hotenv.toml").write_text(
        "[session]\nsource = ['pass']\n[run]\nisolated = true\n[guard]\nno-network = true\n"
    )
    assert guard_of() == Guard(no_network=True)
