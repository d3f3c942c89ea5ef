"""How to compose the environment of a command, for the Python API. Pure.

What the fields mean is in ``layers``; here they are checked and kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from attrs import Attribute, field, fields, frozen

from hotenv.errors import FieldError
from hotenv.handover.layers import (
    ChildEnvironment,
    check_as_file,
    check_bins,
    check_defined,
    check_env_file,
    check_passed,
    check_unique,
    compose_layers,
)
from hotenv.snapshot import Snapshot, Variables


def _strings(values: Iterable[str]) -> tuple[str, ...]:
    # A string is an iterable of strings too; the validator, which knows the field, refuses it.
    return values if isinstance(values, str) else tuple(values)  # type: ignore[return-value]


def _not_one(_instance: object, attribute: Attribute[Any], values: object) -> None:
    if isinstance(values, str):
        raise FieldError(attribute.name, "must be a list of strings, not a string")


def _definitions(variables: Variables | Iterable[tuple[str, str]]) -> Snapshot:
    defined = _unique("defined", variables)
    check_defined(defined)
    return Snapshot(defined)


def _files(files: Mapping[str, str] | Iterable[tuple[str, str]]) -> Mapping[str, str]:
    return MappingProxyType(_unique("as_file", files))


def _unique(name: str, pairs: Variables | Iterable[tuple[str, str]]) -> dict[str, str]:
    if not hasattr(pairs, "keys"):  # of a mapping
        pairs = list(pairs)
        check_unique(name, [key for key, _ in pairs])
    return dict(pairs)


@frozen
class Composition:
    """How to compose the environment of a command. The fields are the options of ``hotenv run``.

    ``only`` and ``excluded``: patterns of the session's names. ``override``: whether the session
    wins over variables that the parent has set. ``isolated``: take of the parent only the
    essentials and what is in ``passed``: names, patterns and groups. ``defined``: literals by name.
    ``bins``: absolute paths of directories, as :func:`os.fsdecode` gives them with UTF-8, to be
    prepended to PATH. ``as_file``: maps each variable to pass in a file to the variable that holds
    the path of that file. ``env_file``: the format of one file for all other variables of the
    session.

    Error handling: raises UsageError, which names the field, for an unknown group, for a name or
    value that no environment can hold, for a directory that PATH cannot hold, and for a name that
    is set twice.
    """

    only: tuple[str, ...] = field(converter=_strings, validator=_not_one, default=())
    excluded: tuple[str, ...] = field(converter=_strings, validator=_not_one, default=())
    override: bool = True
    isolated: bool = False
    passed: tuple[str, ...] = field(converter=_strings, validator=_not_one, default=())
    defined: Snapshot = field(converter=_definitions, factory=Snapshot)
    bins: tuple[str, ...] = field(converter=_strings, validator=_not_one, default=())
    as_file: Mapping[str, str] = field(converter=_files, factory=dict)
    env_file: str | None = None

    def __attrs_post_init__(self) -> None:
        check_passed(self.passed)
        check_bins(self.bins)
        check_as_file(self.as_file, dict(self.defined), self.bins)
        check_env_file(self.env_file)


def compose(
    composition: Composition, inherited: Mapping[bytes, bytes], session: Variables
) -> ChildEnvironment:
    """Compose an environment from the parent's (``os.environb``) and the session's.

    Error handling: raises UsageError if a pattern in ``only`` or a name in ``as_file`` matches no
    variable of the session, or if the session has an invalid variable; SystemFailureError if the
    format of ``env_file`` cannot hold a variable.
    """
    options = {each.name: getattr(composition, each.name) for each in fields(Composition)}
    return compose_layers(inherited, dict(Snapshot(session)), **options)
