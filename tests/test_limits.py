"""limits: what a text may cost, in time and memory, and what is said when it costs more."""

from __future__ import annotations

import io
import json
import os
import resource
import signal
import subprocess
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import dotenv.parser
import pytest

from hotenv.errors import InputError
from hotenv.exchange.protocol import RESPONSE_LIMIT
from hotenv.intake import bindings, contract, listing, parsing
from hotenv.intake.bindings import CostError
from hotenv.intake.contract import Contents, Origin, Problem
from hotenv.intake.formats import read_bindings
from hotenv.intake.limits import limited
from hotenv.intake.parsing import Input
from hotenv.intake.rules import Rules
from hotenv.intake.sources import StandardInput
from hotenv.snapshot import Snapshot
from processes import LIMIT, hotenv, is_clean, said, serving, wait_until, with_limits

DOUBLING = "A0=0123456789\n" + "".join(f"A{n}=${{A{n - 1}}}${{A{n - 1}}}\n" for n in range(1, 41))
"""1 KB that expands to 10 TB."""

INFINITE = resource.RLIM_INFINITY


def ask_nothing(questions: Mapping[str, str]) -> Mapping[str, str]:
    """A text without questions does not get here."""
    raise AssertionError(questions)


def parse(text: str) -> Contents:
    """What ``serve`` makes of ``text``."""
    return parsing.parse([typed(text)], {}, Rules(), ask_nothing)


def look(text: str) -> Contents:
    """What ``serve --check`` makes of it."""
    return parsing.survey([typed(text)], {}, Rules())


def typed(text: str) -> Input:
    """What standard input gives."""
    return Input("standard input", "dotenv", text.encode())


both = pytest.mark.parametrize("read", [parse, look])


# What expansion makes


@both
def test_doubling(read: Callable[[str], Contents]) -> None:
    """Text that would fill any memory is refused in its line, before that is made."""
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as caught:
            read(DOUBLING)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert str(caught.value) == (
        f"standard input: line 23: expands to too much text (limit {RESPONSE_LIMIT} bytes)"
    )
    assert peak < 3 * RESPONSE_LIMIT


@both
@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("A=" + "x" * 50 + "\n# c\nB=${A}", None, id="at the limit"),
        pytest.param("A=" + "x" * 51 + "\n# c\nB=${A}", 3, id="over it"),
        pytest.param("A='" + "x\n" * 30 + "'\nB=${A}", 32, id="after many lines"),
        pytest.param("A=" + "x" * 40 + "\nA=${A}\nA=${A}", 3, id="overwritten"),
        pytest.param("A=" + "${B:-xxxxx}" * 20, None, id="defaults"),
        pytest.param("A=" + "${B:-xxxxxx}" * 20, 1, id="larger defaults"),
    ],
)
def test_the_sum_of_all_values(
    read: Callable[[str], Contents], text: str, line: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that is expanded counts, and no character more than the limit is made."""
    monkeypatch.setattr(contract, "RESPONSE_LIMIT", 100)
    if line is None:
        read(text)
        return
    with pytest.raises(InputError) as caught:
        read(text)
    assert str(caught.value) == (
        f"standard input: line {line}: expands to too much text (limit 100 bytes)"
    )


def test_text_that_is_not_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without interpolation nothing is made, and nothing counted."""
    monkeypatch.setattr(contract, "RESPONSE_LIMIT", 10)
    text = typed("A=${A}${A}${A}${A}")
    contents = parsing.parse([text], {}, Rules(interpolate=False), ask_nothing)
    assert contents.snapshot == {"A": "${A}${A}${A}${A}"}


def test_answers_are_expanded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer itself costs nothing; what refers to it does."""
    monkeypatch.setattr(contract, "RESPONSE_LIMIT", 10)
    rules = Rules(prompt=True)

    def answer(asked: Mapping[str, str]) -> Mapping[str, str]:
        return dict.fromkeys(asked, "x" * 8)

    contents = parsing.parse([typed("Q=?\nR=?\nA=${Q}")], {}, rules, answer)
    assert dict(contents.snapshot) == dict.fromkeys("QRA", "x" * 8)
    with pytest.raises(InputError, match="line 4: expands to too much text"):
        parsing.parse([typed("Q=?\nR=?\nA=${Q}\nB=${R}")], {}, rules, answer)


# What runs into a limit of the system


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (CostError("takes too long to parse"), "takes too long to parse"),
        (MemoryError(), "needs too much memory"),
    ],
    ids=["time", "memory"],
)
class TestWhere:
    """An error of cost is one of the input, with its line if that is known, and without a value."""

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("A=s3cret\n\n# c\n", 1),
            ("A=1\nB=s3cret\n", 2),
            ("A='1\r\n2'\r\nB=s3cret\n", 3),
            ("A=1\n\n\r\n  B=s3cret\n", 4),
            ("\n\n  A=1\n\nB=2\nC D\nE=s3cret\n", 7),
        ],
    )
    def test_in_the_grammar(
        self, error: Exception, words: str, text: str, line: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The line is the one on which it would have begun."""
        real = dotenv.parser.parse_stream

        def parse_stream(stream: io.StringIO) -> Iterator[Any]:
            for binding in real(stream):
                if "s3cret" in binding.original.string:
                    raise error
                yield binding

        monkeypatch.setattr(dotenv.parser, "parse_stream", parse_stream)
        with pytest.raises(InputError) as caught:
            parse(text)
        assert str(caught.value) == f"standard input: line {line}: {words}"

    @both
    def test_in_the_expansion(
        self,
        error: Exception,
        words: str,
        read: Callable[[str], Contents],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """The line is that of the value."""

        def parse_variables(value: str) -> Iterator[Any]:
            if value == "s3cret":
                raise error
            return iter(())

        monkeypatch.setattr(contract, "parse_variables", parse_variables)
        with pytest.raises(InputError) as caught:
            read("A=1\n\nB='\n'\nC=s3cret\nD=1")
        assert str(caught.value) == f"standard input: line 5: {words}"

    def test_anywhere_else(self, error: Exception, words: str, free: FakeLimits) -> None:
        """Where no line is known there is none."""
        with pytest.raises(InputError) as caught, limited(1):
            raise error
        assert str(caught.value) == f"the input {words}"


class FakeLimits:
    """The limits of a process that are only in the mind."""

    def __init__(self) -> None:
        self.limits = dict.fromkeys((resource.RLIMIT_CPU, resource.RLIMIT_AS), (INFINITE, INFINITE))
        self.used = 0.0
        self.refused: Exception | None = None

    def getrlimit(self, kind: int) -> tuple[int, int]:
        return self.limits[kind]

    def setrlimit(self, kind: int, pair: tuple[int, int]) -> None:
        if self.refused is not None:
            raise self.refused
        self.limits[kind] = pair

    def getrusage(self, who: int) -> tuple[float, float, int]:
        assert who == resource.RUSAGE_SELF
        return (self.used, self.used, 99)


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeLimits]:
    """No limits, and a signal that does what it did before."""
    fake = FakeLimits()
    for name in ("getrlimit", "setrlimit", "getrusage"):
        monkeypatch.setattr(resource, name, getattr(fake, name))
    before = signal.getsignal(signal.SIGXCPU)
    yield fake
    signal.signal(signal.SIGXCPU, before)


@pytest.mark.parametrize(
    ("used", "size", "seconds"), [(0, 0, 6), (0.75, 0, 7), (0, 99_999, 6), (10, 1_000_000, 36)]
)
def test_time(used: float, size: int, seconds: int, free: FakeLimits) -> None:
    """Some seconds of processor time from now on, and more for a large text; then some to end."""
    free.used = used
    with limited(size):
        pass
    assert free.limits[resource.RLIMIT_CPU] == (seconds, seconds + 5)


def test_memory(free: FakeLimits) -> None:
    """There is a limit of memory that does not depend on the text."""
    with limited(10):
        pass
    first = free.limits[resource.RLIMIT_AS]
    assert RESPONSE_LIMIT < first[0] == first[1] != INFINITE


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((INFINITE, INFINITE), (6, 11)),
        ((INFINITE, 8), (6, 8)),
        ((INFINITE, 4), (4, 4)),
        ((3, INFINITE), (3, 11)),
        ((3, 4), (3, 4)),
        ((100, 100), (6, 11)),
        ((0, 0), (0, 0)),
    ],
)
def test_never_above_a_limit(
    given: tuple[int, int], expected: tuple[int, int], free: FakeLimits
) -> None:
    """A lower limit that is there stays, and the soft one is never above the hard one."""
    free.limits[resource.RLIMIT_CPU] = given
    with limited(0):
        pass
    assert free.limits[resource.RLIMIT_CPU] == expected


@pytest.mark.parametrize("error", [PermissionError(), ValueError("not allowed")], ids=repr)
def test_a_limit_that_cannot_be_set(error: Exception, free: FakeLimits) -> None:
    """The text is read all the same."""
    free.refused = error
    with limited(1):
        pass


def test_the_signal(free: FakeLimits) -> None:
    """What the kernel says at the limit ends the block and nothing after it."""
    with pytest.raises(InputError, match=r"^the input takes too long to parse$"), limited(1):
        os.kill(os.getpid(), signal.SIGXCPU)
    os.kill(os.getpid(), signal.SIGXCPU)  # this process goes on


def test_no_memory_for_the_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that does not fit into memory at all is refused as any other."""

    def read(_descriptor: int, _size: int) -> bytes:
        raise MemoryError

    with open(os.devnull) as null:
        monkeypatch.setattr("sys.stdin", null)
        monkeypatch.setattr(os, "read", read)
        with pytest.raises(InputError, match=r"^standard input: needs too much memory$"):
            StandardInput("dotenv").read()


# What is ours takes time in proportion to the text


class CountingPattern:
    """The pattern of newlines, and how much it was applied to."""

    def __init__(self) -> None:
        self.characters = 0
        self._pattern = bindings._NEWLINE

    def findall(self, text: str) -> list[str]:
        self.characters += len(text)
        return list(self._pattern.findall(text))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("A=1\n" * 1000, id="lines"),
        pytest.param("\n" * 1000 + "A=1", id="blank lines"),
        pytest.param("B C\r\n" * 1000, id="bad lines"),
        pytest.param("A='" + "x\n" * 1000 + "'\nB=1", id="one value"),
        pytest.param("A='x\n" * 1000, id="unclosed quotes"),
        pytest.param("# c\n" * 1000, id="comments"),
    ],
)
def test_lines_are_counted_once(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers of lines cost each character of the text once, or nearly."""
    pattern = CountingPattern()
    monkeypatch.setattr(bindings, "_NEWLINE", pattern)
    read_bindings(text.encode(), "dotenv")
    assert pattern.characters <= len(text)


class CountedTuple(tuple[Any, ...]):
    """Counts how often it was gone through."""

    times = 0

    def __iter__(self) -> Iterator[Any]:
        self.times += 1
        return super().__iter__()


def test_json_of_many_problems() -> None:
    """They are gone through a few times, however many variables there are."""
    problems = CountedTuple(Problem("a", line, "what", fatal=False) for line in range(500, 1500))
    origins = tuple(Origin(f"A{line}", "literal", line, "a") for line in range(1000))
    entries = json.loads(listing.to_json(Contents(Snapshot(), origins, problems, False)))
    assert len(entries) == 1500
    assert [e["problems"] for e in entries] == [[]] * 500 + [["what"]] * 1000
    assert problems.times < 5


# As processes

MODES = pytest.mark.parametrize("mode", [[], ["--check"], ["--detach"]], ids=str)

SECOND = {"hotenv.intake.limits._SECONDS": 0.0, "hotenv.intake.limits._BYTES_A_SECOND": 1e12}
"""No more than a second of processor time, which is the least that the kernel measures."""


def failure(result: subprocess.CompletedProcess[bytes], directory: Path, runtime: Path) -> str:
    """What was said of a text that was refused, and nothing has come of."""
    assert result.returncode == 7
    assert is_clean(directory, runtime)
    return said(result).removeprefix("hotenv: standard input: ")


@MODES
def test_a_text_that_explodes(directory: Path, runtime: Path, mode: list[str]) -> None:
    """Exit code 7 with the line, whoever reads it."""
    result = hotenv("serve", *mode, cwd=directory, stdin=DOUBLING.encode())
    assert failure(result, directory, runtime) == (
        f"line 23: expands to too much text (limit {RESPONSE_LIMIT} bytes)"
    )


@MODES
@pytest.mark.parametrize(
    "text", [b"A=" + b"${" * 40_000, b"A=x" + b" " * 80_000 + b"y"], ids=["references", "spaces"]
)
def test_a_text_that_takes_too_long(
    directory: Path, runtime: Path, text: bytes, mode: list[str]
) -> None:
    """Exit code 7 with the line, after the processor time that it may have."""
    command = with_limits(SECOND)
    result = hotenv("serve", *mode, cwd=directory, stdin=b"Z=1\n\n" + text, command=command)
    assert failure(result, directory, runtime) == "line 3: takes too long to parse"


@MODES
def test_a_text_that_needs_too_much_memory(directory: Path, runtime: Path, mode: list[str]) -> None:
    """Exit code 7 with the line, at the limit of the address space."""
    command = with_limits({"hotenv.intake.limits._MEMORY": 300_000_000})
    text = b'Z=1\nA="' + b"x\\n" * 10_000_000 + b'"\n'
    result = hotenv("serve", *mode, cwd=directory, stdin=text, command=command)
    assert failure(result, directory, runtime) == "line 2: needs too much memory"


HONEST = {
    "names": "".join(f"NAME_{n}='{'x' * 180}'\n" for n in range(25_000)),
    "references": "X=1\n" + "".join(f'NAME_{n}="${{X}}{"x" * 180}"\n' for n in range(25_000)),
    "one value": f'A="{"x y" * 1_600_000}"\n',
    "lines": 'A="' + "x" * 70 + "\n" + ("y" * 79 + "\n") * 62_500 + '"\n',
}


@pytest.mark.parametrize("text", HONEST.values(), ids=HONEST)
@pytest.mark.parametrize("mode", [[], ["--check"]], ids=["serve", "check"])
def test_a_large_text(directory: Path, text: str, mode: list[str]) -> None:
    """5 MB of what people may have pass, with the limits as they are."""
    assert len(text) > 4_800_000
    if mode:
        result = hotenv("serve", "--check", cwd=directory, stdin=text.encode())
        assert (result.returncode, result.stderr) == (0, b"")
        assert result.stdout.count(b"literal") == max(1, text.count("NAME")) + ("X=1" in text)
    else:
        with serving(directory, text.encode(), "-q"):
            dump = hotenv("dump", "--format", "json", cwd=directory).stdout
        assert sum(map(len, json.loads(dump).values())) > 4_400_000


CHEAP = {
    "quotes": "A=" + "'" * 80_000,
    "double quotes": "A=" + '"' * 80_001,
    "a quote that is not closed": "A='" + "x" * 80_000,
    "backslashes": "A='" + "\\" * 80_001 + "'",
    "backslashes and double quotes": 'A="' + '\\"' * 40_000,
    "blank lines": "\n" * 80_000,
    "lines with spaces": " \n" * 40_000,
    "exports": "export " * 11_000,
    "nesting": "A=" + "${A:-" * 13_000 + "}" * 13_000,
    "references to nothing": "A=" + "${}" * 20_000,
    "bad lines": "B C\n" * 10_000,
    "quotes in lines": "A='\n" * 10_000,
    "names": "".join(f"A{n}=1\n" for n in range(25_000)),
    "a chain of names": "A0=1\n" + "".join(f"A{n + 1}=${{A{n}}}\n" for n in range(25_000)),
}


@pytest.mark.parametrize("text", CHEAP.values(), ids=CHEAP)
def test_texts_that_cost_little(directory: Path, text: str) -> None:
    """What looks hard and is not comes to its result within the least of limits but one."""
    command = with_limits({**SECOND, "hotenv.intake.limits._SECONDS": 19.0})
    patience = 10 * LIMIT  # for 19 seconds of a processor that others use, too
    result = hotenv(
        "serve", "--check", cwd=directory, stdin=text.encode(), command=command, timeout=patience
    )
    assert result.returncode in (0, 7)
    assert b"takes too long" not in result.stderr
    assert b"memory" not in result.stderr
    assert b"internal" not in result.stderr


@pytest.mark.parametrize("options", [[], ["--detach"]], ids=["foreground", "detached"])
def test_limits_are_the_childs(directory: Path, options: list[str]) -> None:
    """The server, and what it was started by, have the limits that they were started with."""
    if not Path("/proc/self/limits").exists():
        pytest.skip("no /proc here")

    def limits_of(process: object) -> list[str]:
        lines = Path(f"/proc/{process}/limits").read_text().splitlines()
        return [line for line in lines if line.startswith(("Max cpu", "Max address"))]

    if options:
        assert hotenv("serve", *options, cwd=directory, stdin=b"A=1\n").returncode == 0
        pid = json.loads(hotenv("status", "--json", cwd=directory).stdout)["pid"]
        assert limits_of(pid) == limits_of("self")
        assert hotenv("stop", cwd=directory).returncode == 0
        return
    with serving(directory, b"A=1\n", "-q") as server:
        wait_until(lambda: hotenv("dump", cwd=directory).returncode == 0, "the server")
        assert limits_of(server.pid) == limits_of("self")
        assert len(limits_of("self")) == 2
