"""What turns a value of a project's file into that of the option with the same name. Pure.

Each raises ValueError, UsageError or FieldError, without the value, if it cannot be one.
"""

from __future__ import annotations

import posixpath

from hotenv.durations import parse_duration
from hotenv.errors import FieldError
from hotenv.guards.domains import Domain
from hotenv.guards.fields import ALL, module
from hotenv.handover.layers import check_as_file, check_passed, check_unique, parse_as_file
from hotenv.intake.rules import FORMATS
from hotenv.project.argvpatterns import Pattern


def flag(value: object) -> bool:
    """An option without an argument."""
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def text(value: object) -> str:
    """An argument that is not empty."""
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError("must be a non-empty string")
    return value


def texts(value: object) -> list[str]:
    """The arguments of an option that may be repeated, or a command."""
    if not isinstance(value, list) or not value:
        raise ValueError("must be a non-empty list of strings")
    return [text(each) for each in value]


def patterns(value: object) -> list[str]:
    """Patterns for the names of variables."""
    found = texts(value)
    if any("=" in each for each in found):
        raise ValueError("a pattern is for names and must not contain '='")
    return found


def passed(value: object) -> list[str]:
    """What ``--pass`` takes."""
    names = texts(value)
    check_passed(names)
    return names


def as_file(value: object) -> dict[str, str]:
    """What ``--as-file`` takes: VAR by NAME."""
    pairs = [parse_as_file(each) for each in texts(value)]
    check_unique("as_file", [name for name, _ in pairs])
    files = dict(pairs)
    check_as_file(files, {}, ())
    return files


def format_name(value: object) -> str:
    """The format of a source."""
    if value not in FORMATS:
        raise ValueError(f"must be one of {', '.join(FORMATS)}")
    return str(value)


def duration(value: object) -> float:
    """Seconds."""
    if not isinstance(value, str):
        raise ValueError('must be a string such as "90s", "10m" or "1h30m"')
    return parse_duration(value)


def flag_or_directory(value: object) -> bool | str:
    """An option whose argument may be left out."""
    if isinstance(value, bool):
        return value
    try:
        return text(value)
    except ValueError:
        raise ValueError("must be true, false or a directory") from None


def domains(value: object) -> list[str]:
    """What ``--allow-domain`` takes."""
    return [str(Domain(each)) for each in texts(value)]


def flag_or_all(value: object) -> bool | str:
    """What ``--strict-imports`` takes."""
    if value == ALL or isinstance(value, bool):
        return value
    raise ValueError(f'must be true, false or "{ALL}"')


def modules(value: object) -> list[str]:
    """What ``--allow-import`` takes."""
    return [module(each) for each in texts(value)]


def commands(value: object) -> list[str]:
    """Patterns for the words of commands, whose programs are found on the PATH."""
    patterns = [*map(Pattern, texts(value))]
    for each in patterns:
        if each.words and "/" in (each.words[0] or ""):
            raise FieldError(
                "pattern", "matches nothing that is run: name a program on PATH", str(each)
            )
    return [*map(str, patterns)]


def paths(value: object) -> list[str]:
    """Absolute ones, and those that do not lead out of the directory of the file."""
    found = texts(value)
    for each in found:
        if each.split("/")[0].startswith("~"):
            raise FieldError("paths", "'~' is not expanded: use an absolute path", each)
        if posixpath.normpath(each).split("/")[0] == "..":
            raise FieldError("paths", "leads out of the directory: use an absolute path", each)
    return found
