"""The supervisor of a guarded command: it answers the command's calls, and never waits in one.

All that it needs for that is loaded before the command starts, as that might change hotenv's files.
It is loaded while the command is being confined, so with two processors it takes no extra time.
"""

from __future__ import annotations

import os
import select

from hotenv.errors import attempt
from hotenv.guards.landlock import inherited_identities
from hotenv.guards.listener import Listener
from hotenv.guards.threads import Vanished
from hotenv.guards.verdict import ANY, Blocked, refused
from hotenv.handover.supervised import Supervised
from hotenv.stdio import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hotenv.guards.kernel import Kernel
    from hotenv.guards.listener import Call
    from hotenv.guards.policy import Guard
    from hotenv.guards.report import Report
    from hotenv.handover.launch import Launch
    from hotenv.handover.streams import Streams

_STDERR = 2
_READY = b"."
_NONE = b"none"
_LONGEST_OFFER = 64  # bytes


class Handshake:
    """How the process that becomes the command hands its listener over: it names it, and waits.

    If the keeper ends meanwhile, so does that process.
    """

    def __init__(self) -> None:
        self._offers, self._offer = os.pipe()
        self._wait, self._ready = os.pipe()

    def fileno(self) -> int:
        """Readable when there is an offer."""
        return self._offers

    def offer(self, listener: int | None) -> None:
        """Hand ``listener`` over, if there is one. Returns when it was taken."""
        os.write(self._offer, _NONE if listener is None else str(listener).encode())
        os.read(self._wait, len(_READY))
        if listener is not None:
            os.close(listener)

    def receive(self) -> int | None:
        """The number that the listener has in the other process."""
        offer = os.read(self._offers, _LONGEST_OFFER)
        return None if offer == _NONE else int(offer)

    def accept(self) -> None:
        """Let the other process go on."""
        os.write(self._ready, _READY)


class Supervisor:
    """Runs a command under ``guard``: answers its calls, and reports what it refuses."""

    def __init__(
        self,
        guard: Guard,
        kernel: Kernel,
        system: Iterable[str],
        report: Report,
        *,
        trace: bool = False,
        at_end: Callable[[], None] = lambda: None,
    ) -> None:
        """``system``: what can be read in any case. ``report``: gets what is refused.

        ``trace``: tell each refusal at once. ``at_end``: called in the keeper when the last guarded
        process has ended, or the command, if no listener tells of others.
        """
        self._guard, self._kernel, self._system = guard, kernel, system
        self._report, self._at_end = report, at_end
        # The keeper closes what the command inherits.
        opened = guard.closes_files or guard.no_terminals
        self._inherited = inherited_identities() if opened else (set(), set())
        # The keeper gives up its own standard error when the command has ended.
        self._trace = os.dup(_STDERR) if trace else None
        self._handshake = Handshake()
        self._poll = select.poll()
        self._listener: Listener | None = None  # as long as calls can come
        self._waiting = True  # for the offer
        self._finished = False

    def run(
        self,
        launch: Launch,
        confine: Callable[[], int | None],
        finish: Callable[[int], int],
        streams: Streams | None = None,
    ) -> int:
        """Run the command to its end; the wait status to end with.

        ``confine``: called in the process that becomes the command, to apply the guard. Returns the
        listener, if there is one. ``finish``, ``streams``, error handling: see :class:`Supervised`.
        """

        def end(status: int) -> int:
            self._finish()
            return finish(status)

        self._command = Supervised(
            launch,
            prepare=lambda: self._handshake.offer(confine()),
            load=self._load,
            watch={self._handshake.fileno(): self._take},
            finish=end,
            streams=streams,
        )
        return self._command.run()

    def _load(self) -> None:
        from hotenv.guards.deciders import Deciders

        self._deciders = Deciders(
            self._guard,
            self._kernel,
            self._system,
            self._inherited,
            self._command.is_executed,
            self._tell,
        )

    def _take(self) -> None:
        """Take the listener of the process that becomes the command, which waits for that."""
        number = self._handshake.receive()
        self._stop_waiting()
        if number is None:
            say("note: inside another guard or sandbox, refusals are not counted")
        else:
            with attempt("supervise the command"):
                self._listen(self._kernel.duplicate(self._command.command, number))
        self._handshake.accept()

    def _listen(self, descriptor: int) -> None:
        listener = self._listener = Listener(descriptor, self._kernel)
        self._poll.register(descriptor, select.POLLIN)
        self._command.watch(descriptor, lambda: self._turn(listener))

    def _stop_waiting(self) -> None:
        self._waiting = False
        self._command.unwatch(self._handshake.fileno())

    def _finish(self) -> None:
        """The command has ended; others may be left."""
        self._finished = True
        if self._waiting:  # it was killed
            self._stop_waiting()
        if self._listener is None:
            self._at_end()

    def _turn(self, listener: Listener) -> None:
        """Answer a call. Never waits, and raises nothing that the command can cause."""
        for descriptor, events in self._poll.poll(0):
            if events & select.POLLIN:
                self._answer(listener)
            else:  # nobody is left
                self._command.unwatch(descriptor)
                os.close(descriptor)
                self._listener = None
                if self._finished:
                    self._at_end()

    def _answer(self, listener: Listener) -> None:
        try:
            call = listener.receive()
        except Vanished:
            return
        try:
            verdict = self._deciders.decide(call)
        except Exception:  # whatever the command made us stumble over, it is refused
            verdict = refused(Blocked(ANY, call.name))
        if verdict.blocked is not None:
            self._tell(call, verdict.blocked)
        elif verdict.allowed is not None and self._trace is not None:
            line = self._report.trace_line(verdict.allowed, *call.origin(), verb="allowed")
            _write_at_once(self._trace, line)
        if verdict.error is None:
            listener.go_on(call)
        elif not verdict.answered:
            listener.fail(call, verdict.error)

    def _tell(self, call: Call, blocked: Blocked) -> None:
        """Report what ``call`` is refused. May be called in any thread."""
        program, process = call.origin()
        self._report.add(blocked, program, process)
        if self._trace is not None:
            line = self._report.trace_line(blocked, program, process)
            _write_at_once(self._trace, line)


def _write_at_once(descriptor: int, line: str) -> None:
    """Write ``line``, unless that would have to wait, and no more of it than arrives at once."""
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    if not poll.poll(0):
        return
    data = line.encode("utf-8", "backslashreplace")[: select.PIPE_BUF - len(b"\n")]
    whole = data.decode("utf-8", "ignore").encode()  # without a part of a character at its end
    try:
        os.write(descriptor, whole + b"\n")
    except OSError:
        pass
