"""Finding the file of a project, and allowing it."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hotenv.cli.main import main
from hotenv.errors import HotenvError, SystemFailureError, UsageError
from hotenv.project import file as files
from hotenv.project import trust
from hotenv.project.file import ProjectFile, nearest_file
from hotenv.project.settings import consult
from hotenv.project.trust import allow, deny, own_files, refusal

TEXT = '[session]\nsource = ["op", "inject", "-i", ".env.op"]\ntimeout = "10m"\n'


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store."""
    directory = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(directory))
    return directory


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of a project, which is the current one."""
    directory = tmp_path / "shop"
    (directory / "src").mkdir(parents=True)
    (directory / "hotenv.toml").write_text(TEXT)
    (directory / "hotenv.toml").chmod(0o644)
    monkeypatch.chdir(directory)
    return directory


def here() -> ProjectFile:
    """The file of the current directory."""
    found = nearest_file()
    assert found is not None
    return found


# The file


def test_nearest(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is looked for in a directory and above."""
    monkeypatch.chdir(shop / "src")
    assert here().path == str(shop / "hotenv.toml")
    (shop / "src" / "hotenv.toml").write_text("")
    (shop / "src" / "hotenv.toml").chmod(0o600)
    assert (here().directory, here().tables) == (str(shop / "src"), {})
    nearer = nearest_file(str(shop))
    assert nearer is not None
    assert nearer.directory == str(shop)


def test_none(tmp_path: Path) -> None:
    """There may be none."""
    assert nearest_file(str(tmp_path)) is None


@pytest.mark.parametrize(
    "other",
    ["", "[tool.x]\nhotenv = 1\n", "[tool]\nhotenv = 1", "# hotenv\ntool = 1\n", "[tool.", "\xff"],
    ids=repr,
)
def test_another_pyproject(shop: Path, other: str) -> None:
    """A pyproject.toml without a table of ours is passed over, in whatever state it is."""
    (shop / "src" / "pyproject.toml").write_text(other, "latin-1")
    found = nearest_file(str(shop / "src"))
    assert found is not None
    assert found.directory == str(shop)


def test_pyproject(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[tool.hotenv] in it is one, and messages give the whole path; hotenv.toml goes first."""
    (shop / "pyproject.toml").write_text('[tool.hotenv.session]\ntimout = "1m"\n')
    (shop / "pyproject.toml").chmod(0o644)
    assert here().path == str(shop / "hotenv.toml")
    (shop / "hotenv.toml").unlink()
    assert here().tables == {"session": {"timout": "1m"}}
    assert here().where == f"{shop}/pyproject.toml: tool.hotenv."


def test_pyproject_that_names_hotenv_and_is_no_toml(shop: Path) -> None:
    """It could have a table of ours."""
    (shop / "hotenv.toml").unlink()
    (shop / "pyproject.toml").write_text("[tool.hotenv]\n[")
    with pytest.raises(UsageError, match=r"^/.*/pyproject.toml: not TOML: "):
        nearest_file()


@pytest.mark.parametrize("content", [b"[session", b"\xff", b"a = " + b"[" * 50_000], ids=len)
def test_not_toml(shop: Path, content: bytes) -> None:
    """One line says so."""
    (shop / "hotenv.toml").write_bytes(content)
    with pytest.raises(UsageError, match=rf"^{shop}/hotenv.toml: not (TOML|UTF-8)"):
        nearest_file()


@pytest.mark.parametrize("depth", [300, 700, 2000, 30_000])
def test_deep_tables(shop: Path, depth: int) -> None:
    """They do not count, and nothing breaks."""
    (shop / "hotenv.toml").write_text(f"a{'.a' * depth} = 1\n")
    project, reason = consult()
    assert project is None
    assert reason.startswith(f"{shop}/hotenv.toml")


def make_a_link(path: Path) -> None:
    """The file is elsewhere."""
    path.rename(path.parent / "real.toml")
    path.symlink_to("real.toml")


def make_a_fifo(path: Path) -> None:
    """Nobody writes to it."""
    path.unlink()
    os.mkfifo(path)


def make_it_large(path: Path) -> None:
    """More than a file of settings."""
    path.write_text("#" * (files._LIMITS[path.name] + 1))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (make_a_link, "must be a regular file, not a link: put the file"),
        (make_a_fifo, "must be a regular file, not a link: put the file"),
        (make_it_large, "too large"),
        (lambda path: path.chmod(0o664), "is writable by others .mode 0664.: run 'chmod go-w'"),
        (lambda path: path.chmod(0o602), "is writable by others"),
    ],
    ids=["link", "fifo", "large", "group", "others"],
)
def test_never(shop: Path, change: object, message: str) -> None:
    """What somebody else can write, or is no file, cannot count."""
    assert callable(change)
    allow(here())
    change(shop / "hotenv.toml")
    with pytest.raises(SystemFailureError, match=message):
        nearest_file()
    project, reason = consult()
    assert project is None
    assert "hotenv.toml" in reason


def test_a_linked_pyproject(shop: Path) -> None:
    """The same holds for it, if it has a table of ours."""
    (shop / "hotenv.toml").unlink()
    (shop / "real.toml").write_text("[tool.hotenv.run]\n")
    (shop / "pyproject.toml").symlink_to("real.toml")
    with pytest.raises(SystemFailureError, match=r"pyproject\.toml must be a regular file"):
        nearest_file()
    (shop / "real.toml").write_text("[tool.other]\n")
    assert nearest_file() is None


def test_whose(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another user's is refused; where everybody may create files, it is passed over."""
    monkeypatch.setattr(files, "is_trusted", lambda _: False)
    with pytest.raises(SystemFailureError, match="copy the project into a directory of your own"):
        nearest_file()
    shop.chmod(0o1777)
    assert nearest_file() is None


# Trust


def test_allow_and_deny(shop: Path, state: Path) -> None:
    """It counts after allow, and no longer after deny."""
    assert refusal(here()) == (
        f"{shop}/hotenv.toml is not allowed: see 'hotenv config', then run 'hotenv allow'"
    )
    allow(here())
    assert refusal(here()) == ""
    assert [path.stat().st_mode & 0o777 for path in (state / "hotenv").glob("**/")] == [0o700] * 2
    (entry,) = (state / "hotenv" / "allowed").iterdir()
    assert entry.stat().st_mode & 0o777 == 0o600
    assert deny(here().path)
    assert "not allowed" in refusal(here())
    assert not deny(here().path)


def test_what_changed(shop: Path) -> None:
    """The message shows it, value by value."""
    allow(here())
    (shop / "hotenv.toml").write_text('[session]\nsource = ["op"]\nprompt = true\n')
    assert refusal(here()) == (
        f"{shop}/hotenv.toml has changed since it was allowed "
        '(session.source = ["op"], was ["op", "inject", "-i", ".env.op"]; '
        "no session.timeout, was \"10m\"; session.prompt = true, new): run 'hotenv allow'"
    )
    allow(here())
    assert refusal(here()) == ""


def test_a_comment_is_no_change(shop: Path) -> None:
    """What the file means is what is allowed."""
    allow(here())
    (shop / "hotenv.toml").write_text(f"# more\n{TEXT}")
    assert refusal(here()) == ""
    (shop / "hotenv.toml").write_text(f"{TEXT}[run]\n")
    assert "(its text)" in refusal(here())


def test_what_can_only_tighten(shop: Path) -> None:
    """It needs no permission, and changes nothing about that of the rest."""
    allow(here())
    guard = "[guard]\nno-network = true\n[profiles.ci]\nprivate-tmp = true\n"
    (shop / "hotenv.toml").write_text(f"{TEXT}{guard}")
    assert refusal(here()) == ""
    assert deny(here().path)
    assert "not allowed" in refusal(here())
    (shop / "hotenv.toml").write_text(guard)
    assert refusal(here()) == ""


def test_much_has_changed(shop: Path) -> None:
    """It stays a line."""
    allow(here())
    (shop / "hotenv.toml").write_text(f"[session]\nsource = {json.dumps(['x' * 50] * 100)}\n")
    assert refusal(here()).endswith("...): run 'hotenv allow'")


def test_another_path(shop: Path, tmp_path: Path) -> None:
    """A copy of an allowed project is not."""
    allow(here())
    shutil.copytree(shop, tmp_path / "copy")
    copy = nearest_file(str(tmp_path / "copy"))
    assert copy is not None
    assert "not allowed" in refusal(copy)


@pytest.mark.parametrize("source", ['["./get"]', '["sh", "get"]', '["sh", "src/../get"]'])
def test_a_program_of_the_project(shop: Path, source: str) -> None:
    """If it changes, the file is not allowed; nor if it was not there."""
    (shop / "hotenv.toml").write_text(f"[session]\nsource = {source}\n")
    for content in ("echo A=1", "echo A=2"):
        (shop / "get").write_text(content)
        assert refusal(here()) != ""
        allow(here())
        assert refusal(here()) == ""
    (shop / "get").unlink()
    assert f"({shop}/get)" in refusal(here())


@pytest.mark.parametrize("mode", [0o664, 0o602])
def test_a_program_that_others_can_write(shop: Path, mode: int) -> None:
    """It could be another one when it is run."""
    (shop / "get").write_text("echo A=1")
    (shop / "get").chmod(0o644)
    (shop / "hotenv.toml").write_text('[session]\nsource = ["sh", "get"]\n')
    allow(here())
    (shop / "get").chmod(mode)
    for function in (allow, refusal):
        with pytest.raises(SystemFailureError, match="get is writable by others: run 'chmod go-w'"):
            function(here())
    assert consult()[0] is None


def test_a_program_of_another_user(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same, but for programs of the system, which are root's."""
    (shop / "get").write_text("echo A=1")
    (shop / "get").chmod(0o644)
    (shop / "hotenv.toml").write_text('[session]\nsource = ["sh", "get"]\n')
    file = here()
    monkeypatch.setattr(trust, "is_of_system", lambda _: False)
    monkeypatch.setattr(trust, "is_trusted", lambda _: False)
    with pytest.raises(SystemFailureError, match="get is owned by"):
        own_files(file)
    monkeypatch.setattr(trust, "is_of_system", lambda _: True)
    assert list(own_files(file)) == [f"{shop}/get"]


def test_files_that_are_read(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They set variables of the commands, so they count too."""
    assert own_files(here()) == {}
    (shop / ".env.op").write_text("A=op://a/b")
    assert list(own_files(here())) == [f"{shop}/.env.op"]
    (shop / "hotenv.toml").write_text('[session]\ninput = "env.contract"\n')
    (shop / "env.contract").write_text("A=?")
    assert list(own_files(here())) == [f"{shop}/env.contract"]


def test_a_program_that_is_found_in_the_project(
    shop: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As on a PATH with a directory of the project's."""
    for place in (shop / "bin", tmp_path / "elsewhere"):
        place.mkdir()
        (place / "op").write_text("#!/bin/sh\n")
        (place / "op").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "elsewhere"))
    assert own_files(here()) == {}
    monkeypatch.setenv("PATH", str(shop / "bin"))
    assert list(own_files(here())) == [f"{shop}/bin/op"]


def test_a_link_to_a_program(shop: Path, tmp_path: Path) -> None:
    """Where it leads to is a part of what is allowed."""
    (shop / "hotenv.toml").write_text('[session]\nsource = ["./get", "/etc/passwd", "a\\u0000"]\n')
    for name in ("a", "b"):
        (tmp_path / name).write_text("echo A=1")
    (shop / "get").symlink_to(tmp_path / "a")
    first = own_files(here())
    assert list(first) == [f"{shop}/get"]
    (shop / "get").unlink()
    (shop / "get").symlink_to(tmp_path / "b")
    assert own_files(here()) != first


@pytest.mark.parametrize("content", ["", "{", "[1]", "3", '{"said": {}}'])
def test_a_damaged_entry(shop: Path, state: Path, content: str) -> None:
    """It allows nothing."""
    allow(here())
    (entry,) = (state / "hotenv" / "allowed").iterdir()
    entry.write_text(content)
    assert "allowed" in refusal(here())
    allow(here())
    assert refusal(here()) == ""


@pytest.mark.parametrize("name", ["", "allowed", "allowed/entry"])
def test_a_store_of_others(shop: Path, state: Path, name: str) -> None:
    """Who can write to the store could allow everything."""
    allow(here())
    (entry,) = (state / "hotenv" / "allowed").iterdir()
    (entry if name == "allowed/entry" else state / "hotenv" / name).chmod(0o777)
    with pytest.raises(SystemFailureError, match="is writable by others"):
        refusal(here())
    assert consult()[0] is None


def test_no_store(shop: Path, state: Path) -> None:
    """Where one cannot be made, it is said."""
    state.write_text("")
    with pytest.raises(SystemFailureError, match="cannot write"):
        allow(here())


def test_a_store_that_is_a_link(shop: Path, state: Path, tmp_path: Path) -> None:
    """It could lead to one of another user's."""
    (state).mkdir()
    (tmp_path / "other").mkdir(mode=0o700)
    (state / "hotenv").symlink_to(tmp_path / "other")
    with pytest.raises(SystemFailureError, match="is not a directory: remove it"):
        allow(here())


def test_the_usual_store(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without XDG_STATE_HOME, or with a relative one, it is in the home directory."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    allow(here())
    assert len(list((tmp_path / "home/.local/state/hotenv/allowed").iterdir())) == 1


def test_a_home_that_is_relative(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project could bring its own permission along, for where it is used."""
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "home")
    for function in (allow, refusal):
        with pytest.raises(SystemFailureError, match="HOME is not an absolute path"):
            function(here())
    assert consult()[0] is None


def test_a_full_disk(shop: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was allowed before is still what counts, and nothing else is left."""
    allow(here())
    allowed = [*(state / "hotenv" / "allowed").iterdir()]

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(SystemFailureError, match="no space left"):
        allow(here())
    assert [*(state / "hotenv" / "allowed").iterdir()] == allowed
    assert refusal(here()) == ""


def test_too_much_to_remember(shop: Path) -> None:
    """What could not be read again is not allowed in the first place."""
    for number in range(400):
        (shop / f"{number:0100}").touch()
    words = ", ".join(f'"{number:0100}"' for number in range(400))
    (shop / "hotenv.toml").write_text(f"[session]\nsource = [{words}]\n")
    with pytest.raises(UsageError, match="names too many files of the project"):
        allow(here())


# What counts


def test_consult(shop: Path) -> None:
    """The values of an allowed file, and why another does not count."""
    project, reason = consult()
    assert project is None
    assert "not allowed" in reason
    allow(here())
    project, reason = consult()
    assert project is not None
    assert (project.directory, project.session["timeout"], reason) == (str(shop), 600.0, "")
    assert project.starts_on_demand
    (shop / "hotenv.toml").unlink()
    assert consult() == (None, "")


def test_composition(shop: Path) -> None:
    """The table [run] as what composes an environment."""
    (shop / "hotenv.toml").write_text(
        '[session]\non-demand = false\ninput = "a"\n'
        '[run]\nno-override = true\nisolated = true\nexcept = ["A"]\npass = ["@net"]\n'
        'as-file = ["B"]\nonly = ["*"]\n'
    )
    allow(here())
    project, _ = consult()
    assert project is not None
    assert project.composition == {
        "override": False,
        "isolated": True,
        "excluded": ["A"],
        "passed": ["@net"],
        "as_file": {"B": "B_FILE"},
        "only": ["*"],
    }
    assert project.has_source
    assert not project.starts_on_demand
    assert project.input == str(shop / "a")


AGENT = """
[agent]
allow = ["pytest", "psql -c *"]
ask = ["terraform apply **"]
network = ["DB.internal:5432"]
write = ["build", "/nowhere/cache"]
only = ["DB_*"]
"""


def test_agent(shop: Path) -> None:
    """What an agent may run, once that is allowed."""
    allow(here())
    project, _ = consult()
    assert project is not None
    assert not project.has_agent
    (shop / "hotenv.toml").write_text(f"{TEXT}{AGENT}")
    assert consult()[0] is None
    allow(here())
    project, _ = consult()
    assert project is not None
    assert project.has_agent
    assert project.agent.rules.verdict(["psql", "-c", "select 1"]).decision == "allow"
    assert project.agent.network == ["db.internal:5432"]
    assert project.agent.write == [f"{shop}/build", "/nowhere/cache"]


def test_a_change_of_what_an_agent_may_run(shop: Path) -> None:
    """It can loosen: it has to be allowed anew, and the message shows it."""
    (shop / "hotenv.toml").write_text(AGENT)
    allow(here())
    assert refusal(here()) == ""
    (shop / "hotenv.toml").write_text(AGENT.replace('"pytest"', '"sh **"'))
    assert (
        '(agent.allow = ["sh **", "psql -c *"], was ["pytest", "psql -c *"]): run \'hotenv allow\''
    ) in refusal(here())
    (shop / "hotenv.toml").write_text(f"{AGENT}deny = ['**']")
    assert '(agent.deny = ["**"], new)' in refusal(here())


def test_allowed_and_invalid(shop: Path) -> None:
    """As after an update of hotenv: it is said, and nothing is guessed."""
    (shop / "hotenv.toml").write_text("[sessions]\n")
    allow(here())
    with pytest.raises(HotenvError, match="sessions: unknown table: did you mean 'session'"):
        consult()


# The commands


def test_commands(shop: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """allow shows what the file says, programs first."""
    (shop / ".env.op").write_text("")
    for command in ("allow", "allow", "deny", "deny"):
        assert main([command]) == 0
    out, err = capfd.readouterr()
    shown = (
        "runs\top inject -i .env.op\n"
        f"with\t{shop}/.env.op\n"
        'session.source\t["op", "inject", "-i", ".env.op"]\nsession.timeout\t"10m"\n'
    )
    path = f"{shop}/hotenv.toml"
    assert out == shown * 2
    assert err.splitlines() == [
        f"hotenv: allowed {path}",
        f"hotenv: {path} is already allowed",
        f"hotenv: no longer allowed: {path}",
        f"hotenv: {path} was not allowed",
    ]


@pytest.mark.parametrize("change", [make_a_link, lambda path: path.chmod(0o666)])
def test_deny_what_cannot_count(shop: Path, change: Callable[[Path], object]) -> None:
    """As it will count again when that is mended."""
    allow(here())
    path = shop / "hotenv.toml"
    change(path)
    assert main(["deny"]) == 0
    text = path.read_text()
    path.unlink()
    path.write_text(text)
    path.chmod(0o644)
    assert "is not allowed" in refusal(here())


@pytest.mark.parametrize("command", ["allow", "deny"])
def test_nothing_to_allow(
    tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Without a file there is nothing to do."""
    monkeypatch.chdir(tmp_path)
    assert main([command]) == 2
    assert capfd.readouterr().err.startswith("hotenv: no hotenv.toml, and no [tool.hotenv] in")


@pytest.mark.parametrize("command", ["allow", "config"])
def test_invalid_files(shop: Path, command: str, capfd: pytest.CaptureFixture[str]) -> None:
    """They are not allowed, nor shown."""
    (shop / "hotenv.toml").write_text("[run]\nisolate = true\n")
    assert main([command]) == 2
    assert f"hotenv: {shop}/hotenv.toml: run.isolate: unknown key" in capfd.readouterr().err
    project, reason = consult()
    assert project is None
    assert "not allowed" in reason


def test_config(shop: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Each value with its source, and whether it counts."""
    path = f"{shop}/hotenv.toml"
    assert main(["config"]) == 0
    first, second, *rows = capfd.readouterr().out.splitlines()
    assert first == f"file\t{path}"
    assert second.startswith(f"allowed\tno: {path} is not allowed: see")
    assert f'session.timeout\t"10m"\t{path}' in rows
    assert "session.strict\tfalse\tdefault" in rows
    assert 'agent.ask-timeout\t"2m"\tdefault' in rows
    assert main(["allow"]) == 0
    capfd.readouterr()
    assert main(["config"]) == 0
    assert capfd.readouterr().out.startswith(f"file\t{path}\nallowed\tyes\n")


@pytest.mark.parametrize("command", ["allow", "config"])
def test_an_agent_is_shown(shop: Path, command: str, capfd: pytest.CaptureFixture[str]) -> None:
    """As it stands in the file, which is what its user decides about."""
    (shop / "hotenv.toml").write_text(f'{AGENT}ask-timeout = "1m"\n')
    assert main([command]) == 0
    rows = [line.split("\t")[:2] for line in capfd.readouterr().out.splitlines()]
    assert [row for row in rows if row[0].startswith("agent.")] == [
        ["agent.allow", '["pytest", "psql -c *"]'],
        ["agent.ask", '["terraform apply **"]'],
        ["agent.network", '["DB.internal:5432"]'],
        ["agent.write", '["build", "/nowhere/cache"]'],
        ["agent.only", '["DB_*"]'],
        ["agent.ask-timeout", '"1m"'],
    ]
    (shop / "hotenv.toml").write_text("[agent]\nallow = ['a && b']\n")
    assert main([command]) == 2
    error = capfd.readouterr().err
    assert error.startswith(f"hotenv: {shop}/hotenv.toml: agent.allow: a && b: '&' means ")
    assert error.count("\n") == 1


def test_config_as_json(shop: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The same for programs."""
    assert main(["config", "--json"]) == 0
    shown = json.loads(capfd.readouterr().out)
    assert (shown["file"], shown["allowed"]) == (f"{shop}/hotenv.toml", False)
    assert "not allowed" in shown["reason"]
    assert shown["settings"]["session.timeout"] == {"value": "10m", "source": shown["file"]}
    assert shown["settings"]["session.max-age"] == {"value": None, "source": "default"}
    assert main(["allow"]) == 0
    capfd.readouterr()
    assert main(["config", "--json"]) == 0
    shown = json.loads(capfd.readouterr().out)
    assert (shown["allowed"], shown["reason"]) == (True, None)


def test_config_without_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The defaults."""
    monkeypatch.chdir(tmp_path)
    assert main(["config"]) == 0
    assert capfd.readouterr().out.startswith('file\tnone\nsession.format\t"dotenv"\tdefault\n')
    assert main(["config", "--json"]) == 0
    shown = json.loads(capfd.readouterr().out)
    assert (shown["file"], shown["allowed"], shown["reason"]) == (None, False, None)
