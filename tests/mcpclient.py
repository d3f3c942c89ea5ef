"""A client of ``hotenv mcp``, made with the library's own, as a program that an agent may be.

Its argument is a file of JSON: the ``command``, a ``backend`` of anyio, a ``mode`` of the client,
and the ``calls``. It prints JSON: the names of the tools, and what has come of each call.
"""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters, stdio_client

_HANDED_ON = ("XDG_RUNTIME_DIR", "XDG_STATE_HOME", "COVERAGE_PROCESS_CONFIG", "PYTHONSAFEPATH")


async def _note(
    told: list[str | None], _done: float, _total: float | None, message: str | None
) -> None:
    told.append(message)


async def converse(command: list[str], mode: str, calls: list[tuple[str, Any]]) -> list[Any]:
    """What each of ``calls`` returns, behind the names of all tools."""
    env = {name: os.environ[name] for name in _HANDED_ON if name in os.environ}
    server = StdioServerParameters(command=command[0], args=command[1:], env=env)
    async with Client(stdio_client(server), mode=mode) as client:
        found: list[Any] = [sorted(each.name for each in (await client.list_tools()).tools)]
        for name, arguments in calls:
            told: list[str | None] = []
            result = await client.call_tool(name, arguments, progress_callback=partial(_note, told))
            text = "".join(getattr(each, "text", "") for each in result.content)
            answer = text if result.is_error else result.structured_content
            assert result.is_error or json.loads(text) == answer
            found.append({"error": bool(result.is_error), "answer": answer, "told": told})
    return found


if __name__ == "__main__":
    wanted = json.loads(Path(sys.argv[1]).read_text())
    results = anyio.run(
        converse, wanted["command"], wanted["mode"], wanted["calls"], backend=wanted["backend"]
    )
    json.dump(results, sys.stdout)
