"""Patterns for the words of one command."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hotenv.errors import FieldError
from hotenv.project.argvpatterns import Pattern
from processes import LIMIT

WORDS = st.text(st.characters(exclude_characters="\0"), max_size=8)
ARGV = st.lists(
    st.one_of(WORDS, st.sampled_from(["*", "**", "$(id)", "a b", "'", '"'])), min_size=1
)


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        ("pytest", ["pytest"]),
        ("  npm\ttest ", ["npm", "test"]),
        ("psql -c *", ["psql", "-c", "select 1; drop table x"]),
        ("psql -c *", ["psql", "-c", ""]),
        ("psql -c *", ["psql", "-c", "*"]),
        ("* --version", ["./any", "--version"]),
        ("npm run **", ["npm", "run"]),
        ("npm run **", ["npm", "run", "a", "--", "b c", "\n"]),
        ("npm * **", ["npm", "run"]),
        ("npm * **", ["npm", "run", "x", "y"]),
        ("**", ["a"]),
        ("**", ["a", "b"]),
        ("echo '*' \"**\" \\*", ["echo", "*", "**", "*"]),
        ("echo te'*'st", ["echo", "te*st"]),
        ("echo '' \"\"", ["echo", "", ""]),
        ("echo 'a'\"b\"\\ c", ["echo", "ab c"]),
        (r'echo "\"\\\a\$\`"', ["echo", '"\\\\a$`']),
        (r"echo 'a\b' \'", ["echo", r"a\b", "'"]),
        ("echo '$(x)`;|&<>?[~#' '\n'", ["echo", "$(x)`;|&<>?[~#", "\n"]),
        ("git show HEAD~2 a#b", ["git", "show", "HEAD~2", "a#b"]),
        ("find {} A=1 !", ["find", "{}", "A=1", "!"]),
        ("echo \u00e9 a\u00a0b", ["echo", "\u00e9", "a\u00a0b"]),
    ],
)
def test_matching(text: str, argv: list[str]) -> None:
    """What is quoted is itself; a word of stars is any word, or the rest."""
    pattern = Pattern(text)
    assert pattern.matches(argv)
    assert pattern.matches(tuple(argv))
    assert str(pattern) == text
    assert repr(pattern) == f"Pattern({text!r})"


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        ("pytest", []),
        ("pytest", ["pytest", "-x"]),
        ("pytest", ["pytest", ""]),
        ("pytest", ["./pytest"]),
        ("pytest", ["/usr/bin/pytest"]),
        ("pytest", ["Pytest"]),
        ("pytest", ["pytest "]),
        ("pytest", ["py.test"]),
        ("/usr/bin/pytest", ["pytest"]),
        ("npm test", ["npm test"]),
        ("npm test", ["npm", "test", "x"]),
        ("npm test", ["npm"]),
        ("psql -c *", ["psql", "-c"]),
        ("psql -c *", ["psql", "-c", "a", "b"]),
        ("npm * **", ["npm"]),
        ("npm run **", ["npm"]),
        ("npm run **", ["npm", "install", "run"]),
        ("echo '*'", ["echo", "x"]),
        ("echo '**'", ["echo"]),
        ("echo \u00e9", ["echo", "e\u0301"]),  # another spelling of it
    ],
)
def test_not_matching(text: str, argv: list[str]) -> None:
    """Each word counts, the program's too, and so does their number."""
    assert not Pattern(text).matches(argv)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "pattern '': must have a word"),
        (" \t", "pattern ' \\t': must have a word"),
        ("a\0", "must not contain NUL"),
        ("'a\0'", "must not contain NUL"),
        ("a\\\0", "a backslash must have a character of its line after it"),
        ("a\\", "a backslash must have a character of its line after it"),
        ("a\\\nb", "a backslash must have a character of its line after it"),
        ('"a\\\nb"', "a backslash must have a character of its line after it"),
        ("it's", "unclosed quote: '"),
        ('a "b', 'unclosed quote: "'),
        ("** a", "'**' must be the last word, or in single quotes"),
        ("a ** **", "'**' must be the last word, or in single quotes"),
        *(
            (f"npm {word}", "'*' matches only a whole word: ")
            for word in ("te*", "*t", "a*b", "***")
        ),
        *((f"npm {word}", "'*' matches only a whole word: ") for word in ("*''", "*'*'", "\\**")),
    ],
)
def test_refused(text: str, message: str) -> None:
    """What is no pattern is an error that says why."""
    with pytest.raises(FieldError) as caught:
        Pattern(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        *("make && rm x", "a & b", "a;b", "a | b", "a > b", "a <b", "(a)", "a)", "a\nb", "a\rb"),
        *("$HOME/a", "a $(b)", "a `b`", 'a "$b"', 'a "`b`"', "ls ?", "ls [ab]", "~/bin/a", "a # b"),
        *("echo 'a'&'b'", "a\n"),
    ],
)
def test_for_a_shell(text: str) -> None:
    """Who writes what a shell would take for more is told that there is none."""
    with pytest.raises(FieldError, match="means something to a shell, and no shell runs the"):
        Pattern(text)


@given(ARGV, ARGV)
def test_quoted(argv: list[str], other: list[str]) -> None:
    """What shlex.join makes stands for this command and for no other."""
    pattern = Pattern(shlex.join(argv))
    assert pattern.matches(argv)
    assert pattern.matches(other) == (argv == other)
    for changed in (argv[:-1], [*argv, ""], [*argv[:-1], f"{argv[-1]}x"], ["", *argv]):
        assert not pattern.matches(changed)


@given(ARGV, st.lists(WORDS))
def test_rest(argv: list[str], more: list[str]) -> None:
    """Two stars at the end stand for none, and for any."""
    pattern = Pattern(f"{shlex.join(argv)} **")
    assert pattern.matches(argv)
    assert pattern.matches([*argv, *more])
    assert not pattern.matches(argv[:-1])
    assert not pattern.matches([*argv[:-1], f"{argv[-1]}x", *more])


@given(ARGV, st.data(), WORDS)
def test_one(argv: list[str], data: st.DataObject, word: str) -> None:
    """A star stands for one word, whatever is in it."""
    at = data.draw(st.integers(0, len(argv) - 1))
    words = [shlex.quote(each) for each in argv]
    pattern = Pattern(" ".join([*words[:at], "*", *words[at + 1 :]]))
    assert pattern.matches([*argv[:at], word, *argv[at + 1 :]])
    assert not pattern.matches([*argv[:at], *argv[at + 1 :]])
    assert not pattern.matches([*argv[:at], word, word, *argv[at + 1 :]])


@given(st.text("ab \t'\"\\*", max_size=12))
def test_words_of_shlex(text: str) -> None:
    """Quotes are those that shlex knows."""
    try:
        pattern = Pattern(text)
    except FieldError:
        assume(False)
    rest = ["**"] if pattern.has_rest else []
    assert [word if word is not None else "*" for word in pattern.words] + rest == shlex.split(text)


@pytest.mark.parametrize(
    "text",
    [r'"\$\`\"\\\a" \$ \a', "a'\n'b", r"'\a'\''b'", "a=1 b{c,d} !x", "\u00a0", "a~ b#c ]}%^"],
)
def test_words_of_a_shell(text: str) -> None:
    """They are also those of the shell, where that takes more than shlex."""
    command = ["sh", "-c", f"printf '%s\\0' {text}"]
    done = subprocess.run(command, capture_output=True, check=True, timeout=LIMIT)
    assert Pattern(text).words == tuple(done.stdout.decode().split("\0")[:-1])
