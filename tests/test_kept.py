"""kept: what a keeper reports."""

from __future__ import annotations

import os

import pytest

from hotenv.errors import HotenvError, SystemFailureError, UsageError
from hotenv.handover.standin import FAILED, encode_error
from hotenv.shell.kept import Reports
from hotenv.shell.starter import ERROR_SIZE

ERRORS = [SystemFailureError("cannot run 'bash': é"), UsageError("x" * 10_000)]


def written(report: int | HotenvError) -> bytes:
    """``report`` as a keeper writes it."""
    if isinstance(report, int):
        return report.to_bytes(4, "little")
    return (FAILED + encode_error(report)).ljust(ERROR_SIZE, b"\0")


def shown(report: int | HotenvError) -> tuple[type, str]:
    """What can be compared of ``report``."""
    return type(report), str(report)[:100]


@pytest.mark.parametrize(
    "reports", [[0], [9 << 8, 9], [ERRORS[0], 0], [0, ERRORS[1], 256, ERRORS[0]]], ids=str
)
@pytest.mark.parametrize("size", [1, 3, 4, 7, ERROR_SIZE - 1, ERROR_SIZE, 10**6])
def test_reports(reports: list[int | HotenvError], size: int) -> None:
    """They are the same however they come."""
    data = b"".join(map(written, reports))
    reader, read = Reports(), list[int | HotenvError]()
    for start in range(0, len(data), size):
        read += reader.feed(data[start : start + size])
    assert [*map(shown, read)] == [*map(shown, reports)]


def test_a_report_is_written_at_once() -> None:
    """Two processes write to the same pipe."""
    assert os.fpathconf(0, "PC_PIPE_BUF") >= ERROR_SIZE
