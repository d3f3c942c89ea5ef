"""What humans ask of a desk, and answer: lines of JSON on a socket that no agent can open.

``{"command": "watch"}`` gives the open questions, a line each time they change. ``{"command":
"answer", "number": 3, "said": "once"}`` and ``{"command": "reload"}`` give ``{"done": true}``, or
why not.
"""

from __future__ import annotations

import json

import trio

from hotenv.desk.questions import ANSWERS, Question, Questions
from hotenv.errors import HotenvError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hotenv.desk.desk import Desk

_LONGEST = 4096  # bytes of a line from a human


async def serve_human(desk: Desk, stream: trio.SocketStream, settle: Callable[[], None]) -> None:
    """Serve one connection, whose order is known when ``settle`` is called."""
    questions = desk.questions
    line = await _line(stream)
    settle()
    try:
        order = json.loads(line)
        command = order["command"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return
    if command == "watch":
        await _watch(questions, desk.directory, stream)
    elif command == "answer":
        await _send(stream, _answer(questions, order))
    elif command == "reload":
        await _send(stream, await _reload(desk))


async def _line(stream: trio.SocketStream) -> bytes:
    data = b""
    while b"\n" not in data and len(data) < _LONGEST:
        if not (piece := await stream.receive_some(_LONGEST)):
            break
        data += piece
    return data.partition(b"\n")[0]


async def _watch(questions: Questions, directory: str, stream: trio.SocketStream) -> None:
    questions.watchers += 1
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_until_gone, stream, nursery.cancel_scope)
            while True:
                change = questions.change
                shown = [_shown(each) for each in questions]
                await _send(stream, {"directory": directory, "questions": shown})
                await change.wait()
    finally:
        questions.watchers -= 1


async def _until_gone(stream: trio.SocketStream, scope: trio.CancelScope) -> None:
    try:
        while await stream.receive_some(1):
            pass
    except trio.BrokenResourceError:
        pass
    scope.cancel()


async def _reload(desk: Desk) -> dict[str, object]:
    try:
        await desk.reload()
    except HotenvError as error:
        return {"error": str(error)}
    return {"done": True}


def _answer(questions: Questions, order: dict[str, Any]) -> dict[str, object]:
    number, said = order.get("number"), order.get("said")
    if not isinstance(number, int) or said not in ANSWERS:
        return {"error": "malformed"}
    question = questions.answer(number, said)
    return {"error": "no such question"} if question is None else {"done": True}


def _shown(question: Question) -> dict[str, object]:
    return {
        "number": question.number,
        "argv": list(question.subject.argv),
        "folder": question.subject.folder,
        "program": question.program,
        "pid": question.pid,
        "guard": list(question.guard),
        "waiting": round(trio.current_time() - question.asked, 1),
    }


async def _send(stream: trio.SocketStream, fields: dict[str, object]) -> None:
    await stream.send_all(json.dumps(fields).encode() + b"\n")
