"""What a command may not do, where each part of that comes from, and how it is enforced."""

from __future__ import annotations

from hotenv.cli.configuration import options_in_variable, sources
from hotenv.guards.kernel import missing, this_kernel
from hotenv.guards.sources import COMMAND, FORBIDDING, combined, counts, option_of, settings_of
from hotenv.stdio import write_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from hotenv.guards.kernel import Kernel
    from hotenv.guards.policy import Guard
    from hotenv.guards.sources import Source

_ALWAYS = "processes outside, Unix sockets, privileges"
_BY_FILTER = "seccomp"
_BY_PATHS = "Landlock {landlock}"
_BY_PYTHON = "in Python programs: against accidents, as the kernel cannot see it"
_HOW = {
    "no_network": _BY_FILTER,
    "no_localhost": "hotenv connects, and sends what has an address",
    "no_subprocess": _BY_FILTER,
    "no_terminals": _BY_PATHS,
    "fs_readonly": f"{_BY_PATHS}; {_BY_FILTER} for modes, owners and times",
    "deny_read": _BY_PATHS,
    "private_tmp": "a directory of its own",
    "strict_imports": _BY_PYTHON,
    "allow_import": _BY_PYTHON,
    "allow_localhost": "hotenv connects, and binds to the loopback interface",
    "allow_udp": "hotenv sends what has an address",
    "allow_domain": "hotenv looks the name up, and connects",
    "allow_write": _BY_PATHS,
    "allow_read": _BY_PATHS,
    "allow_unix": "hotenv connects",
}
_IGNORED = "does not count: it cannot loosen what a higher source asks for"


def explain(given: Mapping[str, Any]) -> None:
    """Print the guard of a command line, ``given`` its options.

    Error handling: raises UsageError as running the command would, and SystemFailureError if there
    are no guards on this system.
    """
    found = sources(given, options_in_variable())
    guard, kernel = combined(found), this_kernel()
    rows = [*_rows(found, guard, kernel)]
    rows += [
        ("not enforced", "this kernel or container", lacks) for lacks in missing(guard, kernel)
    ]
    write_table(rows, ("WHAT", "FROM", "HOW"))


def _rows(found: Sequence[Source], guard: Guard, kernel: Kernel) -> Iterator[tuple[str, str, str]]:
    for source in sorted(found, key=lambda each: each.rank):
        if source.rank == COMMAND:
            by = "Landlock {landlock} and seccomp" if kernel.landlock else _BY_FILTER
            yield _ALWAYS, source.name, by.format(landlock=kernel.landlock)
        for name, value in settings_of(source):
            how = _HOW[name].format(landlock=kernel.landlock)
            separator = "=" if name in FORBIDDING else " "
            setting = f"{option_of(name)}{separator}{value}" if value else option_of(name)
            yield setting, source.name, how if counts(name, value, guard) else _IGNORED
