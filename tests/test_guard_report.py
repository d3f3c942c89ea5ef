"""What was blocked, in words (hotenv.guards.report)."""

from __future__ import annotations

import json

from hotenv.errors import SystemFailureError
from hotenv.guards.report import Report
from hotenv.guards.verdict import FS_READONLY, NO_NETWORK, NO_SUBPROCESS, Blocked

CONNECT = Blocked(NO_NETWORK, "connect", host="127.0.0.1", port="9")
OVER_IPV6 = Blocked(NO_NETWORK, "connect", host="::1", port="9")
FORK = Blocked(NO_SUBPROCESS, "fork")
WRITE = Blocked(FS_READONLY, "write", path="/a\n/b", remedy="--allow-write /a")
PROBE = Blocked(NO_NETWORK, "socket", counts=False, family="netlink")


def lines(report: Report) -> list[str]:
    """What is told at the end."""
    return [str(kind) for kind in report.kinds()]


def test_lines_of_programs() -> None:
    """Python programs tell where they are."""
    report = Report({})
    report.add(Blocked("no-network", "connect", host="::1", port="9", at="a.py:1"), "python3", 7)
    report.add(Blocked("no-network", "look up", host="a.b", at="a.py:2"), "python3", 7)
    report.add(Blocked("no-subprocess", "fork", at="a.py:3"), "python3", 7)
    assert lines(report) == [
        "blocked connect [::1]:9 at a.py:1 by python3 (no-network)",
        "blocked look up a.b at a.py:2 by python3 (no-network)",
        "blocked fork at a.py:3 by python3 (no-subprocess)",
    ]


def test_a_line_for_each_kind() -> None:
    """With a number, the first of it, and what would allow it."""
    report = Report({})
    report.add(CONNECT, "curl", 1)
    assert lines(report) == ["blocked connect 127.0.0.1:9 by curl (no-network)"]
    report.add(OVER_IPV6, "curl", 2)
    report.add(OVER_IPV6, "wget", 3)
    report.add(FORK, "sh", 4)
    report.add(WRITE, "sh", 4)
    assert lines(report) == [
        "blocked connect 127.0.0.1:9 and 1 more by curl (no-network)",
        "blocked connect [::1]:9 by wget (no-network)",
        "blocked fork by sh (no-subprocess)",
        "blocked write /a\\n/b by sh (fs-readonly): allow it with --allow-write /a",
    ]


def test_what_counts() -> None:
    """Probes alone do not."""
    report = Report({})
    assert not report.counts
    report.add(PROBE, "npm", 1)
    assert not report.counts
    report.add(FORK, "npm", 1)
    assert report.counts


def test_made_up_names() -> None:
    """The number of lines has a limit, and nothing is lost."""
    report = Report({})
    for number in range(10_000):
        report.add(FORK, f"name{number}", number)
    kinds = list(report.kinds())
    assert len(kinds) <= 101
    assert sum(kind.times for kind in kinds) == 10_000
    assert kinds[-1].program == "others"


def test_json() -> None:
    """All of it, for programs, and how the command ended."""
    report = Report({})
    report.add(WRITE, "sh", 4)
    report.add(PROBE, "npm", 5)
    assert [json.loads(json.dumps(line)) for line in report.lines(-9)] == [
        {
            "what": "write",
            "guard": "fs-readonly",
            "program": "sh",
            "pid": 4,
            "times": 1,
            "counts": True,
            "first": {"path": "/a\n/b"},
            "remedy": "--allow-write /a",
        },
        {
            "what": "socket",
            "guard": "no-network",
            "program": "npm",
            "pid": 5,
            "times": 1,
            "counts": False,
            "first": {"family": "netlink"},
            "remedy": None,
        },
        {"status": -9},
    ]


def test_failure() -> None:
    """What hotenv says instead, which may have been a word of the command line."""
    report = Report({"TOKEN": "s3cret"})
    report.add(WRITE, "sh", 4)
    assert report.failure(SystemFailureError("cannot run 's3cret': \udcff")) == {
        "error": "SystemFailureError",
        "message": "cannot run '[TOKEN]': \udcff",
    }


def test_trace() -> None:
    """A word is a word, whatever is in it."""
    assert Report({}).trace_line(CONNECT, "a b", 7) == (
        "[hotenv] blocked connect host=127.0.0.1 port=9 program=a\\x20b pid=7 reason=no-network"
    )
    assert "path=/a\\n/b program=sh" in Report({}).trace_line(WRITE, "sh", 1)


def test_values() -> None:
    """Each is shown by its name, the longest first, in whatever text it stands."""
    values = {"A": "s3cret", "LONG": "s3cretvalue", "SHORT": "abc", "KEY": "k\n\u00e9\u00e9"}
    report = Report(values)
    told = {
        "/tmp/s3cretvalue": "/tmp/[LONG]",
        "/s3cret/s3cret/abc": "/[A]/[A]/abc",
        "@k\n\u00e9\u00e9": "@[KEY]",
        "/\udcff\n": "/\udcff\n",
    }
    for number, (text, shown) in enumerate(told.items()):
        blocked = Blocked(FS_READONLY, f"call{number}", path=text, remedy=f"--allow {text}")
        report.add(blocked, text, 1)
        kind = list(report.kinds())[-1]
        assert kind.fields()["program"] == shown
        assert kind.fields()["first"] == {"path": shown}
        assert kind.fields()["remedy"] == f"--allow {shown}"
        assert "s3cret" not in str(kind)
        assert "s3cret" not in report.trace_line(blocked, text, 1)
    assert "path=/tmp/[LONG] program=[LONG] " in report.trace_line(
        Blocked(FS_READONLY, "write", path="/tmp/s3cretvalue"), "s3cretvalue", 1
    )
    assert "s3cret" not in repr(report) + repr(vars(report))


def test_values_that_the_kernel_cut_off() -> None:
    """The name of a program has 15 bytes, and what is left of a value is no less secret."""
    report = Report({"TOKEN": "0123456789abcdef", "KEY": "\u00e9" * 10})
    for name in (
        "0123456789abcde",
        "my-0123456789ab",
        "\u00e9" * 7 + "\udcc3",
        "a0123456",
        "x" * 15,
    ):
        report.add(FORK, name, 1)
    shown = [kind.program for kind in report.kinds()]
    assert shown == ["[TOKEN]", "my-[TOKEN]", "[KEY]", "a0123456", "x" * 15]


def test_short_and_common_values() -> None:
    """A report is kept: of values, it has only those of fewer than 4 bytes."""
    report = Report({"A": "abc", "B": "pin4", "C": "localhost", "D": "8080"})
    blocked = Blocked("no-network", "connect", path="/abc/pin4", host="localhost", port="8080")
    report.add(blocked, "abc-pin4", 1)
    (kind,) = report.kinds()
    assert kind.fields()["first"] == {"path": "/abc/[B]", "host": "[C]", "port": "[D]"}
    assert kind.program == "abc-[B]"
