"""The lines for tools that secrets come from: each keeps every value, with a tool that has some."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from processes import LIMIT, hotenv, is_clean
from readme import README, TOPICS, block

VALUES = {"DB_PASSWORD": ' it\'s "a" #b ${HOME} \\n', "DB_CERTIFICATE": "line 1\nline 2\n"}
"""What has to survive."""

PASSWORD = {"DB_PASSWORD": VALUES["DB_PASSWORD"].strip()}
"""The first line of an entry, as ``$(...)`` takes it."""

DOTENV = {"DB_PASSWORD": 'it"s #b', "DB_CERTIFICATE": "line 1\nline 2\n"}
"""What dotenv text can hold in quotes of one kind."""

DOTENV_TEXT = "".join(f"{name}='{value}'\n" for name, value in DOTENV.items())

RUNNERS = {
    "op": ("op", ["run", "--env-file", ".env.op", "--"]),
    "aws-vault": ("aws-vault", ["exec", "shop", "--"]),
    "doppler": ("doppler", ["run", "--"]),
}
"""Tools that run a command, and what is before it."""

SHELLS = {"sops exec-env": ("sops", ["exec-env", "env.yaml"]), "bws": ("bws", ["run", "--"])}
"""Tools that run a line of shell, and what is before it."""

PRINTERS = {
    "sops": ("sops", "decrypt --output-type json env.yaml", json.dumps(VALUES), VALUES),
    "vault": (
        "vault",
        "kv get -mount=secret -format=json -field=data shop",
        json.dumps(VALUES),
        VALUES,
    ),
    "aws": (
        "aws",
        "secretsmanager get-secret-value --secret-id shop --query SecretString --output text",
        json.dumps(VALUES),
        VALUES,
    ),
    "pass": ("pass", "show shop/env", DOTENV_TEXT, DOTENV),
    "pass password": ("pass", "show shop/db", f"{PASSWORD['DB_PASSWORD']}\n", PASSWORD),
    "gpg": ("gpg", "--quiet --decrypt .env.gpg", DOTENV_TEXT, DOTENV),
    "bw": ("bw", "get notes shop-env", DOTENV_TEXT, DOTENV),
}
"""Tools that print, with which arguments, what, and what that is."""


def install(shop: Path, tool: str, script: str) -> None:
    """Put a stand-in for ``tool`` where the session's commands are found."""
    path = shop.parent / "bin" / tool
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def typed(label: str, shop: Path) -> int:
    """The status of the line for ``label``, as it stands in the topic."""
    return subprocess.run(
        ["sh", "-c", block(f"source {label}")],
        cwd=shop,
        stdin=subprocess.DEVNULL,
        timeout=LIMIT,
    ).returncode


def served(shop: Path) -> object:
    """The variables of the session, which ends."""
    variables = json.loads(hotenv("dump", "--format", "json", cwd=shop).stdout)
    hotenv("stop", cwd=shop)
    return variables


@pytest.fixture(autouse=True)
def no_such_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment has none that the patterns match."""
    for name in [name for name in os.environ if name.startswith(("DB_", "AWS_"))]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize("label", [*RUNNERS, *SHELLS])
def test_tool_that_runs_serve(label: str, shop: Path) -> None:
    """What it puts into the environment is served, and nothing else of the environment."""
    tool, words = (RUNNERS | SHELLS)[label]
    prefix = "AWS_" if tool == "aws-vault" else "DB_"
    values = {name.replace("DB_", prefix): value for name, value in VALUES.items()}
    variables = shlex.join(f"{name}={value}" for name, value in values.items())
    command = 'sh -c "$*"' if label in SHELLS else '"$@"'
    expected = " && ".join(f'[ "$1" = {word} ] && shift' for word in words)
    install(shop, tool, f"{expected} && exec env {variables} {command}")
    assert typed(label, shop) == 0
    assert served(shop) == values


@pytest.mark.parametrize("label", PRINTERS)
def test_tool_that_serve_runs(label: str, shop: Path, runtime: Path) -> None:
    """What it prints is served; if it fails then, nothing is."""
    tool, arguments, text, values = PRINTERS[label]
    (shop / "output").write_text(text)
    script = f'[ "$*" = "{arguments}" ] && cat output'
    install(shop, tool, script)
    assert typed(label, shop) == 0
    assert served(shop) == values
    install(shop, tool, f"{script}; exit 1")
    assert typed(label, shop) == 8
    assert is_clean(shop, runtime)


def test_two_files(shop: Path) -> None:
    """The second one wins, and a line that does not end joins no other."""
    (shop / ".env.shared").write_text("DB_HOST=localhost\nDB_USER=shop")
    (shop / ".env.local").write_text("DB_HOST=db.test\n")
    assert typed("files", shop) == 0
    assert served(shop) == {"DB_HOST": "db.test", "DB_USER": "shop"}


def test_no_line_without_a_test() -> None:
    """Each line that is shown is one of these."""
    labels = {f"source {label}" for label in [*RUNNERS, *SHELLS, *PRINTERS, "files"]}
    shown = [line for line in TOPICS["sources"].splitlines() if line.startswith(".. test: ")]
    assert {line.removeprefix(".. test: ") for line in shown} == labels


def test_the_same_lines_in_readme() -> None:
    """README.rst has some of them, shorter by an option that it explains."""
    _, _, section = README.partition("Where secrets come from\n")
    section, _, _ = section.partition("Where they go\n")
    shown = {" ".join(line.split()) for line in re.findall(r"(?m)^ {4}``([^`]+)``$", section)}
    lines = [block(f"source {label}") for label in [*RUNNERS, *SHELLS, *PRINTERS]]
    tested = {" ".join(line.replace("\\\n", "").split()) for line in lines}
    assert len(shown) > 7
    assert {each.replace(" --detach", "") for each in shown} <= {
        each.replace(" --detach", "") for each in tested
    }
