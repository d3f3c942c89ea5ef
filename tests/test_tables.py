"""What the tables of a project's file may say."""

from __future__ import annotations

from typing import Any

import pytest

from hotenv.errors import UsageError
from hotenv.project import tables
from hotenv.project.tables import check_tables

WHERE = "/shop/hotenv.toml: "

GUARD = {
    "no-network": True,
    "no-localhost": True,
    "no-subprocess": False,
    "no-terminals": True,
    "deny-read": ["secrets"],
    "fs-readonly": "src",
    "private-tmp": True,
    "strict-imports": "all",
    "allow-localhost": True,
    "allow-udp": True,
    "allow-domain": ["A.example", "b.example:1"],
    "allow-import": ["numpy"],
    "allow-write": ["build"],
    "allow-read": ["/usr"],
}


def refused(said: dict[str, Any]) -> str:
    """Why ``said`` is refused, without where that is."""
    with pytest.raises(UsageError) as caught:
        check_tables(said, WHERE)
    return str(caught.value).removeprefix(WHERE)


def test_everything() -> None:
    """Every key, with the value that its option has."""
    said: dict[str, dict[str, Any]] = {
        "session": {
            "source": ["op", "inject"],
            "format": "json",
            "prompt": True,
            "strict": False,
            "no-interpolate": True,
            "timeout": "10m",
            "max-age": "8h",
            "on-demand": False,
            "require-locked-memory": True,
            "require-hardening": True,
            "allow-confined": True,
            "start-timeout": "90",
        },
        "run": {
            "only": ["DB_*"],
            "except": ["X"],
            "no-override": True,
            "isolated": True,
            "pass": ["@net", "A*"],
            "as-file": ["KEY", "TOKEN=TOKEN_PATH"],
        },
        "agent": {
            "allow": ["pytest", "psql -c *"],
            "ask": ["terraform apply **"],
            "deny": ["**"],
            "network": ["DB.internal:5432", "api.example.com"],
            "write": ["build", "/var/cache/shop"],
            "only": ["DB_*"],
            "ask-timeout": "2m",
        },
        "guard": {**GUARD, "profile": ["ci"]},
        "profiles": {"ci": GUARD},
    }
    missing = {"input", "env"}
    assert {key for keys in said.values() for key in keys} - {"ci"} == {
        key for keys in tables.TABLES.values() for key in keys
    } - missing
    assert set(GUARD) == set(tables.TABLES["profiles"])
    session = {**said["session"], "timeout": 600.0, "max-age": 28800.0, "start-timeout": 90.0}
    files = {"KEY": "KEY_FILE", "TOKEN": "TOKEN_PATH"}
    network = ["db.internal:5432", "api.example.com"]
    assert check_tables(said, WHERE) == {
        "session": session,
        "run": {**said["run"], "as-file": files},
        "agent": {**said["agent"], "network": network, "ask-timeout": 120.0},
        "guard": {**said["guard"], "allow-domain": ["a.example", "b.example:1"]},
        "profiles": {"ci": {**GUARD, "allow-domain": ["a.example", "b.example:1"]}},
    }


@pytest.mark.parametrize("said", [{}, {"session": {}}, {"run": {}}, {"agent": {}}], ids=str)
def test_nothing(said: dict[str, Any]) -> None:
    """Nothing has to be there."""
    assert check_tables(said, WHERE) == {
        "session": {},
        "run": {},
        "agent": {},
        "guard": {},
        "profiles": {},
    }


@pytest.mark.parametrize(
    "said",
    [{"input": "env.contract", "format": "docker"}, {"env": ["DB_*", "KEY"]}],
    ids=str,
)
def test_other_sources(said: dict[str, Any]) -> None:
    """A file and the environment are sources too."""
    assert check_tables({"session": said}, WHERE)["session"] == said


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (
            {"sesion": {}},
            "sesion: unknown table: did you mean 'session'? "
            "(known: session, run, agent, guard, profiles)",
        ),
        ({"run": 3}, "run: must be a table"),
        ({"session": {"prompt": "yes"}}, "session.prompt: must be true or false"),
        ({"session": {"prompt": 1}}, "session.prompt: must be true or false"),
        ({"session": {"source": "op"}}, "session.source: must be a non-empty list of strings"),
        ({"session": {"source": []}}, "session.source: must be a non-empty list of strings"),
        ({"session": {"source": [1]}}, "session.source: must be a non-empty string"),
        ({"session": {"source": ["a\0"]}}, "session.source: must be a non-empty string"),
        ({"session": {"input": ""}}, "session.input: must be a non-empty string"),
        ({"session": {"timeout": 10}}, "session.timeout: must be a string such as "),
        ({"session": {"timeout": "0"}}, "session.timeout: invalid duration '0': must be greater"),
        (
            {"session": {"input": "a", "format": "yaml"}},
            "session.format: must be one of dotenv, json, docker, null",
        ),
        ({"session": {"format": "json"}}, "session.format: requires session.source or session.inp"),
        (
            {"session": {"env": ["A"], "format": "json"}},
            "session.format: requires session.source or session.input",
        ),
        (
            {"session": {"env": ["A"], "input": "a"}},
            "session.env: cannot be used with session.input",
        ),
        ({"session": {"env": ["A=b"]}}, "session.env: a pattern is for names and must not"),
        ({"run": {"only": ["A=b"]}}, "run.only: a pattern is for names and must not contain '='"),
        ({"run": {"pass": ["@nett"]}}, "run.pass: @nett: no such group, choose from @net, @tls,"),
        ({"run": {"as-file": ["A", "A=B"]}}, "run.as-file: A: duplicate name"),
        ({"run": {"as-file": ["A=X", "B=X"]}}, "run.as-file: X: duplicate name"),
        ({"agent": {"allow": "pytest"}}, "agent.allow: must be a non-empty list of strings"),
        ({"agent": {"allow": ["a", ["b"]]}}, "agent.allow: must be a non-empty string"),
        ({"agent": {"ask": [" "]}}, "agent.ask: ' ': must have a word"),
        ({"agent": {"deny": ["a & b"]}}, "agent.deny: a & b: '&' means something to a shell"),
        ({"agent": {"deny": ["./a b"]}}, "agent.deny: ./a b: matches nothing that is run: name a"),
        ({"agent": {"allow": ["a*"]}}, "agent.allow: a*: '*' matches only a whole word: "),
        (
            {"agent": {"deny": ["**"], "allow": ["a", "**"]}},
            "agent.allow: '**' is also in deny: keep it in one of them",
        ),
        ({"agent": {"network": ["*.example"]}}, "agent.network: *.example: must be HOST or HOST:"),
        ({"agent": {"write": ["~/x"]}}, "agent.write: ~/x: '~' is not expanded: use an absolute"),
        ({"agent": {"write": []}}, "agent.write: must be a non-empty list of strings"),
        ({"agent": {"only": ["A=b"]}}, "agent.only: a pattern is for names and must not contain"),
        ({"agent": {"ask-timeout": 120}}, "agent.ask-timeout: must be a string such as "),
        ({"agent": {"ask-timeout": "0"}}, "agent.ask-timeout: invalid duration '0': must be gr"),
        ({"agent": {"asks": ["a"]}}, "agent.asks: unknown key: did you mean 'ask'? (known: allow,"),
    ],
)
def test_refused(said: dict[str, Any], message: str) -> None:
    """The message has the dotted path, and what is wrong there."""
    assert refused(said).startswith(message)


@pytest.mark.parametrize("path", ["..", "../x", "a/../../x", "./../shop/x"])
def test_a_path_that_leads_out(path: str) -> None:
    """Who means another place says where that is."""
    reason = "leads out of the directory: use an absolute path"
    assert refused({"agent": {"write": ["build", path]}}) == f"agent.write: {path}: {reason}"


def test_paths() -> None:
    """Those in the directory, however they are written, and absolute ones."""
    said = ["build", ".", "a/../b", "..a", "/etc/../tmp"]
    assert check_tables({"agent": {"write": said}}, WHERE)["agent"]["write"] == said


def test_a_misspelt_key() -> None:
    """The known ones are listed, and the one that was meant."""
    message = refused({"run": {"isolate": True}})
    assert message == (
        "run.isolate: unknown key: did you mean 'isolated'? "
        "(known: only, except, no-override, isolated, pass, as-file)"
    )
    assert "did you mean" not in refused({"run": {"xyzzy": True}})


def test_a_limit() -> None:
    """What a server could not publish is refused."""
    names = [f"NAME_{number}" for number in range(2000)]
    assert refused({"run": {"only": names}}) == "too large (limit 16384 characters)"


def test_defaults() -> None:
    """There is a default only for what is known, and it is a value that could stand there."""
    for path, value in tables.DEFAULTS.items():
        table, _, key = path.partition(".")
        assert key in tables.TABLES[table]
        if value is not None and path != "session.format":
            check_tables({table: {key: value}}, WHERE)
