"""How the environment of a command is composed, layer by layer, and where each name is from. Pure.

Rules of the game, lowest layer first:

1. ``inherited``: the parent's environment; or, isolated, ``essential``: what of it nobody can do
   without. ``pass``: what was asked for of the parent; what it has not stays absent.
2. ``session``: the selected ones of the session's variables; without override they go below all.
3. ``file``: of each variable that goes into a file, the variable that names the file. It is in the
   file or in the environment, never in both.
4. ``define``: literals.
5. ``bin``: folders in front of PATH, whichever layer that is from.

A variable that loads code comes from the parent through ``pass`` only if it is named exactly: a
pattern says nothing about it. Names and values are bytes, for the parent's need not be UTF-8.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType

from attrs import field, frozen

from hotenv.errors import UsageError
from hotenv.handover.formats import FORMATS
from hotenv.handover.selection import left_out
from hotenv.handover.wellknown import ESSENTIALS, GROUPS, LOADERS
from hotenv.snapshot import Snapshot
from hotenv.variables import why_unfit

_PATH = b"PATH"


def _patterns(patterns: Iterable[str]) -> tuple[str, ...]:
    if isinstance(patterns, str):
        raise UsageError("a composition takes lists of strings, not one string")
    return tuple(patterns)


def _checked_names(patterns: Iterable[str]) -> tuple[str, ...]:
    patterns = _patterns(patterns)
    for pattern in patterns:
        if reason := why_unfit(pattern, ""):
            raise UsageError(f"--pass has {reason}, which is nothing to look for")
        if pattern.startswith("@") and pattern not in GROUPS:
            raise UsageError(f"--pass {pattern}: no such group (there are {', '.join(GROUPS)})")
    return patterns


def _checked_definitions(variables: Mapping[str, str] | Iterable[tuple[str, str]]) -> Snapshot:
    variables = dict(variables)
    for name, value in variables.items():
        if reason := why_unfit(name, value):
            raise UsageError(f"--define has {reason}, which no environment can hold")
    return Snapshot(variables)


def _checked_folders(folders: Iterable[str]) -> tuple[str, ...]:
    folders = _patterns(folders)
    for folder in folders:
        if not folder.startswith("/") or "\0" in folder:
            raise UsageError("--bin needs an absolute path")
        if ":" in folder:
            raise UsageError(f"--bin {folder}: PATH cannot hold a folder with ':' in its path")
    return folders


def _checked_files(files: Mapping[str, str] | Iterable[tuple[str, str]]) -> Mapping[str, str]:
    files = dict(files)
    for variable in files.values():
        if reason := why_unfit(variable, ""):
            raise UsageError(f"--as-file has {reason}, which no environment can hold")
    return MappingProxyType(files)


def _checked_format(form: str | None) -> str | None:
    if form is not None and form not in FORMATS:
        raise UsageError(f"--env-file {form}: no such format (there are {', '.join(FORMATS)})")
    return form


@frozen
class Composition:
    """What is asked of the environment of a command. The fields are those of ``hotenv run``.

    ``only`` and ``excluded``: patterns of the session's names. ``override``: whether the session
    wins over what the parent has set. ``isolated``: take of the parent only the essentials and what
    is in ``passed``: names, patterns and groups. ``defined``: literals by name. ``bins``: absolute
    paths of folders, as :func:`os.fsdecode` gives them with UTF-8, for the front of PATH.
    ``as_file``: names of the session's that go into a file each, to the variables that name those.
    ``env_file``: the format of one file for all other variables of the session.

    Error handling: raises UsageError for an unknown group, for a name or value that no environment
    can hold, and for a folder that PATH cannot hold.
    """

    only: tuple[str, ...] = field(converter=_patterns, default=())
    excluded: tuple[str, ...] = field(converter=_patterns, default=())
    override: bool = True
    isolated: bool = False
    passed: tuple[str, ...] = field(converter=_checked_names, default=())
    defined: Snapshot = field(converter=_checked_definitions, factory=Snapshot)
    bins: tuple[str, ...] = field(converter=_checked_folders, default=())
    as_file: Mapping[str, str] = field(converter=_checked_files, factory=dict)
    env_file: str | None = field(converter=_checked_format, default=None)


# eq=False: attrs' own comparison makes pytest print both sides of a failed assert, values included.
@frozen(eq=False, repr=False)
class ChildEnvironment:
    """An environment for a command, and how it came about. Its ``repr`` shows no value.

    ``variables``: names to values, for :func:`os.execve`. ``layers``: the same names, each to the
    layers that have it, the one that counts first. ``absent``: what was asked for and is not there,
    a name or a pattern, to the reason. ``files``: what to put into a file, by the variable that has
    to name it and is empty yet; ``env_file``: the content of the file for all others, if any.
    """

    variables: Mapping[bytes, bytes]
    layers: Mapping[bytes, tuple[str, ...]]
    absent: Mapping[bytes, str]
    files: Mapping[bytes, bytes]
    env_file: bytes | None

    def __repr__(self) -> str:
        return f"<ChildEnvironment, {len(self.variables)} variables>"

    def explanation(self) -> list[tuple[str, ...]]:
        """A row for each name, sorted: name, layer (or ``absent``) and, if there is one, a remark.

        There are no values in it.
        """
        rows = {name: _origin(layers) for name, layers in self.layers.items()}
        rows |= {name: ("absent", reason) for name, reason in self.absent.items()}
        return [(_text(name), *rows[name]) for name in sorted(rows)]


def compose(
    composition: Composition, inherited: Mapping[bytes, bytes], session: Mapping[str, str]
) -> ChildEnvironment:
    """Compose an environment of the parent's (``os.environb``) and the session's.

    Error handling: raises UsageError if a pattern of ``only`` or a name of ``as_file`` matches
    nothing in the session, or if the session has what no environment can hold; SystemFailureError
    if the format of ``env_file`` cannot hold a variable.
    """
    session = Snapshot(session)
    without = left_out(session, composition.only, composition.excluded)
    selected = {name: value for name, value in session.items() if name not in without}
    files = _take_files(composition, selected, without)
    env_file = _take_env_file(composition, selected, without)
    passed, missed = _look_up(composition.passed, inherited)
    layers = [
        ("essential", _essentials(inherited)) if composition.isolated else ("inherited", inherited),
        ("pass", passed),
    ]
    layers.insert(len(layers) if composition.override else 0, ("session", _encoded(selected)))
    layers.append(("file", dict.fromkeys(files, b"")))
    layers.append(("define", _encoded(composition.defined)))
    variables: dict[bytes, bytes] = {}
    origins: dict[bytes, tuple[str, ...]] = {}
    for layer, content in layers:
        variables |= content
        origins |= {name: (layer, *origins.get(name, ())) for name in content}
    if composition.bins:
        folders = [*map(_bytes, composition.bins), variables.get(_PATH, b"")]
        # Not an empty PATH: behind a colon it would be the current folder.
        variables[_PATH] = b":".join(filter(None, folders))
        origins[_PATH] = ("bin", *origins.get(_PATH, ()))
    reasons = missed | {_bytes(name): reason for name, reason in without.items()}
    absent = {name: reason for name, reason in reasons.items() if name not in variables}
    files = {name: files[name] for name in files if origins[name][0] == "file"}
    return ChildEnvironment(
        variables=MappingProxyType(variables),
        layers=MappingProxyType(origins),
        absent=MappingProxyType(absent),
        files=MappingProxyType(files),
        env_file=env_file,
    )


def _take_files(
    composition: Composition, selected: dict[str, str], without: dict[str, str]
) -> dict[bytes, bytes]:
    """Move what goes into a file each from ``selected``, and say so in ``without``."""
    files = {}
    for name, variable in composition.as_file.items():
        if name not in selected:
            raise UsageError(f"--as-file {name}: the session has no such variable for the command")
        files[_bytes(variable)] = selected.pop(name).encode()
        without[name] = f"in the file that {variable} names"
    return files


def _take_env_file(
    composition: Composition, selected: dict[str, str], without: dict[str, str]
) -> bytes | None:
    """Move all that is left of ``selected`` into one file, if that is asked for."""
    if composition.env_file is None:
        return None
    content = FORMATS[composition.env_file](selected)
    without |= dict.fromkeys(selected, "in the file of --env-file")
    selected.clear()
    return content


def _essentials(inherited: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    names = map(_bytes, ESSENTIALS)
    return {name: inherited[name] for name in names if name in inherited}


def _look_up(
    patterns: Iterable[str], inherited: Mapping[bytes, bytes]
) -> tuple[dict[bytes, bytes], dict[bytes, str]]:
    """What ``patterns`` take of ``inherited``, and what they ask for in vain, with the reason."""
    passed: dict[bytes, bytes] = {}
    missed: dict[bytes, str] = {}
    for pattern in _without_groups(patterns):
        exact = _bytes(pattern)
        matching = [n for n in inherited if n == exact or fnmatchcase(_text(n), pattern)]
        if not matching:
            missed[exact] = "not set in the parent"
        for name in matching:
            if name == exact or not _loads_code(_text(name)):
                passed[name] = inherited[name]
            else:
                missed[name] = "can load code, so --pass has to name it exactly"
    return passed, missed


def _loads_code(name: str) -> bool:
    return any(fnmatchcase(name, loader) for loader in LOADERS)


def _without_groups(patterns: Iterable[str]) -> Iterator[str]:
    for pattern in patterns:
        yield from GROUPS.get(pattern, (pattern,))


def _origin(layers: tuple[str, ...]) -> tuple[str, ...]:
    layer, *lower = layers
    if not lower:
        return (layer,)
    verb = "in front of" if layer == "bin" else "overrides"
    return layer, f"{verb} {', '.join(lower)}"


def _encoded(variables: Mapping[str, str]) -> dict[bytes, bytes]:
    return {name.encode(): value.encode() for name, value in variables.items()}


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
