"""Resolve bindings into variables, the source of each value, and problems. Pure.

The caller's environment and the answers to questions come in as mappings. The interpolation is
python-dotenv's. Rules:

- an answer is never expanded; it is known from the first line on;
- ``${NAME}`` means an earlier line, or else an answer, or else the environment;
- whether there is a problem depends on no answer, so all of them are known before the first prompt;
- of a name that several lines or texts set, the last one counts; a line that sets nothing undoes
  an earlier line of its text, as with python-dotenv, and nothing of an earlier text;
- a problem is reported by line number, never by name or other text: in an unquoted PEM key, key
  material looks like names. For the same reason, no sources are shown if any line is invalid.
"""

from __future__ import annotations

import unicodedata
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from attrs import field, frozen
from dotenv.variables import Atom, Literal, Variable, parse_variables

from hotenv.errors import InputError
from hotenv.exchange.protocol import RESPONSE_LIMIT
from hotenv.intake.bindings import Binding, CostError, too_expensive
from hotenv.intake.rules import Rules
from hotenv.snapshot import Snapshot
from hotenv.variables import invalid_reason

_MOST_SHOWN = 10
_INVISIBLE = {"Cc", "Cf"}  # control and format characters: zero width, direction, byte order mark

_Sources = frozenset[str]
_LITERAL, _ENVIRONMENT, _QUESTION, _DEFAULT, _UNSET = (
    frozenset({source}) for source in ("literal", "environment", "question", "default", "unset")
)


@frozen
class Text:
    """The ``bindings`` of one text, and the ``title`` by which messages call it."""

    title: str
    bindings: Sequence[Binding] = field(repr=False)


@frozen
class Origin:
    """Where the value of variable ``name`` comes from, which ``line`` of the text ``title`` sets.

    ``source`` is ``literal``, ``environment``, ``question``, ``default`` or ``unset``, or several
    of them with ``+`` between.
    """

    name: str
    source: str
    line: int
    title: str


@frozen
class Problem:
    """A problem of a ``line`` of the text ``title``, or of it as a whole if ``line`` is None.

    Without a ``title`` it is one of all texts together.
    """

    title: str
    line: int | None
    what: str
    fatal: bool

    def __str__(self) -> str:
        return self.what if self.line is None else f"line {self.line}: {self.what}"


@frozen
class Contents:
    """What the texts hold together. The ``snapshot`` is empty if a problem is fatal."""

    snapshot: Snapshot
    origins: tuple[Origin, ...]
    problems: tuple[Problem, ...]
    _all_errors: bool = field(repr=False)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The problems with which it can be served."""
        return tuple(
            f"{_prefix(problem.title)}{problem}" for problem in self.problems if not problem.fatal
        )

    @property
    def refusal(self) -> str:
        """Why it cannot be served, with the numbers of the lines; empty if it can."""
        errors = [problem for problem in self.problems if problem.fatal]
        most = len(errors) if self._all_errors else _MOST_SHOWN
        texts = (
            _prefix(title) + "; ".join(map(str, group))
            for title, group in groupby(errors[:most], lambda problem: problem.title)
        )
        more = f"; and {len(errors) - most} more" if len(errors) > most else ""
        return "; ".join(texts) + more

    def refuse_errors(self) -> None:
        """Raise InputError if it cannot be served."""
        if self.refusal:
            raise InputError(self.refusal)


def _prefix(title: str) -> str:
    return f"{title}: " if title else ""


def questions(texts: Iterable[Text], rules: Rules) -> dict[str, str]:
    """What to ask: names and questions, which may be empty. The last question of a name counts."""
    if not rules.prompt:
        return {}
    return {
        binding.name: binding.value.removeprefix("?").strip()
        for text in texts
        for binding in text.bindings
        if binding.name is not None and binding.value is not None and _asks(binding)
    }


def _asks(binding: Binding) -> bool:
    return not binding.literal and (binding.value or "").startswith("?")


def resolve(
    texts: Sequence[Text],
    environ: Mapping[str, str],
    answers: Mapping[str, str],
    rules: Rules,
) -> Contents:
    """What ``texts`` set, with an answer for each of the :func:`questions`.

    Error handling: raises InputError, with the number of the line, for what runs into a limit.
    """
    resolution = _Resolution(environ, answers, rules)
    for text in texts:
        resolution.begin(text.title)
        for binding in text.bindings:
            try:
                resolution.add(binding)
            except (CostError, MemoryError) as error:
                failure = too_expensive(binding.line, error)
                raise InputError(f"{text.title}: {failure}") from None
    return resolution.contents([text.title for text in texts])


class _Resolution:
    def __init__(
        self, environ: Mapping[str, str], answers: Mapping[str, str], rules: Rules
    ) -> None:
        self._rules = rules
        self._answers = answers
        self._values: dict[str, str | None] = {}
        self._origins: dict[str, Origin] = {}
        self._sources: dict[str, _Sources] = {}
        self._problems: list[Problem] = []
        self._broken = False
        self._expanded = 0  # characters
        self._known = ChainMap[str, str | None](self._values, dict(answers), dict(environ))
        self._known_sources = ChainMap[str, _Sources](
            self._sources, dict.fromkeys(answers, _QUESTION), dict.fromkeys(environ, _ENVIRONMENT)
        )
        self._title, self._line = "", 0  # of the binding that is added
        self._of_this_text: set[str] = set()

    def begin(self, title: str) -> None:
        """What is added from here on is in another text."""
        self._title = title
        self._of_this_text.clear()

    def add(self, binding: Binding) -> None:
        self._line = binding.line
        if binding.name is None:
            self._error(binding.problem)
            self._broken = True
        else:
            self._set(binding.name, binding)

    def _set(self, name: str, binding: Binding) -> None:
        if self._rules.strict and name in self._of_this_text:
            self._error(f"duplicate name, already set on line {self._origins[name].line}")
        if binding.value is None and name in self._values and name not in self._of_this_text:
            self._doubt(binding.problem)
            return
        self._of_this_text.add(name)
        self._origins.pop(name, None)  # the order is that of the last ones
        if binding.value is None:
            self._doubt(binding.problem)
            value, source = None, _UNSET
        else:
            value, source = self._evaluate(name, binding.value, binding)
            if reason := invalid_reason(name, value):
                self._error(f"invalid variable: {reason}")
        if any(unicodedata.category(character) in _INVISIBLE for character in name):
            self._error("invisible character in the name")
        self._values[name], self._sources[name] = value, source
        self._origins[name] = Origin(name, "+".join(sorted(source)), self._line, self._title)

    def _evaluate(self, name: str, value: str, binding: Binding) -> tuple[str, _Sources]:
        """What ``value`` stands for, and where that came from."""
        if binding.literal:
            return value, _LITERAL
        if _asks(binding):
            if self._rules.prompt:
                return self._answers[name], _QUESTION
            self._doubt("a question, which is asked only with --prompt")
        if self._rules.interpolate:
            return self._expand(value)
        return value, _LITERAL

    def _expand(self, value: str) -> tuple[str, _Sources]:
        """``value`` with each ``${NAME}`` replaced, and where that came from."""
        atoms = list(parse_variables(value))
        references = [atom for atom in atoms if isinstance(atom, Variable)]
        if any(self._known.get(r.name) is None and r.default is None for r in references):
            self._doubt("reference to an unset variable")
        if any("${" in _text_of(atom) for atom in atoms):
            self._doubt("a '${' that is not ${NAME} or ${NAME:-DEFAULT} is left as it is")
        sources = (
            self._known_sources.get(r.name, _UNSET if r.default is None else _DEFAULT)
            for r in references
        )
        parts = [atom.resolve(self._known) for atom in atoms]
        self._expanded += sum(map(len, parts))
        if self._expanded > RESPONSE_LIMIT:  # no client would take it; known before it is made
            raise CostError(f"expands to too much text (limit {RESPONSE_LIMIT} bytes)")
        return "".join(parts), frozenset().union(*sources) or _LITERAL

    def _doubt(self, what: str) -> None:
        self._problems.append(Problem(self._title, self._line, what, fatal=self._rules.strict))

    def _error(self, what: str) -> None:
        self._problems.append(Problem(self._title, self._line, what, fatal=True))

    def contents(self, titles: Sequence[str]) -> Contents:
        variables = {name: value for name, value in self._values.items() if value is not None}
        if not variables and not self._broken:
            title = titles[0] if len(titles) == 1 else ""
            problem = Problem(title, None, "no variables found", fatal=self._rules.strict)
            self._problems.append(problem)
        origins = [
            origin
            for name, origin in self._origins.items()
            if name in variables and not self._broken
        ]
        fatal = any(problem.fatal for problem in self._problems)
        snapshot = Snapshot({} if fatal else variables)
        return Contents(snapshot, tuple(origins), tuple(self._problems), self._rules.strict)


def _text_of(atom: Atom) -> str:
    """The part of ``atom`` that python-dotenv takes as it stands."""
    if isinstance(atom, Literal):
        return atom.value
    return (isinstance(atom, Variable) and atom.default) or ""
