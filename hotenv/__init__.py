"""Keep an environment hot for a few minutes, and hand it to the commands that need it.

General layout: the command line (``cli`` -> ``arguments`` -> ``commands``) uses the rooms, and they
use what stands beside them (``errors``, ``snapshot``, ...). The story of a session goes through
``intake`` (text comes in), ``serving`` (a server holds it), ``exchange`` (a client asks for it) and
``handover`` (a command gets it); ``session`` is what it has on disk, ``upkeep`` looks after it.
Importing this package imports none of them: each public name is loaded when it is first used,
because ``import trio`` costs ten times a bare interpreter start and most commands fail or finish
without it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.errors import ArtifactError as ArtifactError
    from hotenv.errors import HotenvError as HotenvError
    from hotenv.errors import InputError as InputError
    from hotenv.errors import NoSessionError as NoSessionError
    from hotenv.errors import SessionExistsError as SessionExistsError
    from hotenv.errors import SystemFailureError as SystemFailureError
    from hotenv.errors import UnreachableError as UnreachableError
    from hotenv.errors import UsageError as UsageError
    from hotenv.exchange.client import fetch as fetch
    from hotenv.exchange.client import fetch_sync as fetch_sync
    from hotenv.handover.composition import ChildEnvironment as ChildEnvironment
    from hotenv.handover.composition import Composition as Composition
    from hotenv.handover.composition import compose as compose
    from hotenv.serving.server import Ending as Ending
    from hotenv.serving.server import serve as serve
    from hotenv.session.claim import Session as Session
    from hotenv.snapshot import Snapshot as Snapshot

__version__ = "0.1.0.dev0"

_HOMES = {
    "ArtifactError": "errors",
    "ChildEnvironment": "handover.composition",
    "Composition": "handover.composition",
    "Ending": "serving.server",
    "HotenvError": "errors",
    "InputError": "errors",
    "NoSessionError": "errors",
    "Session": "session.claim",
    "SessionExistsError": "errors",
    "Snapshot": "snapshot",
    "SystemFailureError": "errors",
    "UnreachableError": "errors",
    "UsageError": "errors",
    "compose": "handover.composition",
    "fetch": "exchange.client",
    "fetch_sync": "exchange.client",
    "serve": "serving.server",
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
