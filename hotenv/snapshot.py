"""The environment of a session: immutable, with a ``repr`` that shows no values. Pure."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from types import MappingProxyType
from typing import Protocol, cast

from attrs import field, frozen

from hotenv.errors import UsageError
from hotenv.variables import invalid_reason


class Variables(Protocol):
    """What a mapping of names to values has, and a Snapshot too."""

    def keys(self) -> KeysView[str]:
        """The names."""

    def __getitem__(self, name: str, /) -> str:
        """The value of ``name``."""


def _checked_copy(variables: Variables) -> Mapping[str, str]:
    copy = dict(variables)
    for name, value in copy.items():
        if not (isinstance(name, str) and isinstance(value, str)):
            raise UsageError("names and values in a snapshot must be strings")
        if reason := invalid_reason(name, value):
            raise UsageError(f"invalid variable in a snapshot: {reason}")
    return MappingProxyType(copy)


# Not a Mapping, for type checkers and at run time: pytest lists what differs between two Mappings
# in a failed assert, values included. eq=False: for attrs' own comparison it does so too.
@frozen(eq=False, repr=False)
class Snapshot:
    """Names and their values, each a valid environment variable.

    It is used like a mapping, and ``{**os.environ, **snapshot}`` is the environment of a command;
    but it is not a :class:`collections.abc.Mapping`, and equal only to another Snapshot or to a
    mapping with the same content. Its ``repr`` shows the number of variables and no value.

    Error handling: raises :class:`~hotenv.errors.UsageError` for a name or value that no
    environment can hold (an empty name, ``=`` in a name, NUL, not encodable as UTF-8).
    """

    _variables: Mapping[str, str] = field(converter=_checked_copy, factory=dict)

    def __getitem__(self, name: str, /) -> str:
        return self._variables[name]

    def __contains__(self, name: object) -> bool:
        return name in self._variables

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def get(self, name: str, default: str | None = None) -> str | None:
        """The value of ``name``, or ``default``."""
        return self._variables.get(name, default)

    def keys(self) -> KeysView[str]:
        """The names."""
        return KeysView(self._mapping)

    def values(self) -> ValuesView[str]:
        """The values, in the order of the names."""
        return ValuesView(self._mapping)

    def items(self) -> ItemsView[str, str]:
        """The names with their values."""
        return ItemsView(self._mapping)

    @property
    def _mapping(self) -> Mapping[str, str]:
        """This, for views whose ``repr`` is as silent."""
        return cast("Mapping[str, str]", self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Snapshot | Mapping):
            return NotImplemented
        return dict(self._variables) == dict(other)

    def __reduce__(self) -> tuple[type[Snapshot], tuple[dict[str, str]]]:
        """For copy and pickle: the content, values included."""
        return Snapshot, (dict(self._variables),)

    def __repr__(self) -> str:
        count = len(self)
        return f"<Snapshot, {count} variable{'' if count == 1 else 's'}>"
