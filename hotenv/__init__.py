"""Keep an environment hot for a few minutes, and hand it to the commands that need it.

General layout: ``cli`` -> ``process`` and ``server``, ``client``, ``launch`` -> ``session``,
``marker``, ``watchdog``, ... -> pure modules that do no I/O (``protocol``, ``envtext``, ...).
Importing this package imports none of them: each public name is loaded when it is first used,
because ``import trio`` costs ten times a bare interpreter start and most commands fail or finish
without it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.client import fetch as fetch
    from hotenv.client import fetch_sync as fetch_sync
    from hotenv.composition import ChildEnvironment as ChildEnvironment
    from hotenv.composition import Composition as Composition
    from hotenv.composition import compose as compose
    from hotenv.errors import ArtifactError as ArtifactError
    from hotenv.errors import HotenvError as HotenvError
    from hotenv.errors import InputError as InputError
    from hotenv.errors import NoSessionError as NoSessionError
    from hotenv.errors import SessionExistsError as SessionExistsError
    from hotenv.errors import SystemFailureError as SystemFailureError
    from hotenv.errors import UnreachableError as UnreachableError
    from hotenv.errors import UsageError as UsageError
    from hotenv.server import Ending as Ending
    from hotenv.server import serve as serve
    from hotenv.session import Session as Session
    from hotenv.snapshot import Snapshot as Snapshot

__version__ = "0.1.0.dev0"

_HOMES = {
    "ArtifactError": "errors",
    "ChildEnvironment": "composition",
    "Composition": "composition",
    "Ending": "server",
    "HotenvError": "errors",
    "InputError": "errors",
    "NoSessionError": "errors",
    "Session": "session",
    "SessionExistsError": "errors",
    "Snapshot": "snapshot",
    "SystemFailureError": "errors",
    "UnreachableError": "errors",
    "UsageError": "errors",
    "compose": "composition",
    "fetch": "client",
    "fetch_sync": "client",
    "serve": "server",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> object:
    """Load the public name from the module that defines it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'hotenv' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"hotenv.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
