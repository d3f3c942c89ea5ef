"""Keep environment variables in memory for a few minutes, for the commands that need them.

General layout: the command line (``cli``) uses the subpackages, which use the modules beside them
(``errors``, ``snapshot``, ...). A session passes through ``intake`` (read the input), ``serving``
(hold it in a server), ``exchange`` (request it from a client), ``handover`` (pass it to a command),
``guards`` (what that may do), ``redaction`` (what comes out), ``audit`` (a log of it), ``shell`` (a
shell for many commands) and ``remote`` (another machine). ``session`` manages its files on disk;
``project`` reads what a repository says about its session, and has it started; ``upkeep`` reports
on sessions, stops them and cleans up. Importing this package imports none of them: each public name
is loaded when it is first used, because ``import trio`` costs ten times a bare interpreter start
and most commands fail or finish without it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.errors import ArtifactError as ArtifactError
    from hotenv.errors import DisconnectedError as DisconnectedError
    from hotenv.errors import HotenvError as HotenvError
    from hotenv.errors import InputError as InputError
    from hotenv.errors import NoSessionError as NoSessionError
    from hotenv.errors import SessionExistsError as SessionExistsError
    from hotenv.errors import SystemFailureError as SystemFailureError
    from hotenv.errors import UnreachableError as UnreachableError
    from hotenv.errors import UsageError as UsageError
    from hotenv.exchange.client import fetch as fetch
    from hotenv.exchange.client import fetch_sync as fetch_sync
    from hotenv.guards.api import GuardedRun as GuardedRun
    from hotenv.guards.api import Refusal as Refusal
    from hotenv.guards.api import run_guarded as run_guarded
    from hotenv.guards.policy import Guard as Guard
    from hotenv.handover.composition import Composition as Composition
    from hotenv.handover.composition import compose as compose
    from hotenv.handover.layers import ChildEnvironment as ChildEnvironment
    from hotenv.project.api import open_session as open_session
    from hotenv.redaction.redactor import Redactor as Redactor
    from hotenv.serving.server import Ending as Ending
    from hotenv.serving.server import serve as serve
    from hotenv.session.claim import Session as Session
    from hotenv.shell.bounds import Omitted as Omitted
    from hotenv.shell.policy import DeniedError as DeniedError
    from hotenv.shell.policy import Policy as Policy
    from hotenv.shell.policyfile import load_policy as load_policy
    from hotenv.shell.result import OmittedOutput as OmittedOutput
    from hotenv.shell.result import Result as Result
    from hotenv.shell.running import Chunk as Chunk
    from hotenv.shell.running import Running as Running
    from hotenv.shell.session import open_shell as open_shell
    from hotenv.shell.shell import Shell as Shell
    from hotenv.shell.sync import SyncShell as SyncShell
    from hotenv.shell.sync import open_shell_sync as open_shell_sync
    from hotenv.snapshot import Snapshot as Snapshot

__version__ = "0.1.0.dev0"

_HOMES = {
    "ArtifactError": "errors",
    "ChildEnvironment": "handover.layers",
    "Chunk": "shell.running",
    "Composition": "handover.composition",
    "DeniedError": "shell.policy",
    "DisconnectedError": "errors",
    "Ending": "serving.server",
    "Guard": "guards.policy",
    "GuardedRun": "guards.api",
    "HotenvError": "errors",
    "InputError": "errors",
    "NoSessionError": "errors",
    "Omitted": "shell.bounds",
    "OmittedOutput": "shell.result",
    "Policy": "shell.policy",
    "Redactor": "redaction.redactor",
    "Refusal": "guards.api",
    "Result": "shell.result",
    "Running": "shell.running",
    "Session": "session.claim",
    "SessionExistsError": "errors",
    "Shell": "shell.shell",
    "Snapshot": "snapshot",
    "SyncShell": "shell.sync",
    "SystemFailureError": "errors",
    "UnreachableError": "errors",
    "UsageError": "errors",
    "compose": "handover.composition",
    "fetch": "exchange.client",
    "fetch_sync": "exchange.client",
    "load_policy": "shell.policyfile",
    "open_session": "project.api",
    "open_shell": "shell.session",
    "open_shell_sync": "shell.sync",
    "run_guarded": "guards.api",
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
