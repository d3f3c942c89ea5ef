"""Which commands an agent may run."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotenv.errors import FieldError
from hotenv.project.agentrules import ALLOW, ASK, DENY, Rules, Verdict
from hotenv.project.argvpatterns import Pattern

EXAMPLE = {
    "allow": ["pytest", "npm test", "terraform plan", "psql -c *"],
    "ask": ["terraform apply **"],
    "deny": ["**"],
}


@pytest.mark.parametrize(
    ("command", "decision", "pattern"),
    [
        ("pytest", ALLOW, "pytest"),
        ("psql -c 'select 1'", ALLOW, "psql -c *"),
        ("terraform apply", ASK, "terraform apply **"),
        ("terraform apply -auto-approve", ASK, "terraform apply **"),
        ("terraform destroy", DENY, "**"),
        ("./pytest", DENY, "**"),
        ("pytest -x", DENY, "**"),
    ],
)
def test_example(command: str, decision: str, pattern: str) -> None:
    """The verdict says which pattern has decided."""
    verdict = Rules(**EXAMPLE).verdict(shlex.split(command))
    assert (verdict.decision, str(verdict.pattern)) == (decision, pattern)


def lists(**patterns: list[str]) -> str:
    """The decision on the command ``a b``."""
    return Rules(**patterns).verdict(["a", "b"]).decision


def test_precedence() -> None:
    """What denies wins, then what asks, however narrow the patterns are."""
    assert lists(allow=["a b"], ask=["a *"], deny=["a **"]) == DENY
    assert lists(allow=["a **"], ask=["a *"], deny=["a b"]) == DENY
    assert lists(allow=["a b"], ask=["* **"]) == ASK
    assert lists(allow=["a **"], ask=["a c"], deny=["b"]) == ALLOW
    assert lists(allow=["a b"], deny=["* **"]) == DENY  # not alone: a pattern as any other


def test_the_rest() -> None:
    """Two stars alone stand for what nothing else does, in whichever list."""
    for key in ("allow", "ask", "deny"):
        assert lists(**{key: ["**"]}) == key
        assert lists(**{key: [" ** ", "**"]}) == key
    assert lists(allow=["a b"], deny=["**"]) == ALLOW
    assert lists(ask=["a b"], allow=["**"]) == ASK
    assert lists(deny=["a *"], ask=["**"]) == DENY
    assert lists(deny=["'**'"], allow=["**"]) == ALLOW


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (("allow", "deny"), "allow: '**' is also in deny: keep it in one of them"),
        (("allow", "ask"), "allow: '**' is also in ask: keep it in one of them"),
        (("ask", "deny"), "ask: '**' is also in deny: keep it in one of them"),
    ],
)
def test_two_rests(keys: tuple[str, str], message: str) -> None:
    """It is not clear what counts then."""
    with pytest.raises(FieldError) as caught:
        Rules(**{key: ["a", "**"] for key in keys})
    assert str(caught.value) == message


def test_nothing_said() -> None:
    """What nothing stands for is denied."""
    assert Rules().verdict(["a"]) == Verdict(DENY)
    assert Rules(allow=["a"]).verdict(["a", "b"]) == Verdict(DENY)
    assert Rules(allow=["**"]).verdict([]) == Verdict(DENY)


def test_deny_all() -> None:
    """Whether there is any use in asking."""
    assert Rules().deny_all
    assert Rules(deny=["a", "**"]).deny_all
    for key in ("allow", "ask"):
        assert not Rules(**{key: ["a"]}).deny_all
        assert not Rules(**{key: ["**"]}).deny_all


def test_no_patterns() -> None:
    """An error says which one it is."""
    with pytest.raises(FieldError, match=r"^pattern a && b: '&' means something to a shell"):
        Rules(allow=["a", "a && b"])


def test_verdicts() -> None:
    """They are equal if they say the same, and show it."""
    verdict = Verdict(ASK, Pattern("a *"))
    assert verdict == Verdict(ASK, Pattern("a *"))
    assert verdict != Verdict(ASK, Pattern("a b"))
    assert verdict != Verdict(DENY, Pattern("a *"))
    assert verdict != (ASK, "a *")
    assert repr(verdict) == "Verdict('ask', 'a *')"
    assert repr(Verdict(DENY)) == "Verdict('deny', None)"


PATTERNS = st.lists(
    st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=2).map(" ".join), max_size=2
)


@given(PATTERNS, PATTERNS, PATTERNS, st.sampled_from(["", ALLOW, ASK, DENY]), st.data())
def test_any_rules(
    allow: list[str], ask: list[str], deny: list[str], rest: str, data: st.DataObject
) -> None:
    """The strictest list with a matching pattern decides, else the one with the rest, else none."""
    argv = data.draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=3))
    said = {DENY: deny, ASK: ask, ALLOW: allow}
    matching = [
        (key, text) for key, texts in said.items() for text in texts if Pattern(text).matches(argv)
    ]
    expected = (matching[0][0] if matching else "") or rest or DENY
    if rest:
        said[rest] = data.draw(st.permutations([*said[rest], "**"]))
    verdict = Rules(**said).verdict(argv)
    assert verdict.decision == expected
    if verdict.pattern is None:
        assert not matching
        assert not rest
    else:
        assert (expected, str(verdict.pattern)) in (matching or [(rest, "**")])
