"""What ``hotenv serve`` says about the directory before it starts a session there."""

from __future__ import annotations

import os
from contextlib import suppress

from hotenv.session.find import live_session_above
from hotenv.session.ignored import how_to_ignore
from hotenv.session.marker import NAME
from hotenv.stdio import say


def tell_surroundings() -> None:
    """Say which session of a parent directory is hidden, and what git would do to the marker.

    These are remarks: where they cannot be made, the session can still begin, or says why not.
    """
    with suppress(OSError):
        here = os.getcwd()
        if hidden := live_session_above(here):
            say(f"note: hides the session of {hidden} from commands in {here} and below")
        if command := how_to_ignore():
            say(f"note: git does not ignore {NAME} here; to ignore it: {command}")
