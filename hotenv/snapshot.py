"""The environment that a session holds: immutable, and silent about its values. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from attrs import field, frozen

from hotenv.errors import UsageError
from hotenv.variables import why_unfit


def _checked_copy(variables: Mapping[str, str]) -> Mapping[str, str]:
    for name, value in variables.items():
        if not (isinstance(name, str) and isinstance(value, str)):
            raise UsageError("a snapshot holds strings, by names that are strings")
        if reason := why_unfit(name, value):
            raise UsageError(f"a snapshot cannot hold {reason}")
    return MappingProxyType(dict(variables))


TYPE_CHECKING = False
if TYPE_CHECKING:
    _Mapping = Mapping[str, str]
else:

    class _Mapping:
        """A mapping in all but its type: pytest shows what differs between two Mappings."""

        __slots__ = ()
        __contains__ = Mapping.__contains__
        get = Mapping.get
        items = Mapping.items
        keys = Mapping.keys
        values = Mapping.values


# eq=False: attrs' own comparison makes pytest print both sides of a failed assert, values included.
@frozen(eq=False, repr=False)
class Snapshot(_Mapping):
    """An immutable mapping of names to values, each of which an environment can hold.

    ``{**os.environ, **snapshot}`` is the environment of a command. Its ``repr`` shows how many
    variables there are and no value.

    Error handling: raises :class:`~hotenv.errors.UsageError` for a name or value that no
    environment can hold (an empty name, ``=`` in a name, NUL, not encodable as UTF-8).
    """

    _variables: Mapping[str, str] = field(converter=_checked_copy, factory=dict)

    def __getitem__(self, name: str) -> str:
        return self._variables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Snapshot | Mapping):
            return NotImplemented
        return dict(self._variables) == dict(other)

    def __repr__(self) -> str:
        return f"<Snapshot, {len(self)} variables>"
