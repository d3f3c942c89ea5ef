"""Fields of a guard: what each may be, and what two guards have in common. Pure.

Error handling: what checks a field returns its value, or raises FieldError.
"""

from __future__ import annotations

from hotenv.errors import FieldError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from os import PathLike

ALL = "all"
"""Of ``strict_imports``: extension modules of the standard library, too."""

STRICTNESS = (False, True, ALL)
"""The values of ``strict_imports``, each forbidding more."""


def is_within(path: str, roots: Iterable[str]) -> bool:
    """Whether ``path`` is one of ``roots`` or below one of them. No symbolic link is followed."""
    for root in roots:
        if path.startswith(root):
            rest = path[len(root.rstrip("/")) :]
            if not rest or rest[0] == "/":
                return True
    return False


def is_denied(path: str, denied: Iterable[str], excepted: Iterable[str]) -> bool:
    """Whether ``path`` is in one of ``denied``, and not in one of ``excepted`` deeper in that."""
    return any(
        is_within(path, [root])
        and not any(
            is_within(path, [each]) and is_within(each, [root]) and not is_within(root, [each])
            for each in excepted
        )
        for root in denied
    )


def is_part(module: str, of: Iterable[str]) -> bool:
    """Whether ``module`` is one of the modules ``of``, or below one of them."""
    return any(module == whole or module.startswith(f"{whole}.") for whole in of)


def module(name: str) -> str:
    """The name of a module."""
    if all(part.isidentifier() for part in name.split(".")):
        return name
    raise FieldError("allow_import", "must be the name of a module, such as package.module", name)


def flag(field: str, value: bool) -> bool:
    """One that is on or off."""
    if not isinstance(value, bool):  # a directory, perhaps: that is for allow_read
        raise FieldError(field, "must be True or False")
    return value


def strictness(value: bool | str) -> bool | str:
    """``strict_imports``."""
    if value not in STRICTNESS:
        raise FieldError("strict_imports", f"must be True, False or '{ALL}'")
    return value


def modules(names: Iterable[str]) -> tuple[str, ...]:
    """``allow_import``."""
    if isinstance(names, str):
        raise FieldError("allow_import", "must be a list of modules, not a string")
    return tuple(dict.fromkeys(map(module, names)))


def absolute(field: str, paths: Iterable[str | PathLike[str]]) -> tuple[str, ...]:
    """One with paths, which have to be absolute."""
    if isinstance(paths, str):
        raise FieldError(field, "must be a list of paths, not a string")
    kept = tuple(dict.fromkeys(str(path) for path in paths))
    for path in kept:
        if not path.startswith("/") or "\0" in path:
            raise FieldError(field, "must be an absolute path", path)
    return kept


def domains(texts: Iterable[str]) -> tuple[str, ...]:
    """``allow_domain``."""
    if not texts:
        return ()  # without loading what reads them
    from hotenv.guards.domains import Domain

    if isinstance(texts, str):
        raise FieldError("allow_domain", "must be a list of strings, not a string")
    return tuple(dict.fromkeys(str(Domain(text)) for text in texts))


def common_domains(*lists: tuple[str, ...]) -> tuple[str, ...]:
    """What is in all of ``lists``, of which there are two at most."""
    if len(lists) < 2 or not all(lists):
        return lists[0] if len(lists) == 1 else ()
    from hotenv.guards.domains import common

    return tuple(common(*lists))


def common_parts(
    one: tuple[str, ...] | None,
    other: tuple[str, ...] | None,
    *,
    is_part: Callable[[str, Iterable[str]], bool] = is_within,
) -> tuple[str, ...] | None:
    """The paths, or what else has parts, that are in both; None stands for all there are."""
    if one is None or other is None:
        return other if one is None else one
    inner = [each for each in one if is_part(each, other)]
    return tuple(dict.fromkeys([*inner, *(each for each in other if is_part(each, one))]))
