"""composition: what the API takes, checks and keeps, before anything is composed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotenv.errors import FieldError, UsageError
from hotenv.handover.composition import Composition, compose
from hotenv.handover.formats import FORMATS
from hotenv.handover.layers import compose_layers
from hotenv.snapshot import Snapshot

PARENT = {b"PATH": b"/bin", b"TOKEN": b"parent", b"HTTP_PROXY": b"proxy", b"RAW\xff": b"\xfe"}
SESSION = {"TOKEN": "session", "NEW": "grün"}

GROUPS = "no such group, choose from @net, @tls, @ssh-agent, @xdg"
NO_STRING = "must be a list of strings, not a string"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        pytest.param({"only": "A"}, f"only: {NO_STRING}", id="only, a string"),
        pytest.param({"excluded": "A"}, f"excluded: {NO_STRING}", id="excluded, a string"),
        pytest.param({"passed": "A"}, f"passed: {NO_STRING}", id="passed, a string"),
        pytest.param({"bins": "/a"}, f"bins: {NO_STRING}", id="bins, a string"),
        pytest.param({"passed": ["@nett"]}, f"passed @nett: {GROUPS}", id="an unknown group"),
        pytest.param({"passed": ["A=s3cret"]}, "passed: name contains '='", id="a value"),
        pytest.param({"passed": [""]}, "passed: empty name", id="pass nothing"),
        pytest.param({"defined": {"": "s3cret"}}, "defined: empty name", id="no name"),
        pytest.param({"defined": {"A": "s3cret\0"}}, "defined: contains a NUL character", id="NUL"),
        pytest.param({"defined": {"A": "s3cret\udcff"}}, "defined: not valid UTF-8", id="no text"),
        pytest.param(
            {"bins": ["/a:/b"]}, "bins /a:/b: a directory in PATH cannot contain ':'", id="colon"
        ),
        pytest.param({"bins": ["a"]}, "bins: must be an absolute path", id="relative"),
        pytest.param({"bins": [""]}, "bins: must be an absolute path", id="no directory"),
        pytest.param({"bins": ["/a\0"]}, "bins: must be an absolute path", id="NUL in a directory"),
        pytest.param({"as_file": {"A": ""}}, "as_file: empty name", id="a file without a name"),
        pytest.param({"as_file": {"A": "B=C"}}, "as_file: name contains '='", id="= in a name"),
        pytest.param({"as_file": {"": "B"}}, "as_file: empty name", id="a file of nothing"),
        pytest.param({"as_file": {"A=s3cret": "B"}}, "as_file: name contains '='", id="= of it"),
        pytest.param(
            {"env_file": "yaml"},
            f"env_file yaml: no such format, choose from {', '.join(FORMATS)}",
            id="an unknown format",
        ),
    ],
)
def test_what_makes_no_sense(asked: dict[str, Any], message: str) -> None:
    """A composition that cannot be meant is refused when it is made, by its field, and silently."""
    with pytest.raises(FieldError) as caught:
        Composition(**asked)
    assert str(caught.value) == message
    assert [caught.value.field] == list(asked)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        pytest.param({"as_file": {"A": "X", "B": "X"}}, "as_file X: duplicate name", id="target"),
        pytest.param(
            {"as_file": [("A", "X"), ("A", "Y")]}, "as_file A: duplicate name", id="file twice"
        ),
        pytest.param(
            {"as_file": [("A", "X"), ("A", "X")]}, "as_file A: duplicate name", id="same twice"
        ),
        pytest.param(
            {"defined": [("A", "s3cret"), ("A", "1")]}, "defined A: duplicate name", id="defined"
        ),
        pytest.param(
            {"as_file": {"A": "X"}, "defined": {"X": "s3cret"}},
            "as_file X: also defined",
            id="file and defined",
        ),
        pytest.param(
            {"as_file": {"A": "PATH"}, "bins": ["/a"]},
            "as_file PATH: directories are prepended to it",
            id="file and directories",
        ),
    ],
)
def test_one_name_for_two(asked: dict[str, Any], message: str) -> None:
    """What would set one variable twice, and so lose a value silently, is refused."""
    with pytest.raises(FieldError) as caught:
        Composition(**asked)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "asked",
    [
        {"as_file": {"NEW": "PATH"}},
        {"as_file": {"NEW": "X"}, "bins": ["/a"], "defined": {"NEW": "1", "PATH": "/b"}},
        {"as_file": {"TOKEN": "NEW", "NEW": "TOKEN"}},
    ],
    ids=str,
)
def test_names_that_are_set_once(asked: dict[str, Any]) -> None:
    """The neighbours of what is refused are not: every value arrives."""
    child = compose(Composition(**asked), PARENT, SESSION)
    files = {variable.encode(): SESSION[n].encode() for n, variable in asked["as_file"].items()}
    assert child.files == files
    assert {child.layers[variable][0] for variable in files} == {"file"}


def test_a_file_that_replaces_a_variable() -> None:
    """A name that the session has is refused once the session is known."""
    with pytest.raises(FieldError, match=r"^as_file TOKEN: also a variable of the session: use "):
        compose(Composition(as_file={"NEW": "TOKEN"}), PARENT, SESSION)


@pytest.mark.parametrize(
    ("asked", "field"), [({"only": ["TOKEM"]}, "only"), ({"as_file": {"A": "B"}}, "as_file")]
)
def test_what_the_session_has_not(asked: dict[str, Any], field: str) -> None:
    """What matches nothing in the session is an error of that field, once it is known."""
    with pytest.raises(FieldError) as caught:
        compose(Composition(**asked), PARENT, SESSION)
    assert caught.value.field == field


def test_a_session_that_is_none() -> None:
    """Any mapping will do, if an environment can hold it."""
    with pytest.raises(UsageError, match="NUL") as caught:
        compose(Composition(), {}, {"A": "s3cret\0"})
    assert "s3cret" not in str(caught.value)


def test_kept_as_it_was_given() -> None:
    """Lists, mappings and pairs are copied, so that no later change reaches the composition."""
    given_: dict[str, Any] = {
        "only": ["A"],
        "excluded": ["B"],
        "passed": ["C"],
        "defined": {"D": "s3cret"},
        "bins": ["/e"],
        "as_file": {"F": "G"},
    }
    composition = Composition(**given_)
    for value in given_.values():
        value.clear()
    assert attrs.asdict(composition, recurse=False) == {
        "only": ("A",),
        "excluded": ("B",),
        "override": True,
        "isolated": False,
        "passed": ("C",),
        "defined": Snapshot({"D": "s3cret"}),
        "bins": ("/e",),
        "as_file": {"F": "G"},
        "env_file": None,
    }


@pytest.mark.parametrize(
    "defined", [{"A": "1"}, [("A", "1")], iter([("A", "1")]), Snapshot({"A": "1"})], ids=type
)
def test_definitions(defined: dict[str, str] | Iterable[tuple[str, str]] | Snapshot) -> None:
    """They come as a mapping, as pairs, or as a snapshot."""
    composition = Composition(defined=defined)
    assert composition.defined == {"A": "1"}
    assert compose(composition, {}, {}).variables == {b"A": b"1"}


@pytest.mark.parametrize("session", [SESSION, Snapshot(SESSION)], ids=type)
def test_sessions(session: dict[str, str] | Snapshot) -> None:
    """A session is a mapping or a snapshot, such as fetch returns."""
    child = compose(Composition(isolated=True, excluded=["T*"]), PARENT, session)
    assert child.variables == {b"PATH": b"/bin", b"NEW": "grün".encode()}


def test_silent_and_immutable() -> None:
    """Neither the composition nor its result shows a value or can be changed."""
    composition: Any = Composition(defined={"A": "s3cret"}, as_file={"C": "D"})
    child: Any = compose(composition, {b"B": b"s3cret"}, {"C": "s3cret"})
    assert repr(child) == "<ChildEnvironment, 3 variables>"
    assert "s3cret" not in f"{composition!r}{child}{child.explanation()}"
    with pytest.raises(AttributeError):
        composition.only = ("A",)
    with pytest.raises(TypeError):
        composition.as_file["A"] = "B"
    with pytest.raises(TypeError):
        child.variables[b"A"] = b""
    with pytest.raises(AttributeError):
        child.absent = {}


_NAMES = st.text(alphabet="AB_ö", min_size=1, max_size=3)
_OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "only": st.just(["TOKEN", "*"]),
        "excluded": st.lists(_NAMES, max_size=2),
        "override": st.booleans(),
        "isolated": st.booleans(),
        "passed": st.lists(st.sampled_from(["@net", "TOKEN", "R*", "NOPE"]), max_size=2),
        "defined": st.dictionaries(_NAMES, _NAMES, max_size=2),
        "bins": st.lists(st.just("/a"), max_size=1),
        "as_file": st.just({"NEW": "NEW_FILE"}),
        "env_file": st.sampled_from([None, *FORMATS]),
    },
)


@given(_OPTIONS)
def test_nothing_but_the_layers(asked: dict[str, Any]) -> None:
    """A composition is composed as the same options of the command line are."""
    child = compose(Composition(**asked), PARENT, SESSION)
    expected = compose_layers(PARENT, SESSION, **asked)
    for name in child.__slots__:
        assert getattr(child, name) == getattr(expected, name)


def test_every_option_has_its_field() -> None:
    """The fields are the options of compose_layers, and no others."""
    assert {field.name for field in attrs.fields(Composition)} == set(
        compose_layers.__kwdefaults__ or ()
    )
