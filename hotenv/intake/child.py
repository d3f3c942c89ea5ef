"""The child process that reads the sources: their texts in, the encoded response out.

It prompts, parses and encodes; it ends at once, and what it had in memory ends with it. What comes
out of its pipe: the sizes of the report and of the response, the report as JSON, the response.
"""

from __future__ import annotations

import json
import os
import signal
import struct
from typing import NoReturn

from hotenv.errors import HotenvError
from hotenv.exchange.protocol import encode_response
from hotenv.intake.prompt import Prompter
from hotenv.intake.rules import Rules
from hotenv.intake.sources import Source
from hotenv.intake.terminal import Terminal
from hotenv.lineage import die_with
from hotenv.program import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hotenv.intake.parsing import Input

SIZES = struct.Struct("=II")
"""Bytes of the report and of the response."""


def be_the_child(
    parent: int,
    pipe: int,
    sources: Sequence[Source],
    rules: Rules,
    terminal: Terminal | None,
    mask: Iterable[int],
) -> NoReturn:
    """Read, write to ``pipe``, and exit. ``parent``: the process ID of the one that forked it.

    ``mask``: the signals to block from here on.
    """
    code = 1
    try:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # at once, also within a system call
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        die_with(parent)
        report, response = _report(sources, rules, terminal)
        with open(pipe, "wb") as file:
            text = json.dumps(report).encode()
            file.write(SIZES.pack(len(text), len(response)) + text)
            file.write(response)
        code = 0
    except KeyboardInterrupt:  # it ended a command that is a source
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    finally:
        os._exit(code)


def _report(
    sources: Sequence[Source], rules: Rules, terminal: Terminal | None
) -> tuple[dict[str, object], bytes]:
    try:
        from hotenv.intake.limits import limited
        from hotenv.intake.parsing import Input

        inputs = [Input(source.title, source.form, source.read()) for source in sources]
        environ = dict(os.environ)
        for source in sources:
            environ.update(source.taken())
        with limited(sum(len(each.data) for each in inputs)):
            if rules.survey:
                return _survey(inputs, environ, rules)
            return _parse(inputs, environ, rules, terminal)
    except HotenvError as error:
        return {"error": type(error).__name__, "message": str(error)}, b""
    except Exception as error:
        return {"error": "SystemFailureError", "message": describe(error)}, b""


def _parse(
    inputs: Sequence[Input], environ: Mapping[str, str], rules: Rules, terminal: Terminal | None
) -> tuple[dict[str, object], bytes]:
    from hotenv.intake.parsing import parse

    # Without a terminal nothing is a question.
    ask = dict if terminal is None else Prompter(terminal, strict=rules.strict).ask
    contents = parse(inputs, environ, rules, ask)
    response = encode_response(dict(contents.snapshot))
    return {"warnings": contents.warnings, "variables": len(contents.snapshot)}, response


def _survey(
    inputs: Sequence[Input], environ: Mapping[str, str], rules: Rules
) -> tuple[dict[str, object], bytes]:
    from hotenv.intake.listing import to_json, to_rows
    from hotenv.intake.parsing import survey

    contents = survey(inputs, environ, rules)
    return {
        "rows": to_rows(contents),
        "json": to_json(contents),
        "warnings": contents.warnings,
        "refusal": contents.refusal,
    }, b""
