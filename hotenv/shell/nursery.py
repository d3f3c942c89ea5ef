"""A nursery for helpers of a block, of which only the block fails."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio


@asynccontextmanager
async def open_helpers() -> AsyncIterator[trio.Nursery]:
    """A nursery that is cancelled when its block ends. What that raises is not put into a group."""
    raised: Exception | None = None
    async with trio.open_nursery() as nursery:
        try:
            yield nursery
        except Exception as error:
            raised = error
        nursery.cancel_scope.cancel()
    if raised is not None:
        raise raised
