"""composition: the environment of a command, layer by layer."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotenv.errors import UsageError
from hotenv.handover.childenv import overlay
from hotenv.handover.composition import ChildEnvironment, Composition, compose
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
    ("a missing name", {"passed": ["NOPE"]}, ALONE | HELD, {"NOPE": "not set in the parent"}),
    ("a pattern in vain", {"passed": ["NO*E"]}, ALONE | HELD, {"NO*E": "not set in the parent"}),
    ("exact case", {"passed": ["home*"]}, ALONE | HELD, {"home*": "not set in the parent"}),
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
            name: "not set in the parent"
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
            "can load code, so --pass has to name it exactly",
        ),
    ),
    (
        "loaders, one of them named",
        {"passed": ["LD_PRELOAD", "LD_*", "BASH_FUNC_ls%%"]},
        ALONE | HELD | {"LD_PRELOAD": "pass", "BASH_FUNC_ls%%": "pass"},
        {"LD_LESS": "can load code, so --pass has to name it exactly"},
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
        "except, and nobody else has it",
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
    child = compose(Composition(isolated=True, **asked), PARENT, SESSION)
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
            {"NOPE": "not set in the parent"},
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
    child = compose(Composition(**asked), PARENT, SESSION)
    assert whence(child) == layers
    assert {os.fsdecode(name): reason for name, reason in child.absent.items()} == absent


def test_values() -> None:
    """The layer that counts gives the value: byte for byte the parent's, in UTF-8 the others."""
    child = compose(
        Composition(isolated=True, passed=["RAW*", "EMPTY"], defined=[("A", "1"), ("A", "ö=")]),
        PARENT,
        {"TOKEN": "session", "NEW": "grün"},
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
    """The folders come first, in their order, and the current folder does not slip in."""
    assert compose(Composition(bins=bins), path, {}).variables == {b"PATH": expected}


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        pytest.param({"passed": ["@nett"]}, "--pass @nett: no such group", id="unknown group"),
        pytest.param({"passed": ["A=s3cret"]}, "--pass has a name that contains '='", id="a value"),
        pytest.param({"passed": [""]}, "--pass has an empty name", id="pass nothing"),
        pytest.param({"defined": {"": "s3cret"}}, "--define has an empty name", id="no name"),
        pytest.param({"defined": {"A": "s3cret\0"}}, "--define has a NUL", id="NUL"),
        pytest.param({"bins": ["/a:/b"]}, "--bin /a:/b: PATH cannot hold", id="colon"),
        pytest.param({"bins": ["a"]}, "absolute", id="relative"),
        pytest.param({"bins": ["/a\0"]}, "absolute", id="NUL in a folder"),
    ],
)
def test_what_makes_no_sense(asked: dict[str, Any], words: str) -> None:
    """A composition that cannot be meant is refused when it is made, without a value."""
    with pytest.raises(UsageError) as caught:
        Composition(**asked)
    assert words in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_a_pattern_of_only_that_matches_nothing() -> None:
    """It is an error of the composition too."""
    with pytest.raises(UsageError, match="--only 'TOKEM'"):
        compose(Composition(only=["TOKEM"]), PARENT, SESSION)


def test_a_session_that_is_none() -> None:
    """Any mapping will do, if an environment can hold it."""
    with pytest.raises(UsageError, match="NUL") as caught:
        compose(Composition(), {}, {"A": "s3cret\0"})
    assert "s3cret" not in str(caught.value)


def test_silent_and_immutable() -> None:
    """Neither the composition nor its result shows a value or can be changed."""
    composition = Composition(defined={"A": "s3cret"})
    child: Any = compose(composition, {b"B": b"s3cret"}, {"C": "s3cret"})
    assert repr(child) == "<ChildEnvironment, 3 variables>"
    assert "s3cret" not in f"{composition!r}{child}{child.explanation()}"
    with pytest.raises(TypeError):
        child.variables[b"A"] = b""
    with pytest.raises(AttributeError):
        child.absent = {}


def test_explanation() -> None:
    """Sorted lines of two or three columns, each safe to show."""
    child = compose(
        Composition(
            isolated=True,
            passed=["HTTP_PROXY", "LD_PRE*", "NOPE"],
            defined={"TOKEN": "x", "odd\t\x1b\n": "x"},
            bins=["/a"],
            excluded=["NEW"],
        ),
        PARENT,
        SESSION,
    )
    assert tabbed(child.explanation()) == (
        "EMPTY\tsession\n"
        "HOME\tessential\n"
        "HTTP_PROXY\tpass\n"
        "LANG\tessential\n"
        "LD_PRELOAD\tabsent\tcan load code, so --pass has to name it exactly\n"
        "NEW\tabsent\texcluded by --except NEW\n"
        "NOPE\tabsent\tnot set in the parent\n"
        "PATH\tbin\tin front of essential\n"
        "TOKEN\tdefine\toverrides session\n"
        "odd\\t\\x1b\\n\tdefine\n"
    )


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


def compositions(isolated: st.SearchStrategy[bool]) -> st.SearchStrategy[Composition]:
    """Any composition that asks nothing of the session that it may not have."""
    return st.builds(
        Composition,
        excluded=st.lists(_TEXT, max_size=2),
        override=st.booleans(),
        isolated=isolated,
        passed=st.lists(_ASKED, max_size=3),
        defined=_SESSIONS,
        bins=st.lists(st.just("/a"), max_size=1),
    )


@given(_PARENTS, _SESSIONS)
def test_nothing_asked_is_the_plain_run(
    parent: dict[bytes, bytes], session: dict[str, str]
) -> None:
    """Without options the composition is what ``hotenv run -- COMMAND`` does without it."""
    child = compose(Composition(), parent, session)
    assert child.variables == overlay(parent, session.items())
    assert not child.absent


@given(compositions(st.booleans()), _PARENTS, _SESSIONS)
def test_layers_keep_their_order(
    composition: Composition, parent: dict[bytes, bytes], session: dict[str, str]
) -> None:
    """Each name has its layers from the top down, the value of the first, and no absence."""
    child = compose(composition, parent, session)
    order = ["bin", "define", "session", "pass", "essential", "inherited"]
    if not composition.override:
        order.append(order.pop(2))
    assert child.layers.keys() == child.variables.keys()
    assert not child.layers.keys() & child.absent.keys()
    for name, layers in child.layers.items():
        assert list(layers) == [layer for layer in order if layer in layers]
        value = child.variables[name]
        if layers[0] == "bin":
            assert value.split(b":")[0] == b"/a"
        elif layers[0] == "define":
            assert value.decode() == composition.defined[name.decode()]
        elif layers[0] == "session":
            assert value.decode() == session[name.decode()]
        else:
            assert value == parent[name]


@given(compositions(st.just(True)), _PARENTS, _SESSIONS)
def test_isolation_does_not_leak(
    composition: Composition, parent: dict[bytes, bytes], session: dict[str, str]
) -> None:
    """A name that nobody declared is not there, and a loader only if it was named."""
    wanted = [name for each in composition.passed for name in GROUPS.get(each, (each,))]
    for raw in compose(composition, parent, session).variables:
        name = os.fsdecode(raw)
        if name in ESSENTIALS or name in session or name in composition.defined:
            continue
        if name == "PATH" and composition.bins:
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
    by_pattern = compose(Composition(isolated=True, passed=["*", f"{name[:2]}*"]), parent, {})
    assert by_pattern.variables == {}
    by_name = compose(Composition(isolated=True, passed=[name]), parent, {})
    assert by_name.variables == parent
