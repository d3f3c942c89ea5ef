"""What the user chose for a session of ``hotenv serve``. Pure, and without attrs."""

from __future__ import annotations

import math

from hotenv.durations import DEFAULT_TIMEOUT
from hotenv.intake.rules import Rules


class ServeOptions:
    """``timeout`` (idle) and ``max_age`` are in seconds.

    ``log``: the path of a file that takes the log. ``ready_fd``: the number of a descriptor that
    is told when the session answers. The others are true or false, as the command line has them.
    """

    def __init__(
        self,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        max_age: float = math.inf,
        rules: Rules | None = None,
        force: bool = False,
        quiet: bool = False,
        verbose: bool = False,
        require_locked_memory: bool = False,
        detach: bool = False,
        log: str | None = None,
        ready_fd: int | None = None,
    ) -> None:
        self.timeout = timeout
        self.max_age = max_age
        self.rules = rules or Rules()
        self.force = force
        self.quiet = quiet
        self.verbose = verbose
        self.require_locked_memory = require_locked_memory
        self.detach = detach
        self.log = log
        self.ready_fd = ready_fd
