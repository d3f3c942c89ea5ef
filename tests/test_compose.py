"""layers: the environment of a command, layer by layer."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotenv.errors import FieldError, SystemFailureError
from hotenv.handover.childenv import overlay
from hotenv.handover.layers import ChildEnvironment, compose_layers
from hotenv.handover.wellknown import ESSENTIALS, GROUPS, LOADERS
from hotenv.table import tabbed

PARENT = {
    b"PATH": b"/bin",
    b"HOME": b"/home/you",
    b"LANG": b"",
    b"TOKEN": b"parent",
    b"EMPTY": b"",
    b"HTTP_PROXY": b"proxy",
    b"no_proxy": b"none",
    b"LD_PRELOAD": b"evil.so",
    b"LD_LESS": b"x",
    b"BASH_FUNC_ls%%": b"() { evil; }",
    b"RAW\xff": b"\xfe",
}
SESSION = {"TOKEN": "session", "EMPTY": "session", "NEW": "grün"}


def whence(child: ChildEnvironment) -> dict[str, str]:
    """The names of ``child``, each with its layers as one text."""
    return {os.fsdecode(name): " ".join(layers) for name, layers in child.layers.items()}


ALONE = {"PATH": "essential", "HOME": "essential", "LANG": "essential"}
HELD = {"TOKEN": "session", "EMPTY": "session", "NEW": "session"}

# What is asked for, in the terms of the options: what comes out has what layers, and what not why.
TRUTH: list[tuple[str, dict[str, Any], dict[str, str], dict[str, str]]] = [
    ("nothing but the essentials and the session", {}, ALONE | HELD, {}),
    ("a name", {"passed": ["HTTP_PROXY"]}, ALONE | HELD | {"HTTP_PROXY": "pass"}, {}),
    ("a missing name", {"passed": ["NOPE"]}, ALONE | HELD, {"NOPE": "not set in the environment"}),
    (
        "a pattern in vain",
        {"passed": ["NO*E"]},
        ALONE | HELD,
        {"NO*E": "not set in the environment"},
    ),
    ("exact case", {"passed": ["home*"]}, ALONE | HELD, {"home*": "not set in the environment"}),
    ("an essential again", {"passed": ["LANG"]}, ALONE | HELD | {"LANG": "pass essential"}, {}),
    (
        "the session has it as well",
        {"passed": ["TOK*", "NEW"]},
        ALONE | HELD | {"TOKEN": "session pass"},
        {},
    ),
    (
        "a group",
        {"passed": ["@net"]},
        ALONE | HELD | {"HTTP_PROXY": "pass", "no_proxy": "pass"},
        {
            name: "not set in the environment"
            for name in GROUPS["@net"]
            if name not in ("HTTP_PROXY", "no_proxy")
        },
    ),
    (
        "loaders, by a pattern",
        {"passed": ["LD_*", "BASH_*"]},
        ALONE | HELD,
        dict.fromkeys(
            ("LD_PRELOAD", "LD_LESS", "BASH_FUNC_ls%%"),
            "can load code: name it exactly in --pass",
        ),
    ),
    (
        "loaders, one of them named",
        {"passed": ["LD_PRELOAD", "LD_*", "BASH_FUNC_ls%%"]},
        ALONE | HELD | {"LD_PRELOAD": "pass", "BASH_FUNC_ls%%": "pass"},
        {"LD_LESS": "can load code: name it exactly in --pass"},
    ),
    (
        "a loader that the author defines",
        {"passed": ["LD_P*"], "defined": {"LD_PRELOAD": "mine.so"}},
        ALONE | HELD | {"LD_PRELOAD": "define"},
        {},
    ),
    (
        "everything but the loaders",
        {"passed": ["[!LB]*"]},
        {
            **dict.fromkeys(("PATH", "HOME"), "pass essential"),
            **dict.fromkeys(("TOKEN", "EMPTY"), "session pass"),
            **dict.fromkeys(("HTTP_PROXY", "no_proxy", "RAW\udcff"), "pass"),
            "LANG": "essential",
            "NEW": "session",
        },
        {},
    ),
    (
        "no override: what is passed wins, also empty",
        {"passed": ["TOKEN", "EMPTY"], "override": False},
        ALONE | {"TOKEN": "pass session", "EMPTY": "pass session", "NEW": "session"},
        {},
    ),
    ("no override: nothing is there to win", {"override": False}, ALONE | HELD, {}),
    (
        "define is over all",
        {"defined": {"TOKEN": "x", "HOME": "/", "MORE": ""}, "override": False},
        ALONE | HELD | {"TOKEN": "define session", "HOME": "define essential", "MORE": "define"},
        {},
    ),
    ("bin is in front", {"bins": ["/a"]}, ALONE | HELD | {"PATH": "bin essential"}, {}),
    (
        "bin is in front of what is defined",
        {"bins": ["/a"], "defined": {"PATH": "/mine"}},
        ALONE | HELD | {"PATH": "bin define essential"},
        {},
    ),
    (
        "only",
        {"only": ["TOKEN"]},
        ALONE | {"TOKEN": "session"},
        {"EMPTY": "not selected by --only", "NEW": "not selected by --only"},
    ),
    (
        "except, and another layer has it",
        {"excluded": ["[EN]*", "TOKEN"], "passed": ["TOKEN"], "defined": {"NEW": "x"}},
        ALONE | {"TOKEN": "pass", "NEW": "define"},
        {"EMPTY": "excluded by --except [EN]*"},
    ),
    (
        "except, and no other layer has it",
        {"excluded": ["NEW"], "passed": ["NEW"]},
        ALONE | {"TOKEN": "session", "EMPTY": "session"},
        {"NEW": "excluded by --except NEW"},
    ),
]


@pytest.mark.parametrize(
    ("asked", "layers", "absent"), [row[1:] for row in TRUTH], ids=[row[0] for row in TRUTH]
)
def test_isolated(asked: dict[str, Any], layers: dict[str, str], absent: dict[str, str]) -> None:
    """The truth table: what an isolated command has, from where, and why it has the rest not."""
    child = compose_layers(PARENT, SESSION, isolated=True, **asked)
    assert whence(child) == layers
    assert {os.fsdecode(name): reason for name, reason in child.absent.items()} == absent


INHERITED = {os.fsdecode(name): "inherited" for name in PARENT}
BOTH = INHERITED | {"TOKEN": "session inherited", "EMPTY": "session inherited", "NEW": "session"}


@pytest.mark.parametrize(
    ("asked", "layers", "absent"),
    [
        pytest.param({}, BOTH, {}, id="plain"),
        pytest.param(
            {"override": False},
            BOTH | {"TOKEN": "inherited session", "EMPTY": "inherited session"},
            {},
            id="no override",
        ),
        pytest.param(
            {"passed": ["HTTP_*", "LD_*", "NOPE"]},
            BOTH | {"HTTP_PROXY": "pass inherited"},
            {"NOPE": "not set in the environment"},
            id="pass adds nothing",
        ),
        pytest.param(
            {"excluded": ["TOKEN"], "defined": {"HOME": "/"}, "bins": ["/a"]},
            BOTH | {"TOKEN": "inherited", "HOME": "define inherited", "PATH": "bin inherited"},
            {},
            id="the other layers",
        ),
    ],
)
def test_not_isolated(
    asked: dict[str, Any], layers: dict[str, str], absent: dict[str, str]
) -> None:
    """The same composition on top of the whole inherited environment."""
    child = compose_layers(PARENT, SESSION, **asked)
    assert whence(child) == layers
    assert {os.fsdecode(name): reason for name, reason in child.absent.items()} == absent


def test_values() -> None:
    """The layer that counts gives the value: byte for byte the parent's, in UTF-8 the others."""
    child = compose_layers(
        PARENT,
        {"TOKEN": "session", "NEW": "grün"},
        isolated=True,
        passed=["RAW*", "EMPTY"],
        defined={"A": "ö="},
    )
    assert child.variables == {
        b"PATH": b"/bin",
        b"HOME": b"/home/you",
        b"LANG": b"",
        b"EMPTY": b"",
        b"RAW\xff": b"\xfe",
        b"TOKEN": b"session",
        b"NEW": "grün".encode(),
        b"A": "ö=".encode(),
    }


@pytest.mark.parametrize(
    ("path", "bins", "expected"),
    [
        pytest.param({b"PATH": b"/bin:/x"}, ["/a", "/b"], b"/a:/b:/bin:/x", id="in order"),
        pytest.param({}, ["/a", "/b"], b"/a:/b", id="no PATH"),
        pytest.param({b"PATH": b""}, ["/a"], b"/a", id="an empty PATH"),
        pytest.param({b"PATH": b"/\xff"}, ["/\udcfe"], b"/\xfe:/\xff", id="no text"),
    ],
)
def test_path(path: dict[bytes, bytes], bins: list[str], expected: bytes) -> None:
    """The directories come first, in their order, and the current directory does not slip in."""
    assert compose_layers(path, {}, bins=bins).variables == {b"PATH": expected}


def test_explanation() -> None:
    """Sorted lines of two or three columns, each safe to show."""
    child = compose_layers(
        PARENT,
        SESSION,
        isolated=True,
        passed=["HTTP_PROXY", "LD_PRE*", "NOPE"],
        defined={"TOKEN": "x", "odd\t\x1b\n": "x"},
        bins=["/a"],
        excluded=["NEW"],
    )
    assert tabbed(child.explanation()) == (
        "EMPTY\tsession\n"
        "HOME\tessential\n"
        "HTTP_PROXY\tpass\n"
        "LANG\tessential\n"
        "LD_PRELOAD\tabsent\tcan load code: name it exactly in --pass\n"
        "NEW\tabsent\texcluded by --except NEW\n"
        "NOPE\tabsent\tnot set in the environment\n"
        "PATH\tbin\tprepended to essential\n"
        "TOKEN\tdefine\toverrides session\n"
        "odd\\t\\x1b\\n\tdefine\n"
    )


# Files


def test_in_files() -> None:
    """A value goes into its file, and its name with the variable that names the file stays."""
    child = compose_layers(
        {b"TOKEN": b"parent"}, SESSION, as_file={"TOKEN": "TOKEN_FILE", "NEW": "HOME"}
    )
    assert child.files == {b"TOKEN_FILE": b"session", b"HOME": "grün".encode()}
    assert child.variables == {
        b"TOKEN": b"parent",
        b"EMPTY": b"session",
        b"TOKEN_FILE": b"",
        b"HOME": b"",
    }
    assert whence(child) == {
        "TOKEN": "inherited",
        "EMPTY": "session",
        "TOKEN_FILE": "file",
        "HOME": "file",
    }
    assert child.absent == {b"NEW": "in the file named by HOME"}
    assert child.env_file is None


@pytest.mark.parametrize("override", [True, False])
def test_files_win_over_the_parent(override: bool) -> None:
    """The variable that names a file is above what is inherited and above what is passed."""
    child = compose_layers(
        {b"B": b"parent"}, {"A": "1"}, passed=["B"], override=override, as_file={"A": "B"}
    )
    assert whence(child) == {"B": "file pass inherited"}
    assert child.files == {b"B": b"1"}


@pytest.mark.parametrize(
    "as_file", [{"A": "B"}, {"A": "A_FILE"}, {"B": "A", "C": "C"}], ids=lambda files: str(files)
)
@pytest.mark.parametrize("more", [{}, {"env_file": "json"}, {"override": False}], ids=str)
def test_a_file_does_not_replace_a_variable(as_file: dict[str, str], more: dict[str, Any]) -> None:
    """What names a file must not be another variable of the session, which would be lost."""
    session = {"A": "1", "B": "2", "C": "3", "A_FILE": "4"}
    with pytest.raises(FieldError) as caught:
        compose_layers({}, session, as_file=as_file, **more)
    (taken,) = set(as_file.values()) - {"C"}
    assert str(caught.value) == (f"as_file {taken}: also a variable of the session: use NAME=OTHER")


@pytest.mark.parametrize(
    ("as_file", "more"),
    [
        pytest.param({"A": "A"}, {}, id="its own"),
        pytest.param({"A": "B", "B": "A"}, {}, id="exchanged"),
        pytest.param({"A": "B", "B": "C"}, {}, id="one after the other"),
        pytest.param({"B": "C", "A": "B"}, {}, id="one before the other"),
        pytest.param({"A": "B"}, {"excluded": ["B"]}, id="excluded"),
        pytest.param({"A": "B"}, {"only": ["A"]}, id="not selected"),
    ],
)
def test_a_name_that_is_free(as_file: dict[str, str], more: dict[str, Any]) -> None:
    """What names a file may be a variable whose value is in a file itself, or is not there."""
    session = {"A": "1", "B": "2"}
    child = compose_layers({}, session, as_file=as_file, **more)
    assert child.files == {as_file[n].encode(): session[n].encode() for n in as_file}
    for name in as_file.values():
        assert child.layers[name.encode()] == ("file",)
        assert child.variables[name.encode()] == b""


def test_in_one_file() -> None:
    """All that is selected and in no other file goes into one, in its format."""
    child = compose_layers(
        {b"HOME": b"/"},
        {**SESSION, "A": "it's"},
        excluded=["EMPTY"],
        as_file={"TOKEN": "T"},
        env_file="null",
    )
    assert child.env_file == "A=it's\0NEW=grün\0".encode()
    assert child.files == {b"T": b"session"}
    assert child.variables == {b"HOME": b"/", b"T": b""}
    assert child.absent == {
        b"A": "in the file passed with --env-file",
        b"EMPTY": "excluded by --except EMPTY",
        b"NEW": "in the file passed with --env-file",
        b"TOKEN": "in the file named by T",
    }


def test_one_file_with_nothing_in_it() -> None:
    """An empty file is a file too."""
    assert compose_layers({}, {}, env_file="shell").env_file == b""
    assert compose_layers({}, {}).env_file is None


@pytest.mark.parametrize("selection", [{"only": ["NEW"]}, {"excluded": ["T*"]}, {}], ids=str)
def test_no_such_variable_for_a_file(selection: dict[str, Any]) -> None:
    """A name that is not in the session, or not selected, is an error and not an empty file."""
    session = SESSION if selection else {}
    with pytest.raises(FieldError) as caught:
        compose_layers({}, session, as_file={"TOKEN": "X"}, **selection)
    assert (caught.value.field, caught.value.item) == ("as_file", "TOKEN")
    assert "no such variable in the session" in caught.value.reason


def test_a_format_that_cannot_hold_it() -> None:
    """A variable that the format cannot hold is named; what is not selected does not matter."""
    session = {"A": "1", "B C": "s3cret"}
    with pytest.raises(SystemFailureError, match="cannot write B C in shell format") as caught:
        compose_layers({}, session, env_file="shell")
    assert "s3cret" not in str(caught.value)
    assert compose_layers({}, session, excluded=["B*"], env_file="shell").env_file == (
        b"export A='1'\n"
    )


def test_a_pattern_of_only_that_matches_nothing() -> None:
    """It is an error, with the pattern."""
    with pytest.raises(FieldError, match="only 'TOKEM': no matching variable"):
        compose_layers(PARENT, SESSION, only=["TOKEM"])


@pytest.mark.parametrize(
    ("parent", "shown"),
    [
        ({}, "<ChildEnvironment, 0 variables>"),
        ({b"A": b"s3cret"}, "<ChildEnvironment, 1 variable>"),
        ({b"A": b"s3cret", b"B": b""}, "<ChildEnvironment, 2 variables>"),
    ],
    ids=len,
)
def test_repr(parent: dict[bytes, bytes], shown: str) -> None:
    """It counts the variables, and shows none."""
    assert repr(compose_layers(parent, {})) == shown


def test_immutable() -> None:
    """Neither the attributes of the result nor what they hold can be changed."""
    child: Any = compose_layers(PARENT, SESSION, as_file={"NEW": "F"})
    for name in ("variables", "layers", "absent", "files"):
        with pytest.raises(TypeError):
            getattr(child, name)[b"A"] = b""
    for name in (*child.__slots__, "new"):
        with pytest.raises(AttributeError):
            setattr(child, name, {})


# Properties

_TEXT = st.text(alphabet="AB_ö", min_size=1, max_size=3)
_NAMES = st.one_of(
    _TEXT, st.sampled_from([*ESSENTIALS, "LD_PRELOAD", "ENV", "HTTP_PROXY", "RAW\udcff"])
)
_PARENTS = st.dictionaries(
    _NAMES.map(os.fsencode), st.binary(max_size=3).map(bytes.hex), max_size=8
).map(lambda parent: {name: value.encode() for name, value in parent.items()})
_SESSIONS = st.dictionaries(st.one_of(_TEXT, st.sampled_from(["PATH", "ENV"])), _TEXT, max_size=4)
_ASKED = st.one_of(_TEXT, st.sampled_from(["*", "A*", "LD_*", "E?V", "ENV", "@net", "@xdg"]))


def options(isolated: st.SearchStrategy[bool]) -> st.SearchStrategy[dict[str, Any]]:
    """Any options that ask nothing of the session that it may not have."""
    return st.fixed_dictionaries(
        {
            "excluded": st.lists(_TEXT, max_size=2),
            "override": st.booleans(),
            "isolated": isolated,
            "passed": st.lists(_ASKED, max_size=3),
            "defined": _SESSIONS,
            "bins": st.lists(st.just("/a"), max_size=1),
        }
    )


@given(_PARENTS, _SESSIONS)
def test_nothing_asked_is_the_plain_run(
    parent: dict[bytes, bytes], session: dict[str, str]
) -> None:
    """Without options the composition is what ``hotenv run -- COMMAND`` does without it."""
    child = compose_layers(parent, session)
    assert child.variables == overlay(parent, session.items())
    assert not child.absent


@given(options(st.booleans()), _PARENTS, _SESSIONS)
def test_layers_keep_their_order(
    asked: dict[str, Any], parent: dict[bytes, bytes], session: dict[str, str]
) -> None:
    """Each name has its layers from the top down, the value of the first, and no absence."""
    child = compose_layers(parent, session, **asked)
    order = ["bin", "define", "session", "pass", "essential", "inherited"]
    if not asked["override"]:
        order.append(order.pop(2))
    assert child.layers.keys() == child.variables.keys()
    assert not child.layers.keys() & child.absent.keys()
    for name, layers in child.layers.items():
        assert list(layers) == [layer for layer in order if layer in layers]
        value = child.variables[name]
        if layers[0] == "bin":
            assert value.split(b":")[0] == b"/a"
        elif layers[0] == "define":
            assert value.decode() == asked["defined"][name.decode()]
        elif layers[0] == "session":
            assert value.decode() == session[name.decode()]
        else:
            assert value == parent[name]


@given(options(st.just(True)), _PARENTS, _SESSIONS)
def test_isolation_does_not_leak(
    asked: dict[str, Any], parent: dict[bytes, bytes], session: dict[str, str]
) -> None:
    """A name that was not declared is not there, and a loader only if it was named."""
    wanted = [name for each in asked["passed"] for name in GROUPS.get(each, (each,))]
    for raw in compose_layers(parent, session, **asked).variables:
        name = os.fsdecode(raw)
        if name in ESSENTIALS or name in session or name in asked["defined"]:
            continue
        if name == "PATH" and asked["bins"]:
            continue
        assert raw in parent
        assert any(fnmatchcase(name, pattern) for pattern in wanted)
        if any(fnmatchcase(name, loader) for loader in LOADERS):
            assert name in wanted


# The lists


def test_no_list_contradicts_another() -> None:
    """No essential and no member of a group is a loader, and none of them is a pattern."""
    named = [*ESSENTIALS, *(name for group in GROUPS.values() for name in group)]
    assert len(set(named)) == len(named)
    assert len(set(LOADERS)) == len(LOADERS)
    assert [n for n in named if any(fnmatchcase(n, loader) for loader in LOADERS)] == []
    assert [n for n in named if set(n) & set("*?[@")] == []


@pytest.mark.parametrize(
    "name",
    [
        *("LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "ENV"),
        *("BASH_FUNC_x%%", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "PERL5OPT", "RUBYOPT"),
        *("GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_CONFIG_PARAMETERS", "IFS", "PS4"),
    ],
)
def test_loaders(name: str) -> None:
    """What is known to load code is refused to every pattern, and let through by its name."""
    parent = {name.encode(): b"x"}
    by_pattern = compose_layers(parent, {}, isolated=True, passed=["*", f"{name[:2]}*"])
    assert by_pattern.variables == {}
    by_name = compose_layers(parent, {}, isolated=True, passed=[name])
    assert by_name.variables == parent
