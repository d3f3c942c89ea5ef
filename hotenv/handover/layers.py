"""The environment of a command, layer by layer, and the origin of each variable. Pure.

Rules of the game, lowest layer first:

1. ``inherited``: the parent's environment, or, if isolated, ``essential``: only its essential
   variables. ``pass``: variables requested from the parent; those it does not set stay absent.
2. ``session``: the selected variables of the session; without override, this is the lowest layer.
3. ``file``: of each variable that goes into a file, the variable that names the file. It is in the
   file or in the environment, never in both.
4. ``define``: literals.
5. ``bin``: directories prepended to PATH, whichever layer that is from.

A variable that can load code is passed from the parent only if ``pass`` names it exactly: patterns
never match it. Names and values are bytes, for the parent's need not be UTF-8.

Plain values only: the command line does without attrs. For the API, ``composition`` has the same
fields as an attrs class.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from types import MappingProxyType

from hotenv.errors import FieldError
from hotenv.handover.formats import FORMATS
from hotenv.handover.selection import left_out
from hotenv.handover.wellknown import ESSENTIALS, GROUPS, LOADERS
from hotenv.variables import invalid_reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_PATH = b"PATH"


class ChildEnvironment:
    """The environment of a command, and the origin of each variable. Its ``repr`` shows no values.

    ``variables``: names to values, for :func:`os.execve`. ``layers``: maps each name to the layers
    that have it, the one that counts first. ``absent``: maps each requested name or pattern that is
    missing to the reason. ``files``: maps each variable that must be set to the path of a file, and
    is still empty, to the content of that file; ``env_file``: the content of the file for all other
    variables of the session, if any.
    """

    __slots__ = ("absent", "env_file", "files", "layers", "variables")

    variables: Mapping[bytes, bytes]
    layers: Mapping[bytes, tuple[str, ...]]
    absent: Mapping[bytes, str]
    files: Mapping[bytes, bytes]
    env_file: bytes | None

    def __init__(
        self,
        *,
        variables: Mapping[bytes, bytes],
        layers: Mapping[bytes, tuple[str, ...]],
        absent: Mapping[bytes, str],
        files: Mapping[bytes, bytes],
        env_file: bytes | None,
    ) -> None:
        keep = super().__setattr__
        keep("variables", MappingProxyType(variables))
        keep("layers", MappingProxyType(layers))
        keep("absent", MappingProxyType(absent))
        keep("files", MappingProxyType(files))
        keep("env_file", env_file)

    def __setattr__(self, name: str, _value: object) -> None:
        raise AttributeError(f"cannot set {name}: a ChildEnvironment is immutable")

    def __repr__(self) -> str:
        count = len(self.variables)
        return f"<ChildEnvironment, {count} variable{'' if count == 1 else 's'}>"

    def explanation(self) -> list[tuple[str, ...]]:
        """A row for each name, sorted: name, layer (or ``absent``) and, if there is one, a remark.

        There are no values in it.
        """
        rows = {name: _origin(layers) for name, layers in self.layers.items()}
        rows |= {name: ("absent", reason) for name, reason in self.absent.items()}
        return [(_text(name), *rows[name]) for name in sorted(rows)]


def check_passed(names: Sequence[str]) -> None:
    """Raise FieldError unless each of ``names`` is a name, a pattern or a group."""
    for name in names:
        if reason := invalid_reason(name, ""):
            raise FieldError("passed", reason)
        if name.startswith("@") and name not in GROUPS:
            raise FieldError("passed", f"no such group, choose from {', '.join(GROUPS)}", name)


def check_defined(variables: Mapping[str, str]) -> None:
    """Raise FieldError unless an environment can hold each of ``variables``."""
    for name, value in variables.items():
        if reason := invalid_reason(name, value):
            raise FieldError("defined", reason)


def check_bins(directories: Sequence[str]) -> None:
    """Raise FieldError unless PATH can hold each of ``directories``."""
    for directory in directories:
        if not directory.startswith("/") or "\0" in directory:
            raise FieldError("bins", "must be an absolute path")
        if ":" in directory:
            raise FieldError("bins", "a directory in PATH cannot contain ':'", directory)


def parse_as_file(text: str) -> tuple[str, str]:
    """What ``NAME`` or ``NAME=VAR`` says: whose value is in a file, and which variable names it."""
    name, equals, variable = text.partition("=")
    return name, variable if equals else f"{name}_FILE"


def check_as_file(
    files: Mapping[str, str], defined: Mapping[str, str], bins: Sequence[str]
) -> None:
    """Raise FieldError unless all names are valid, and each that names a file is set only once."""
    for name in (*files, *files.values()):
        if reason := invalid_reason(name, ""):
            raise FieldError("as_file", reason)
    for variable in files.values():
        if variable in defined:
            raise FieldError("as_file", "also defined", variable)
        if bins and variable == "PATH":
            raise FieldError("as_file", "directories are prepended to it", variable)
    check_unique("as_file", list(files.values()))


def check_unique(field: str, names: Sequence[str]) -> None:
    """Raise FieldError if one of ``names`` is there twice: the first would be lost silently."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise FieldError(field, "duplicate name", name)
        seen.add(name)


def check_env_file(form: str | None) -> None:
    """Raise FieldError unless ``form`` is None or a format."""
    if form is not None and form not in FORMATS:
        raise FieldError("env_file", f"no such format, choose from {', '.join(FORMATS)}", form)


def compose_layers(
    inherited: Mapping[bytes, bytes],
    session: Mapping[str, str],
    *,
    only: Sequence[str] = (),
    excluded: Sequence[str] = (),
    override: bool = True,
    isolated: bool = False,
    passed: Sequence[str] = (),
    defined: Mapping[str, str] | None = None,
    bins: Sequence[str] = (),
    as_file: Mapping[str, str] | None = None,
    env_file: str | None = None,
) -> ChildEnvironment:
    """Compose an environment from the parent's and the session's.

    For the arguments see :class:`hotenv.handover.composition.Composition`; they were checked.

    Error handling: raises FieldError if a pattern of ``only`` or a name in ``as_file`` matches no
    variable of the session; SystemFailureError if the format of ``env_file`` cannot hold one.
    """
    without = left_out(session, only, excluded)
    selected = {name: value for name, value in session.items() if name not in without}
    files = _take_files(as_file or {}, selected, without)
    content = None if env_file is None else _take_all(env_file, selected, without)
    passed_on, missed = _look_up(passed, inherited)
    layers = [
        ("essential", _essentials(inherited)) if isolated else ("inherited", inherited),
        ("pass", passed_on),
    ]
    layers.insert(len(layers) if override else 0, ("session", _encoded(selected)))
    layers.append(("file", dict.fromkeys(files, b"")))
    layers.append(("define", _encoded(defined or {})))
    variables, origins = _stack(layers)
    if bins:
        directories = [*map(_bytes, bins), variables.get(_PATH, b"")]
        # Not an empty PATH: behind a colon it would be the current directory.
        variables[_PATH] = b":".join(filter(None, directories))
        origins[_PATH] = ("bin", *origins.get(_PATH, ()))
    reasons = missed | {_bytes(name): reason for name, reason in without.items()}
    return ChildEnvironment(
        variables=variables,
        layers=origins,
        absent={name: reason for name, reason in reasons.items() if name not in variables},
        files=files,
        env_file=content,
    )


def _stack(
    layers: Iterable[tuple[str, Mapping[bytes, bytes]]],
) -> tuple[dict[bytes, bytes], dict[bytes, tuple[str, ...]]]:
    """The variables of ``layers``, of which the last counts, and the layers of each."""
    variables: dict[bytes, bytes] = {}
    origins: dict[bytes, tuple[str, ...]] = {}
    for layer, content in layers:
        variables |= content
        origins |= {name: (layer, *origins.get(name, ())) for name in content}
    return variables, origins


def _take_files(
    as_file: Mapping[str, str], selected: dict[str, str], without: dict[str, str]
) -> dict[bytes, bytes]:
    """Move what goes into a file each from ``selected``, and say so in ``without``."""
    files = {}
    for name, variable in as_file.items():
        if name not in selected:
            reason = "no such variable in the session (after --only and --except)"
            raise FieldError("as_file", reason, name)
        if variable in selected and variable not in as_file:
            raise FieldError("as_file", "also a variable of the session: use NAME=OTHER", variable)
        files[_bytes(variable)] = selected.pop(name).encode()
        without[name] = f"in the file named by {variable}"
    return files


def _take_all(form: str, selected: dict[str, str], without: dict[str, str]) -> bytes:
    """Move all that is left of ``selected`` into one file."""
    content = FORMATS[form](selected)
    without |= dict.fromkeys(selected, "in the file passed with --env-file")
    selected.clear()
    return content


def _essentials(inherited: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    names = map(_bytes, ESSENTIALS)
    return {name: inherited[name] for name in names if name in inherited}


def _look_up(
    patterns: Iterable[str], inherited: Mapping[bytes, bytes]
) -> tuple[dict[bytes, bytes], dict[bytes, str]]:
    """What ``patterns`` match in ``inherited``, and what they do not, with the reason."""
    passed: dict[bytes, bytes] = {}
    missed: dict[bytes, str] = {}
    for pattern in _without_groups(patterns):
        exact = _bytes(pattern)
        matching = [n for n in inherited if n == exact or fnmatchcase(_text(n), pattern)]
        if not matching:
            missed[exact] = "not set in the environment"
        for name in matching:
            if name == exact or not _loads_code(_text(name)):
                passed[name] = inherited[name]
            else:
                missed[name] = "can load code: name it exactly in --pass"
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
    verb = "prepended to" if layer == "bin" else "overrides"
    return layer, f"{verb} {', '.join(lower)}"


def _encoded(variables: Mapping[str, str]) -> dict[bytes, bytes]:
    return {name.encode(): value.encode() for name, value in variables.items()}


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
