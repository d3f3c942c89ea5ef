"""A server of the Model Context Protocol on the standard streams, for an agent that speaks it.

The only module that imports its SDK, which comes with ``hotenv[mcp]``.
"""

from __future__ import annotations

import json
import logging
import os
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

import mcp_types as types
import trio
from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from hotenv import __version__
from hotenv.desk import frames, tools
from hotenv.desk.lines import Lines, Written
from hotenv.desk.visit import Command, Visitor
from hotenv.errors import HotenvError
from hotenv.program import describe

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    import anyio
    from mcp.server import ServerRequestContext

    from hotenv.desk.tools import Tool
    from hotenv.desk.visit import Result

_ASKED = "waiting for the user's permission (see 'hotenv desk')"
_LAST_WORDS = 2.0  # seconds to get rid of the last answers, when there is no more input


def serve(visitor: Visitor) -> None:
    """Serve until standard input ends. What ``visitor`` visits runs the commands.

    Error handling: raises UsageError for a line that is no request at all, BrokenPipeError if
    nobody reads standard output any more.
    """
    logging.disable()  # the library's own, with tracebacks, and with what was sent
    try:
        trio.run(_serve, visitor)
    except* HotenvError as group:
        raise _first(group) from None
    except* BrokenPipeError:
        raise BrokenPipeError from None


def _first(group: BaseException) -> BaseException:
    while isinstance(group, BaseExceptionGroup):
        group = group.exceptions[0]
    return group


async def _serve(visitor: Visitor) -> None:
    server = _Tools(visitor).server
    written = Written(1)
    requests = _requests(Lines(0), written)
    with trio.CancelScope() as scope:
        # It takes whatever has the methods that it uses.
        streams = cast("anyio.AsyncFile[str]", requests), cast("anyio.AsyncFile[str]", written)
        async with aclosing(requests), stdio_server(*streams) as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())
            scope.deadline = trio.current_time() + _LAST_WORDS


async def _requests(lines: Lines, written: Written) -> AsyncGenerator[str, None]:
    """Those of ``lines`` that are messages. What would be one and is not is answered.

    The library drops it, and who has sent it would wait for ever.
    """
    async for line in lines:
        try:
            types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            if error := tools.malformed(line):
                await written.write(error)
        else:
            yield line


class _Tools:
    """What they do, with ``visitor``."""

    def __init__(self, visitor: Visitor) -> None:
        self._visitor = visitor
        self._folder = os.getcwd()
        self.server: Server[Any] = Server(
            "hotenv",
            version=__version__,
            instructions=tools.INSTRUCTIONS,
            on_list_tools=self._list,
            on_call_tool=self._call,
        )

    async def _list(
        self, _context: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(each) for each in tools.TOOLS.values()])

    async def _call(
        self, context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if params.name not in tools.TOOLS:
            there = ", ".join(tools.TOOLS)
            raise MCPError(types.INVALID_PARAMS, f"no such tool: use one of {there}")
        try:
            return _answered(await self._do(params.name, params.arguments or {}, context))
        except HotenvError as error:
            return _failed(tools.told(error))
        except Exception as error:
            return _failed(describe(error))

    async def _do(
        self, name: str, arguments: Mapping[str, Any], context: ServerRequestContext[Any]
    ) -> dict[str, Any]:
        if name == tools.RUN.name:
            return await self._run(arguments, context)
        tools.check_names(tools.TOOLS[name], arguments)
        if name == tools.VARIABLES.name:
            return {"names": await self._visitor.ask(frames.VARIABLES)}
        return cast("dict[str, Any]", await self._visitor.ask(frames.STATUS))

    async def _run(
        self, arguments: Mapping[str, Any], context: ServerRequestContext[Any]
    ) -> dict[str, Any]:
        wanted = tools.wanted(arguments, self._folder)
        command = Command(
            argv=wanted.argv,
            folder=wanted.folder,
            stdin=wanted.stdin,
            timeout=wanted.timeout,
            max_output=tools.MAX_OUTPUT,
        )

        async def asked() -> None:
            await context.session.report_progress(0, message=_ASKED)

        return _fields(await self._visitor.run(command, asked))


def _fields(result: Result) -> dict[str, Any]:
    missing = result.omitted_stdout.bytes, result.omitted_stderr.bytes
    return {
        "exit_code": result.exit_code,
        "stdout": tools.shown(result.stdout, result.omitted_stdout),
        "stderr": tools.shown(result.stderr, result.omitted_stderr),
        "truncated": any(missing),
        "stdout_missing_bytes": missing[0],
        "stderr_missing_bytes": missing[1],
        "timed_out": result.timed_out,
        "duration": round(result.duration, 3),
    }


def _described(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=dict(tool.arguments),
        output_schema=dict(tool.returns),
        annotations=types.ToolAnnotations(read_only_hint=tool.only_reads),
    )


def _answered(fields: dict[str, Any]) -> types.CallToolResult:
    """``fields`` for clients that take structured content, and as text for others."""
    text = json.dumps(fields, ensure_ascii=False)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structured_content=fields
    )


def _failed(message: str) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=message)], is_error=True
    )
