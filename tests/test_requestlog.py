"""requestlog: the line for a successful request (specification, section 8)."""

from __future__ import annotations

from datetime import datetime

import pytest

from hotenv.exchange.protocol import Request
from hotenv.serving.requestlog import request_line

PYTHON = Request("run", ["python", "script.py", "--debug"])


@pytest.mark.parametrize(
    ("request_", "verbose", "words"),
    [
        pytest.param(PYTHON, False, "run python", id="run"),
        pytest.param(PYTHON, True, "run python script.py --debug", id="run, verbose"),
        pytest.param(Request("dump"), False, "dump -", id="dump"),
        pytest.param(Request("dump"), True, "dump -", id="dump, verbose"),
        pytest.param(Request("run", ["my tool", "x"]), False, "run my tool", id="a space"),
        pytest.param(Request("run", ["a\nb\x1b[2J"]), False, r"run a\nb\x1b[2J", id="controls"),
        pytest.param(
            Request("run", ["a", "\n2026-02-14 15:04:05 dump -"]),
            True,
            r"run a \n2026-02-14 15:04:05 dump -",
            id="a forged line",
        ),
        pytest.param(Request("run", ["\udcff"]), False, r"run \xff", id="no text"),
    ],
)
def test_line(request_: Request, verbose: bool, words: str) -> None:
    """A line has the time, the command, and its name or all its words; it is always one line."""
    when = datetime(2026, 2, 14, 15, 4, 5, 999_999)
    assert request_line(when, request_, verbose=verbose) == f"2026-02-14 15:04:05 {words}"


def test_not_verbose_by_default() -> None:
    """Arguments may be private: they are not logged unless somebody asked for it."""
    assert "script" not in request_line(datetime(2026, 1, 2), PYTHON)
