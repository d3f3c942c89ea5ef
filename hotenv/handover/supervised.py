"""A command that does not take hotenv's place, because something has to stay: a guard, redaction.

Three processes share the process group of hotenv, and with it the terminal. The stand-in is hotenv
itself (see ``standin``). The keeper (see ``keeper``) is its child. It starts the command, serves
descriptors for it, and is an ancestor of every process that comes of it, also of those whose
parents end: some kernels let nobody else look into a process. When the command has ended, the
keeper reports that, and lives on in the background as long as there is something to serve.

If the stand-in or the keeper is killed, the kernel kills its child, unless that has changed its
user ID. Without such a kernel (macOS) the keeper kills the command when the stand-in is gone, and
the command outlives a keeper that is killed.
"""

from __future__ import annotations

import os
import select

from hotenv.descriptors import close_inherited, redirect_to_null
from hotenv.errors import SystemFailureError, attempt
from hotenv.handover.heldsignals import HeldSignals
from hotenv.handover.keeper import Keeper
from hotenv.handover.standin import FAILED, LONGEST_ERROR, encode_error, stand_in
from hotenv.handover.streams import Streams
from hotenv.lightweight import signal
from hotenv.lineage import adopt_orphans, die_with, outlive_parent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import NoReturn

    from hotenv.handover.launch import Launch


class Supervised:
    """A command to execute in a process of its own."""

    def __init__(
        self,
        launch: Launch,
        *,
        prepare: Callable[[], None] = lambda: None,
        load: Callable[[], None] = lambda: None,
        watch: Mapping[int, Callable[[], None]] | None = None,
        finish: Callable[[int], int] = lambda status: status,
        streams: Streams | None = None,
    ) -> None:
        """``prepare``: called in the process that is about to become the command.

        Inheritable descriptors are the command's alone: the other processes close theirs.

        ``load``: called in the keeper meanwhile, to load what the callbacks need.

        ``watch``: called in the keeper, as long as the descriptor is readable or at its end, until
        it is unwatched. Descriptors must not be inheritable. A callback must not wait, nor start
        processes. The keeper has no standard input and output, and standard error only until the
        command has ended.

        ``finish``: called in the keeper with the command's wait status, after one more look at what
        is watched. It returns the wait status that hotenv ends with.

        ``streams``: what the command has for its standard streams, if not those of hotenv.
        """
        self._launch = launch
        self._prepare = prepare
        self._load = load
        self._finish = finish
        self._watched = watch or {}
        self._streams = streams or Streams()

    @property
    def command(self) -> int:
        """In the keeper: the command's process ID, until it has ended; then 0."""
        return self._keeper.command

    def is_executed(self) -> bool:
        """In the keeper: whether the command has been executed, or never will be."""
        poll = select.poll()
        poll.register(self._failure, select.POLLIN)
        return bool(poll.poll(0))

    def watch(self, descriptor: int, callback: Callable[[], None]) -> None:
        """In the keeper: serve one more descriptor."""
        self._keeper.watch(descriptor, callback)

    def unwatch(self, descriptor: int) -> None:
        """In the keeper: stop serving ``descriptor``. To be called before it is closed."""
        self._keeper.unwatch(descriptor)

    def run(self) -> int:
        """Start the command; return its wait status, for ``end_like``, when it has ended.

        This process has to end then: its signals stay blocked, and it has given up its standard
        input and output and what else the command inherits.

        Error handling: raises SystemFailureError if the command cannot be executed, and whatever
        HotenvError ``prepare`` raises.
        """
        held = HeldSignals()
        try:
            with attempt("start the command"):
                ours, orders = os.pipe()
                reports, theirs = os.pipe()
                standin = os.getpid()
                self._keeper = Keeper(standin, ours, theirs, self._streams)
                for descriptor, callback in self._watched.items():
                    self._keeper.watch(descriptor, callback)
                keeper = os.fork()
            if not keeper:
                os.close(orders)
                os.close(reports)
                self._keep(standin, held)
            os.close(theirs)
            _let_go()
            try:
                return stand_in(keeper, orders, reports, stop_group=self._streams.own_session)
            finally:
                self._streams.restore()
        except BaseException:
            held.release()
            raise

    def _keep(self, standin: int, held: HeldSignals) -> NoReturn:
        keeper = self._keeper
        try:
            if not self._streams.own_session:  # else it restores the terminal before it ends
                die_with(standin)
            adopt_orphans()
            parent = os.getpid()
            self._failure, childs = os.pipe()  # at its end when the command is executed
            with attempt("start the command"):
                self._streams.open(keeper)
                command = os.fork()
            if not command:
                self._become(parent, held, childs)
            os.close(childs)
            self._streams.start(command)
            _let_go()
            self._load()
            status = keeper.keep(command)
            if error := os.read(self._failure, LONGEST_ERROR):
                keeper.report(FAILED + error)
            else:
                status = self._finish(status)
                if failure := self._streams.failure:
                    raise failure
                outlive_parent()
                keeper.report_end(status)
                keeper.live_on()
        except BaseException as error:  # noqa: ASYNC103 - this process ends
            if keeper.command:
                os.kill(keeper.command, signal.SIGKILL)
            keeper.report(FAILED + encode_error(error))
        finally:
            os._exit(SystemFailureError.exit_code)  # nobody looks at it who has a report

    def _become(self, keeper: int, held: HeldSignals, failure: int) -> NoReturn:
        try:
            die_with(keeper)
            self._streams.connect()
            self._prepare()
            held.release_for_exec()
            self._launch.execute()
        except BaseException as error:  # noqa: ASYNC103 - this process ends
            os.write(failure, encode_error(error))
        finally:
            os._exit(SystemFailureError.exit_code)


def _let_go() -> None:
    """Give up what the command inherits: somebody may wait until nobody has it any more."""
    redirect_to_null(0, 1)
    close_inherited()
