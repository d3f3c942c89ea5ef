"""What happens to a server that its log, or an audit of it, should know."""

from __future__ import annotations

import enum

from attrs import frozen

from hotenv.exchange.protocol import Request


class Outcome(enum.Enum):
    """What became of a request.

    It was answered; was invalid; its client is not to have the variables; or went away or was too
    slow.
    """

    ANSWERED = "answered"
    REJECTED = "rejected"
    REFUSED = "refused"
    ABANDONED = "abandoned"


@frozen
class Event:
    """A request to a server. ``request`` is None if it was rejected.

    ``time``: when it was over, in seconds since 1970. ``pid`` and ``uid``: of the client, as the
    kernel reports them; None where it does not. ``refused_to``: what kind of a process the client
    is, if the request was refused.
    """

    outcome: Outcome
    request: Request | None
    time: float
    pid: int | None
    uid: int | None
    refused_to: str | None = None

    @property
    def answered(self) -> Request | None:
        """The request, if it was answered."""
        return self.request if self.outcome is Outcome.ANSWERED else None
