"""What has come of a command. Pure."""

from __future__ import annotations

from attrs import field, frozen

from hotenv.shell.bounds import Omitted

_NOTHING = Omitted()


@frozen
class OmittedOutput:
    """What was left out of each output in a result."""

    stdout: Omitted = _NOTHING
    stderr: Omitted = _NOTHING
    late_stdout: Omitted = _NOTHING
    late_stderr: Omitted = _NOTHING


@frozen
class Result:
    """What has come of a ``command``. Its ``repr`` shows neither that nor any output.

    ``exit_code``: that of bash, with 128 and the signal for a shell that was killed, and 124 if the
    command was ``timed_out``. ``cwd``: the working directory afterwards. ``duration``: seconds.
    ``restarted``: the command has found a new shell, as the one before had ended. ``late_stdout``,
    ``late_stderr``: what the processes that earlier commands have left have written since.
    ``omitted``: what was left out of each, as it was more than is kept.
    """

    command: str = field(repr=False)
    stdout: bytes = field(repr=False)
    stderr: bytes = field(repr=False)
    exit_code: int
    cwd: bytes = field(repr=False)
    duration: float
    omitted: OmittedOutput = field(factory=OmittedOutput)
    timed_out: bool = False
    restarted: bool = False
    late_stdout: bytes = field(default=b"", repr=False)
    late_stderr: bytes = field(default=b"", repr=False)

    @property
    def stdout_text(self) -> str:
        """``stdout`` as text: what is not UTF-8 is replaced."""
        return self.stdout.decode(errors="replace")

    @property
    def stderr_text(self) -> str:
        """``stderr`` as text: what is not UTF-8 is replaced."""
        return self.stderr.decode(errors="replace")
