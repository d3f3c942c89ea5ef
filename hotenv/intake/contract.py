"""Bindings -> the variables they set, where each comes from, and what is wrong. Pure.

The caller's environment and the answers to questions come in as mappings. The interpolation is
python-dotenv's. Rules:

- an answer is never expanded; it is known from the first line on;
- ``${NAME}`` means an earlier line, or else an answer, or else the environment;
- whether there is a problem depends on no answer, so all of them are known before anybody is asked;
- a problem is told by its line, never by a name or other text: an unquoted PEM key turns key
  material into names. For the same reason a text with a bad line shows no origins.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence

from attrs import field, frozen
from dotenv.variables import Variable, parse_variables

from hotenv.errors import InputError
from hotenv.intake.bindings import Binding
from hotenv.intake.rules import Rules
from hotenv.snapshot import Snapshot
from hotenv.variables import why_unfit

_MOST_SHOWN = 10

_Sources = frozenset[str]
_LITERAL, _HOST, _QUESTION, _DEFAULT, _NOWHERE = (
    frozenset({source}) for source in ("literal", "host", "question", "default", "nowhere")
)


@frozen
class Origin:
    """Where the value of variable ``name``, which ``line`` sets, comes from.

    ``source`` is ``literal``, ``host``, ``question``, ``default`` or ``nowhere``, or several of
    them with ``+`` between.
    """

    name: str
    source: str
    line: int


@frozen
class Problem:
    """What is wrong with a ``line``, or with the text as a whole if that is None."""

    line: int | None
    what: str
    fatal: bool

    def __str__(self) -> str:
        return self.what if self.line is None else f"line {self.line} {self.what}"


@frozen
class Contents:
    """What a dotenv text holds. The ``snapshot`` is empty if a problem is fatal."""

    snapshot: Snapshot
    origins: tuple[Origin, ...]
    problems: tuple[Problem, ...]
    _all_errors: bool = field(repr=False)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The problems with which it can be served."""
        return tuple(str(problem) for problem in self.problems if not problem.fatal)

    def refuse_errors(self) -> None:
        """Raise InputError, with the numbers of the lines, if there is a fatal problem."""
        errors = [str(problem) for problem in self.problems if problem.fatal]
        if not errors:
            return
        most = len(errors) if self._all_errors else _MOST_SHOWN
        more = f"; and {len(errors) - most} more" if len(errors) > most else ""
        raise InputError(f"standard input: {'; '.join(errors[:most])}{more}")


def questions(bindings: Iterable[Binding], rules: Rules) -> dict[str, str]:
    """What to ask: names and questions, which may be empty. The last question of a name counts."""
    return {
        binding.name: binding.value.removeprefix("?").strip()
        for binding in bindings
        if binding.name is not None and binding.value is not None and _asks(binding.value, rules)
    }


def _asks(value: str, rules: Rules) -> bool:
    return rules.prompt and value.startswith("?")


def resolve(
    bindings: Sequence[Binding],
    environ: Mapping[str, str],
    answers: Mapping[str, str],
    rules: Rules,
) -> Contents:
    """What ``bindings`` set, with an answer for each of the :func:`questions`."""
    resolution = _Resolution(environ, answers, rules)
    for binding in bindings:
        if binding.name is None:
            resolution.broken(binding.line)
        else:
            resolution.add(binding.line, binding.name, binding.value)
    return resolution.contents()


class _Resolution:
    def __init__(
        self, environ: Mapping[str, str], answers: Mapping[str, str], rules: Rules
    ) -> None:
        self._rules = rules
        self._answers = answers
        self._values: dict[str, str | None] = {}
        self._lines: dict[str, int] = {}
        self._sources: dict[str, _Sources] = {}
        self._problems: list[Problem] = []
        self._broken = False
        self._known = ChainMap[str, str | None](self._values, dict(answers), dict(environ))
        self._known_sources = ChainMap[str, _Sources](
            self._sources, dict.fromkeys(answers, _QUESTION), dict.fromkeys(environ, _HOST)
        )

    def broken(self, line: int) -> None:
        self._error(line, "is not NAME=value (is a quote left open?)")
        self._broken = True

    def add(self, line: int, name: str, value: str | None) -> None:
        if self._rules.strict and name in self._lines:
            self._error(line, f"gives a name that line {self._lines[name]} gives")
        source = _LITERAL
        if value is None:
            self._doubt(line, "has a name without '=' and sets nothing")
            source = _NOWHERE
        elif _asks(value, self._rules):
            value, source = self._answers[name], _QUESTION
        elif self._rules.interpolate:
            value, source = self._expand(line, value)
        if value is not None and (reason := why_unfit(name, value)):
            self._error(line, f"has {reason}, which no environment can hold")
        self._values[name], self._lines[name], self._sources[name] = value, line, source

    def _expand(self, line: int, value: str) -> tuple[str, _Sources]:
        """``value`` with each ``${NAME}`` replaced, and where that came from."""
        atoms = list(parse_variables(value))
        references = [atom for atom in atoms if isinstance(atom, Variable)]
        if any(self._known.get(r.name) is None and r.default is None for r in references):
            self._doubt(line, "refers to a variable that is set nowhere")
        sources = (
            self._known_sources.get(r.name, _NOWHERE if r.default is None else _DEFAULT)
            for r in references
        )
        text = "".join(atom.resolve(self._known) for atom in atoms)
        return text, frozenset().union(*sources) or _LITERAL

    def _doubt(self, line: int | None, what: str) -> None:
        self._problems.append(Problem(line, what, fatal=self._rules.strict))

    def _error(self, line: int, what: str) -> None:
        self._problems.append(Problem(line, what, fatal=True))

    def contents(self) -> Contents:
        variables = {name: value for name, value in self._values.items() if value is not None}
        if not variables and not self._broken:
            self._doubt(None, "there are no variables in it")
        origins = (
            Origin(name, "+".join(sorted(self._sources[name])), self._lines[name])
            for name in sorted(variables, key=self._lines.__getitem__)
            if not self._broken
        )
        fatal = any(problem.fatal for problem in self._problems)
        snapshot = Snapshot({} if fatal else variables)
        return Contents(snapshot, tuple(origins), tuple(self._problems), self._rules.strict)
