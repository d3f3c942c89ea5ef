"""formats: each gives back every value as it is, or refuses the variable by its name."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import tempfile
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hotenv.errors import SystemFailureError
from hotenv.handover.formats import FORMATS
from hotenv.intake import parsing
from hotenv.intake.contract import Contents
from hotenv.intake.parsing import Input
from hotenv.intake.rules import Rules
from processes import HOTENV, LIMIT, hotenv, needs, said, serving

SECRET = "s3cret"

_TOKENS = [
    *("A", "export", "export ", "'", "''", '"', "\\", "\\'", "\\n", "#", " ", " #", "\t", "\n"),
    *("\r", "\r\n", "\v", "\f", "\x1c", "\x85", "\xa0", "\u2028", "\ufeff", "$", "${", "{", "}"),
    *("${A}", "${A:-x}", "${}", "${:-", "${=:-$}{", ":", ":-", "=", "`", "$(", ")", "!", "~", "*"),
    *("é", "\U0001f600", "\x01", "\x7f"),
]
_CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
_VALUES = st.text(_CHARACTERS) | st.lists(st.sampled_from(_TOKENS), max_size=8).map("".join)
_NAMES = _VALUES.map(lambda text: text.replace("=", "")).filter(bool)
_VISIBLE_NAMES = _NAMES.filter(
    lambda name: not {unicodedata.category(c) for c in name} & {"Cc", "Cf"}
)
"""Those that serve takes."""
_SHELL_NAMES = st.from_regex("V_[A-Za-z0-9_]{0,3}", fullmatch=True)


def read_back(data: bytes, environ: Mapping[str, str], form: str = "dotenv") -> Contents:
    """What serve reads, with its own environment and no option but --format."""
    return parsing.parse([Input("x", form, data)], environ, Rules(), lambda asked: asked)


def encode(form: str, variables: Mapping[str, str]) -> str:
    """``variables`` in ``form``, as text."""
    return FORMATS[form](variables).decode()


def refusal(form: str, name: str, value: str) -> str:
    """The message with which ``form`` refuses the variable, among others that it can hold."""
    with pytest.raises(SystemFailureError) as caught:
        FORMATS[form]({"A": "1", name: value, "ZZ": "2"})
    message = str(caught.value)
    assert message.startswith(f"cannot write {name} in {form} format: ")
    return message


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("env", "A=\nB=it's\nÄ=two\nlines\n"),
        ("dotenv", "A=''\nB='it\\'s'\nÄ='two\nlines'\n"),
        ("json", '{"A": "", "B": "it\'s", "Ä": "two\\nlines"}\n'),
        ("null", "A=\0B=it's\0Ä=two\nlines\0"),
    ],
)
def test_the_same_variables(form: str, text: str) -> None:
    """Sorted by name, in UTF-8, whatever order they came in."""
    assert encode(form, {"Ä": "two\nlines", "B": "it's", "A": ""}) == text


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("shell", "export A=''\nexport B='it'\\''s #1'\n"),
        ("fish", "set -gx A ''\nset -gx B 'it\\'s #1'\n"),
        ("docker", "A=\nB=it's #1\n"),
    ],
)
def test_the_same_variables_for_narrower_formats(form: str, text: str) -> None:
    """The same for the formats that do not take every name or value."""
    assert encode(form, {"B": "it's #1", "A": ""}) == text


@pytest.mark.parametrize("form", FORMATS)
def test_nothing(form: str) -> None:
    """No variables are no lines, and an empty object."""
    assert encode(form, {}) == ("{}\n" if form == "json" else "")


@given(st.dictionaries(_NAMES, _VALUES))
def test_json_holds_everything(variables: dict[str, str]) -> None:
    """What comes out is one line, and the same variables."""
    text = encode("json", variables)
    assert text.index("\n") == len(text) - 1
    assert json.loads(text) == variables


@given(st.dictionaries(_NAMES, _VALUES))
def test_null_holds_everything(variables: dict[str, str]) -> None:
    """Each NUL ends a variable, whose name ends at the first equals sign."""
    *entries, rest = encode("null", variables).split("\0")
    assert rest == ""
    assert dict(entry.split("=", 1) for entry in entries) == variables


# dotenv


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("a\r\nb", '"a\\r\nb"'),
        ("\r'\"\\", '"\\r\'\\"\\\\"'),
        ("?a?", "'${=:-?}a?'"),
        ("?\r", '"${=:-?}\\r"'),
        ("${A}\r", '"${=:-$}{A}\\r"'),
    ],
)
def test_dotenv_values(value: str, written: str) -> None:
    """What a reader would change is written so that it does not, whatever --prompt says."""
    text = encode("dotenv", {"A": value})
    assert text == f"A={written}\n"
    inputs = [Input("x", "dotenv", text.encode())]
    contents = parsing.parse(inputs, {"A": "n"}, Rules(prompt=True, strict=True), lambda _asked: {})
    assert contents.snapshot == {"A": value}


@pytest.mark.parametrize("form", ["json", "docker", "null"])
@given(variables=st.dictionaries(_VISIBLE_NAMES, _VALUES, min_size=1, max_size=4))
def test_round_trip(form: str, variables: dict[str, str]) -> None:
    """What is dumped in the other formats is served as it was, too."""
    try:
        text = encode(form, variables)
    except SystemFailureError:
        assert form == "docker"
        return
    contents = read_back(text.encode(), {"A": "y"}, form)
    assert contents.snapshot == variables
    assert contents.warnings == ()
    assert encode(form, dict(contents.snapshot)) == text


@settings(max_examples=500)
@given(
    st.dictionaries(_VISIBLE_NAMES, _VALUES, min_size=1, max_size=4),
    st.dictionaries(_NAMES | st.just(""), _VALUES),
)
def test_dotenv_round_trip(variables: dict[str, str], environ: dict[str, str]) -> None:
    """What is dumped is served as it was, with interpolation, whatever serve's environment is."""
    try:
        text = encode("dotenv", variables)
    except SystemFailureError:
        assert any("'" in name for name in variables)
        return
    contents = read_back(text.encode(), {**environ, "": "x", "A": "y", "$": "z"})
    assert contents.snapshot == variables
    assert contents.warnings == ()
    assert encode("dotenv", dict(contents.snapshot)) == text


def test_dotenv_takes_every_value() -> None:
    """No value is refused, and none changes on its way."""
    values = ["".join(parts) for parts in itertools.product(_TOKENS, repeat=2)]
    variables = {"A": "y", **{f"V{number}": value for number, value in enumerate(values)}}
    text = encode("dotenv", variables)
    assert read_back(text.encode(), {"A": "n", "": "n"}).snapshot == variables


@pytest.mark.parametrize(
    ("name", "written"),
    [
        pytest.param("A", "A", id="plain"),
        pytest.param("a.b-c", "a.b-c", id="no shell's name"),
        pytest.param("export", "export", id="a word of the grammar"),
        pytest.param("export A", "'export A'", id="a prefix that is part of it"),
        pytest.param(" A ", "' A '", id="blanks around it"),
        pytest.param("\u2028", "'\u2028'", id="white space of another script"),
        pytest.param("#A", "'#A'", id="a comment"),
        pytest.param("A#B", "'A#B'", id="a comment at its end"),
        pytest.param('"A"', '"A"', id="double quotes"),
        pytest.param('"A B"', "'\"A B\"'", id="double quotes and a blank"),
        pytest.param("A'B'", "A'B'", id="quotes that do not begin it"),
        pytest.param("${A}", "${A}", id="a name that looks like a value"),
        pytest.param("\\", "\\", id="a backslash"),
    ],
)
def test_dotenv_names(name: str, written: str) -> None:
    """A name is in quotes if it has to be, and comes back."""
    text = encode("dotenv", {name: "x"})
    assert text == f"{written}='x'\n"
    assert read_back(text.encode(), {}).snapshot == {name: "x"}


@pytest.mark.parametrize("name", ["'A'", "A B'", "it's #1", "A\n'", "\ufeff'"])
def test_dotenv_refuses(name: str) -> None:
    """The only names refused are those that need quotes and have one."""
    message = refusal("dotenv", name, SECRET)
    assert message.endswith(": the name must be quoted but contains a single quote")
    assert SECRET not in message


# docker


def by_docker(data: bytes) -> dict[str, str]:
    """What docker's parser makes of an env file (pkg/kvfile, with Go's bufio.ScanLines)."""
    variables = {}
    for number, line in enumerate(data.split(b"\n")[:-1]):
        assert len(line) < 65536, "token too long"
        text = line.removesuffix(b"\r").decode()
        if not number:
            text = text.removeprefix("\ufeff")
        text = text.lstrip("\t\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000")
        if not text or text.startswith("#"):
            continue
        name, equals, value = text.partition("=")
        assert equals, "looked up in the environment"
        assert name, "no variable name"
        assert not {" ", "\t"} & set(name), "contains whitespaces"
        variables[name] = value
    return variables


@settings(max_examples=300)
@given(st.dictionaries(_SHELL_NAMES | _NAMES, _VALUES, max_size=2))
def test_docker_round_trip(variables: dict[str, str]) -> None:
    """What is not refused is what docker's parser reads."""
    try:
        data = FORMATS["docker"](variables)
    except SystemFailureError:
        return
    assert by_docker(data) == variables


@pytest.mark.parametrize(
    "value", ["", " a ", "#a", "a #b", "'a'", '"a"', "a\\nb", "${A}", "a=b", "a\rb", "\u2028"]
)
def test_docker_takes(value: str) -> None:
    """Quotes, blanks, signs of comments and of interpolation are nothing special."""
    assert by_docker(FORMATS["docker"]({"A": value, "B": "1"})) == {"A": value, "B": "1"}


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("PEM", f"{SECRET}\n{SECRET}", "the value contains a newline"),
        ("CR", f"{SECRET}\r", "the value ends with a carriage return"),
        ("A B", SECRET, "the name must not contain whitespace"),
        (" A", SECRET, "the name must not contain whitespace"),
        ("A\n", SECRET, "the name must not contain whitespace"),
        ("\u3000A", SECRET, "the name must not contain whitespace"),
        ("#A", SECRET, "or begin with '#'"),
        ("\ufeffA", SECRET, "or begin with"),
        ("BIG", "ß" * 32766, "longer than 65535 bytes"),
    ],
)
def test_docker_refuses(name: str, value: str, reason: str) -> None:
    """What would come out changed, or not at all, is refused."""
    message = refusal("docker", name, value)
    assert reason in message
    assert value not in message
    assert SECRET not in message


def test_docker_longest_line() -> None:
    """A line of 65535 bytes is taken, in bytes and not in characters."""
    variables = {"BIG": "ß" * 32765 + "x"}
    assert by_docker(FORMATS["docker"](variables)) == variables


# shell

ORDINARY = [
    *("PATH", "HOME", "IFS", "PS1", "PS4", "ENV", "BASH_ENV", "CDPATH", "LANG", "LC_ALL"),
    *("PWD", "OLDPWD", "TERM", "USER", "LOGNAME", "SHELL", "HISTFILE", "NULLCMD", "PROMPT"),
    *("POSIXLY_CORRECT", "FPATH", "MANPATH", "MAILPATH", "PROMPT_COMMAND", "REPLY", "OPTARG"),
    *("if", "do", "done", "in", "function", "time", "export", "eval", "select", "coproc", "end"),
]
"""Names that mean something to a shell and can be set all the same."""

SHELLS = {
    "sh": ["sh"],
    "dash": ["dash"],
    "bash": ["bash", "--norc"],
    "bash --posix": ["bash", "--posix"],
    "zsh": ["zsh", "-f"],
    "zsh -o rcquotes": ["zsh", "-f", "-o", "rcquotes"],
}


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> list[str]:
    """How a real shell is started, without settings of its own."""
    command = SHELLS[request.param]
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    return command


def exported(
    shell: Sequence[str], variables: Mapping[str, str], locale: str = "C.UTF-8"
) -> dict[bytes, bytes]:
    """The environment of a command after the shell has evaluated ``variables``."""
    env = shutil.which("env")
    assert env
    with tempfile.TemporaryDirectory() as directory:
        result = subprocess.run(
            [*shell, "-c", 'eval "$(cat)"\n"$0" -0', env],
            input=FORMATS["shell"](variables),
            cwd=directory,
            env={"PATH": os.environ["PATH"], "LC_ALL": locale},
            capture_output=True,
            timeout=LIMIT,
        )
        assert os.listdir(directory) == []  # nothing in it was taken for a redirection
    assert result.returncode == 0, result.stderr
    entries = result.stdout.split(b"\0")[:-1]
    return dict(entry.split(b"=", 1) for entry in entries)


def as_bytes(variables: Mapping[str, str]) -> dict[bytes, bytes]:
    """``variables`` as an environment has them."""
    return {name.encode(): value.encode() for name, value in variables.items()}


_SPECIAL = ["'", '"', "\\", "$", "`", "$(exit 9)", "\n", "\r", "\t", "!", "#", "~", " ", "a", ";"]
_RANGES = [(1, 0x500), (0x2000, 0x2100), (0xFE00, 0x10000), (0x1F600, 0x1F650)]


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_shell_takes_every_value(shell: list[str], locale: str) -> None:
    """All that a shell could obey is data, and so are its own internal marks."""
    values = ["".join(parts) for parts in itertools.product(_SPECIAL, repeat=3)]
    values += ["".join(map(chr, range(*each))) for each in _RANGES]
    variables = {f"V_{number}": value for number, value in enumerate(values)}
    assert as_bytes(variables).items() <= exported(shell, variables, locale).items()


@settings(max_examples=20, deadline=None)
@given(variables=st.dictionaries(_SHELL_NAMES, _VALUES, min_size=1))
@pytest.mark.parametrize("command", SHELLS.values(), ids=SHELLS)
def test_shell_round_trip(command: list[str], variables: dict[str, str]) -> None:
    """Whatever a value is, a command that the shell starts has it."""
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    assert as_bytes(variables).items() <= exported(command, variables).items()


@pytest.mark.parametrize("name", ORDINARY)
def test_shell_ordinary_names(shell: list[str], name: str) -> None:
    """A name that a shell knows can be set too, and what comes after it is set as well."""
    variables = {name: "a b/$(exit 9)", "zz": "it's"}
    assert as_bytes(variables).items() <= exported(shell, variables).items()


def test_shell_numbers(shell: list[str]) -> None:
    """What a shell takes for arithmetic is taken as a plain number."""
    variables = dict.fromkeys(["COLUMNS", "LINES", "HISTSIZE", "OPTIND", "TMOUT"], "7")
    after = exported(shell, {**variables, "zz": "it's"})
    assert as_bytes(variables).items() <= after.items()
    assert after[b"zz"] == b"it's"


@pytest.mark.parametrize("name", ["COLUMNS", "OPTIND", "TMOUT"])
@pytest.mark.parametrize(
    "value", [f"a[$({SECRET})]", "", "07", "00", "1 ", "\u0661", "-1", "9" * 10]
)
def test_shell_refuses_no_number(name: str, value: str) -> None:
    """Anything but a plain number is refused there: bash would run a command in it."""
    message = refusal("shell", name, value)
    assert "the value must be a plain number" in message
    assert SECRET not in message


@pytest.mark.parametrize("value", ["0", "7", "10", "9" * 9])
def test_shell_takes_plain_numbers(value: str) -> None:
    """A number of up to nine digits is harmless to all of them."""
    assert encode("shell", {"COLUMNS": value}) == f"export COLUMNS='{value}'\n"


@pytest.mark.parametrize(
    "name", ["RANDOM", "HISTCMD", "UID", "PPID", "SHLVL", "USERNAME", "path", "status"]
)
def test_shell_refuses_its_own(name: str) -> None:
    """A name that some shell keeps for itself is refused, whatever the value."""
    assert "the name is reserved by a shell" in refusal("shell", name, "7")


@pytest.mark.parametrize(
    "name", ["$(exit 9)", "A B", "A-B", "a.b", "1A", "É", "A\n", "A;B", "A'", "-A", "A[0]", "A+"]
)
def test_shell_refuses_names(name: str) -> None:
    """What is no name to every shell is refused, and could have been a command."""
    message = refusal("shell", name, SECRET)
    assert "not a valid shell variable name" in message
    assert SECRET not in message


@given(_NAMES | _SHELL_NAMES, _VALUES)
def test_shell_never_lets_a_name_out(name: str, value: str) -> None:
    """Whatever is not refused begins with a plain assignment."""
    try:
        text = encode("shell", {name: value})
    except SystemFailureError:
        return
    assert name.isascii()
    assert name.isidentifier()
    assert text.startswith(f"export {name}='")
    assert text.endswith("'\n")


# fish


def exported_by_fish(variables: Mapping[str, str], locale: str) -> dict[bytes, bytes]:
    """The environment of a command after fish has read ``variables``."""
    result = subprocess.run(
        ["fish", "--no-config", "-c", "source; env -0"],
        input=FORMATS["fish"](variables),
        env={"PATH": os.environ["PATH"], "LC_ALL": locale},
        capture_output=True,
        timeout=LIMIT,
        check=True,
    )
    assert result.stderr == b""
    entries = result.stdout.split(b"\0")[:-1]
    return dict(entry.split(b"=", 1) for entry in entries)


@needs("fish")
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_fish_takes_every_value(locale: str) -> None:
    """All that fish could obey is data. A list like PATH comes out as it went in."""
    values = ["".join(parts) for parts in itertools.product(_SPECIAL, repeat=3)]
    values += ["".join(map(chr, range(*each))) for each in _RANGES]
    variables = {f"V_{number}": value for number, value in enumerate(values)}
    variables |= {"X_PATH": "/a::/b c:", "MANPATH": "", "COLUMNS": "x", "argv": "1", "end": "2"}
    assert as_bytes(variables).items() <= exported_by_fish(variables, locale).items()


@needs("fish")
def test_fish_refuses_its_own() -> None:
    """What cannot be set is refused: fish says so of each name that is refused, and of no other."""
    each = "set -gx $name 7 2>/dev/null; or echo $name"
    script = f"for name in (set --names); {each}; end"
    result = subprocess.run(
        ["fish", "--no-config", "-c", script], capture_output=True, timeout=LIMIT, check=True
    )
    names = result.stdout.decode().split()
    assert "status" in names
    for name in names:
        assert "the name is reserved by the shell" in refusal("fish", name, SECRET)


@pytest.mark.parametrize("name", ["$(exit 9)", "A B", "a.b", "1A", "É", "A\n", "A;B", "-A", "A[0]"])
def test_fish_refuses_names(name: str) -> None:
    """What is no name to fish is refused."""
    assert "not a valid shell variable name" in refusal("fish", name, SECRET)


def test_fish_settings() -> None:
    """What would change what fish does is refused: it would show values."""
    assert "the name is reserved by the shell" in refusal("fish", "fish_trace", "1")


# As processes

TEXT = """
A='it\\'s "one"\\ntwo'
B='$(exit 9) `exit 9` \\\\ ${=:-$}{A} #'
C="x\\r
"
EMPTY=
"""
VALUES = {"A": 'it\'s "one"\\ntwo', "B": "$(exit 9) `exit 9` \\ ${A} #", "C": "x\r\n", "EMPTY": ""}


def test_dump_serve_dump(directory: Path) -> None:
    """A session that is made from the dump of another one has the same variables."""
    below = directory / "below"
    below.mkdir()
    with serving(directory, TEXT.encode(), "-q"):
        first = hotenv("dump", "--format", "dotenv", cwd=directory)
        with serving(below, first.stdout, "-q"):
            second = hotenv("dump", "--format", "dotenv", cwd=below)
            null = hotenv("dump", "--format", "null", cwd=below)
    assert first.stderr == b""
    assert second.stdout == first.stdout
    assert null.stdout == b"".join(b"%s=%s\0" % pair for pair in as_bytes(VALUES).items())


def test_eval(shell: list[str], directory: Path) -> None:
    """The command that the README shows sets and exports the variables."""
    script = 'eval "$("$@" dump --format shell)"\nenv -0'
    with serving(directory, TEXT.encode(), "-q"):
        result = subprocess.run(
            [*shell, "-c", script, "shell", *HOTENV],
            cwd=directory,
            capture_output=True,
            timeout=LIMIT,
        )
    assert result.stderr == b""
    entries = set(result.stdout.split(b"\0"))
    assert {b"%s=%s" % pair for pair in as_bytes(VALUES).items()} <= entries


def test_null_for_other_tools(directory: Path) -> None:
    """xargs -0 takes it apart as it was put together, and env -0 prints the same."""
    with serving(directory, TEXT.encode(), "-q"):
        dump = hotenv("dump", "--format", "null", cwd=directory).stdout
        env = hotenv("run", "--", "env", "-0", cwd=directory).stdout
    again = subprocess.run(
        ["xargs", "-0", "-n", "1", "printf", "%s\\0"],
        input=dump,
        capture_output=True,
        timeout=LIMIT,
    )
    assert again.stdout == dump
    assert set(dump.split(b"\0")) <= set(env.split(b"\0"))


@pytest.mark.parametrize("form", ["shell", "fish", "docker"])
def test_refused_as_a_process(form: str, directory: Path) -> None:
    """Exit code 8, one line that names the variable safely, and nothing of the rest."""
    with serving(directory, b"A=1\n'B C'='s3cret'\n", "-q"):
        result = hotenv("dump", "--format", form, cwd=directory)
    assert result.returncode == 8
    assert f"hotenv: cannot write B C in {form} format: " in said(result)
    assert SECRET not in said(result)
