"""Which of the session's variables a command gets: ``--only`` and ``--except``. Pure.

Patterns are those of a shell (``*``, ``?``, ``[abc]``, ``[!abc]``), and case counts.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from hotenv.errors import FieldError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def select(
    variables: Mapping[str, str], only: Sequence[str], excluded: Sequence[str]
) -> dict[str, str]:
    """Those of ``variables`` that match one of ``only``, if it has any, and none of ``excluded``.

    Error handling: raises FieldError as :func:`left_out` does.
    """
    without = left_out(variables, only, excluded)
    return {name: value for name, value in variables.items() if name not in without}


def left_out(names: Iterable[str], only: Sequence[str], excluded: Sequence[str]) -> dict[str, str]:
    """Those of ``names`` that are not selected, each with the reason.

    Error handling: raises FieldError if one of ``only`` matches nothing. A misspelt name must not
    run a command without its secret.
    """
    names = list(names)
    for pattern in only:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise FieldError("only", "no matching variable in the session", f"'{pattern}'")
    reasons: dict[str, str] = {}
    for name in names:
        if only and not _matching(name, only):
            reasons[name] = "not selected by --only"
        elif (matched := _matching(name, excluded)) is not None:
            reasons[name] = f"excluded by --except {matched}"
    return reasons


def _matching(name: str, patterns: Sequence[str]) -> str | None:
    """The first of ``patterns`` that ``name`` matches."""
    return next((pattern for pattern in patterns if fnmatchcase(name, pattern)), None)
