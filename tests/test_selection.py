"""selection: which of the session's variables a command gets."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotenv.errors import FieldError
from hotenv.handover.selection import left_out, select

SESSION = {"AWS_KEY": "1", "AWS_REGION": "2", "aws_key": "3", "TOKEN": "4", "A[1]": "5", "ÄÖ": "6"}


@pytest.mark.parametrize(
    ("only", "excluded", "names"),
    [
        pytest.param([], [], set(SESSION), id="all"),
        pytest.param(["TOKEN"], [], {"TOKEN"}, id="a name"),
        pytest.param(["AWS_*"], [], {"AWS_KEY", "AWS_REGION"}, id="a pattern, exact case"),
        pytest.param(["AWS_*", "TOKEN"], [], {"AWS_KEY", "AWS_REGION", "TOKEN"}, id="either"),
        pytest.param(["TOKE?"], [], {"TOKEN"}, id="one character"),
        pytest.param(["[Aa]*_[Kk]*"], [], {"AWS_KEY", "aws_key"}, id="some characters"),
        pytest.param(["A[[]1]"], [], {"A[1]"}, id="a bracket for itself"),
        pytest.param(["Ä*"], [], {"ÄÖ"}, id="any script"),
        pytest.param([], ["AWS_*"], {"aws_key", "TOKEN", "A[1]", "ÄÖ"}, id="except"),
        pytest.param([], ["NOPE"], set(SESSION), id="except what is not there"),
        pytest.param(["AWS_*"], ["*_KEY"], {"AWS_REGION"}, id="only, and of these except"),
        pytest.param(["TOKEN"], ["*"], set(), id="nothing is left"),
    ],
)
def test_select(only: list[str], excluded: list[str], names: set[str]) -> None:
    """What is selected keeps its value, and the rest has a reason."""
    assert select(SESSION, only, excluded) == {name: SESSION[name] for name in names}
    assert set(left_out(SESSION, only, excluded)) == set(SESSION) - names


@pytest.mark.parametrize("pattern", ["TOKEM", "token", "AWS", "", "TOKEN ", "X*"])
def test_only_has_to_match(pattern: str) -> None:
    """Each of --only has to match, also if another one does; the error names it."""
    with pytest.raises(FieldError) as caught:
        select(SESSION, ["AWS_*", pattern], [])
    assert str(caught.value) == f"only '{pattern}': no matching variable in the session"
    assert (caught.value.field, caught.value.item) == ("only", f"'{pattern}'")


def test_only_is_asked_of_the_whole_session() -> None:
    """What --except takes away again was there, and an empty session has nothing."""
    assert select({"A": "1"}, ["A"], ["A"]) == {}
    with pytest.raises(FieldError):
        select({}, ["*"], [])


def test_reasons() -> None:
    """A reason says which option left a name out."""
    assert left_out(iter(["A", "B", "C"]), ["A", "B"], ["X", "B*", "B"]) == {
        "B": "excluded by --except B*",
        "C": "not selected by --only",
    }


_PATTERNS = st.lists(st.text(alphabet="AB*?[]!-", max_size=4), max_size=3)


@given(st.sets(st.text(alphabet="AB[-", min_size=1, max_size=4)), _PATTERNS, _PATTERNS)
def test_any_patterns(names: set[str], only: list[str], excluded: list[str]) -> None:
    """Whatever the patterns: a name stays if it matches one of only and none of except."""
    variables = dict.fromkeys(names, "x")
    if any(not any(fnmatchcase(name, pattern) for name in names) for pattern in only):
        with pytest.raises(FieldError):
            select(variables, only, excluded)
        return
    for name in names:
        wanted = not only or any(fnmatchcase(name, pattern) for pattern in only)
        unwanted = any(fnmatchcase(name, pattern) for pattern in excluded)
        assert (name in select(variables, only, excluded)) == (wanted and not unwanted)
