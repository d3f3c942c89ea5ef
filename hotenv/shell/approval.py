"""What a policy says to a command, with the parser that it needs for that."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress

import trio

from hotenv.errors import SystemFailureError, attempt
from hotenv.shell.policy import DeniedError
from hotenv.shell.words import Position

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hotenv.shell.policy import Policy

_MOST_SCRIPTS = 100  # in one command
_PATIENCE = 10.0  # seconds for the parser
_BEGINNING = Position(1, 1)


class Approval:
    """The approval of commands by ``policy``.

    Error handling: raises SystemFailureError if there is no parser.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._parser = _find_parser()

    async def check(self, command: bytes) -> None:
        """Check ``command`` and the scripts in it.

        Error handling: raises DeniedError if it is denied, or cannot be parsed.
        """
        pending: list[tuple[bytes, Position | None]] = [(command, None)]
        for _ in range(_MOST_SCRIPTS):
            if not pending:
                return
            text, within = pending.pop()
            tree = await self._parse(text)
            if tree is None:
                raise DeniedError("it cannot be parsed", within or _BEGINNING)
            try:
                scripts = self._policy.check(tree, within)
            except RecursionError:
                raise DeniedError("it is nested too deeply", within or _BEGINNING) from None
            for script, position in scripts:
                pending.append((script.encode("utf-8", "surrogateescape"), position))
        raise DeniedError("it contains too many scripts", _BEGINNING)

    async def _parse(self, text: bytes) -> object:
        """The tree of ``text``; None if it has none."""
        with trio.move_on_after(_PATIENCE), attempt("run the parser of the policy"):
            done = await trio.run_process(
                [self._parser, "-ln", "bash", "--to-json"],
                stdin=text,
                capture_stdout=True,
                stderr=subprocess.DEVNULL,
                check=False,
                env={},
            )
            if done.returncode == 0:
                with suppress(ValueError, RecursionError):
                    return json.loads(done.stdout)
        return None


def _find_parser() -> str:
    beside = os.path.join(os.path.dirname(sys.executable), "shfmt")
    found = beside if os.access(beside, os.X_OK) else shutil.which("shfmt")
    if found is None:
        raise SystemFailureError(
            "a policy needs the parser shfmt: install it with pip install 'hotenv[policy]'"
        )
    return found
