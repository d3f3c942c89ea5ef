"""program: what becomes of errors, in one place."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from hotenv import errors
from hotenv.cli import dump
from hotenv.cli.main import main
from hotenv.program import catch_interrupts, exit_code_of


def raising(error: BaseException) -> Callable[[], None]:
    """An action that fails."""

    def action() -> None:
        raise error

    return action


def all_errors() -> list[type[errors.HotenvError]]:
    """Every error that has a code, and whose message is all there is to it."""
    found = [e for e in vars(errors).values() if isinstance(e, type) and hasattr(e, "exit_code")]
    return [error for error in found if error not in (errors.FieldError, errors.ExpiredError)]


@pytest.mark.parametrize("error", all_errors(), ids=lambda error: error.__name__)
def test_an_error_becomes_one_line_and_its_code(
    error: type[errors.HotenvError], capfd: pytest.CaptureFixture[str]
) -> None:
    """Whatever is raised, its code is returned and its message shown safely."""
    assert exit_code_of(raising(error("what\nhappened\x1b[0m"))) == error.exit_code
    assert capfd.readouterr() == ("", "hotenv: what\\nhappened\\x1b[0m\n")


def test_a_field_is_an_error_of_usage(capfd: pytest.CaptureFixture[str]) -> None:
    """An error of an argument that no option stands for has its code too."""
    assert exit_code_of(raising(errors.FieldError("only", "is wrong", "'A'"))) == 2
    assert capfd.readouterr() == ("", "hotenv: only 'A': is wrong\n")


@pytest.mark.parametrize(
    "error", [ValueError("secret"), KeyError("secret"), ExceptionGroup("secret", [ValueError()])]
)
def test_a_mistake_of_ours_is_one_line_too(
    error: Exception, capfd: pytest.CaptureFixture[str]
) -> None:
    """No traceback: its lines could quote values. It says where, and nothing that was in hand."""
    assert exit_code_of(raising(error)) == 8
    words = capfd.readouterr().err
    assert "secret" not in words
    assert re.fullmatch(
        r"hotenv: internal error: (ValueError|KeyError)( at test_program.py:\d+)?: please report "
        r"this bug\n",
        words,
    )


_FAILED = "a system call failed: "
_LOOK = ": check the limits and filters of this system or container"


def refusal(number: int) -> OSError:
    """What the system says, about a file whose name should not be shown."""
    return OSError(number, os.strerror(number), "s3cret")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        pytest.param(
            refusal(errno.EMFILE),
            f"{_FAILED}too many open files: raise the limit (see 'ulimit -n')",
            id="EMFILE",
        ),
        pytest.param(
            refusal(errno.ENFILE),
            f"{_FAILED}too many open files in system: close other programs, or raise the limit "
            "(fs.file-max)",
            id="ENFILE",
        ),
        pytest.param(
            refusal(errno.ENOMEM),
            f"{_FAILED}cannot allocate memory: raise the limit (see 'ulimit -v')",
            id="ENOMEM",
        ),
        pytest.param(
            refusal(errno.EAGAIN),
            f"{_FAILED}resource temporarily unavailable: raise the limit (see 'ulimit -u')",
            id="EAGAIN",
        ),
        pytest.param(
            refusal(errno.ENOSPC),
            f"{_FAILED}no space left on device: make room on the disk",
            id="ENOSPC",
        ),
        pytest.param(refusal(errno.EPERM), f"{_FAILED}operation not permitted{_LOOK}", id="EPERM"),
        pytest.param(
            refusal(errno.ENOSYS), f"{_FAILED}function not implemented{_LOOK}", id="ENOSYS"
        ),
        pytest.param(MemoryError("s3cret"), "out of memory: raise the limit (see 'ulimit -v')"),
        pytest.param(
            ImportError("libx.so: failed to map segment from shared object"),
            "out of memory: raise the limit (see 'ulimit -v')",
            id="no room for a library",
        ),
        pytest.param(
            RuntimeError("can't start new thread"),
            "cannot start a thread: raise the limit (see 'ulimit -u' and 'ulimit -v')",
            id="no thread",
        ),
    ],
)
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_limits_of_the_system(
    error: Exception, words: str, depth: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """What the system refuses is no bug: it is said with what to do, also from a group."""
    for _ in range(depth):
        error = ExceptionGroup("s3cret", [error])
    assert exit_code_of(raising(error)) == 8
    assert capfd.readouterr() == ("", f"hotenv: {words}\n")


@pytest.mark.parametrize(
    "error", [RuntimeError("s3cret"), ImportError("s3cret"), OSError("s3cret")], ids=repr
)
def test_what_only_looks_like_a_limit(error: Exception, capfd: pytest.CaptureFixture[str]) -> None:
    """Anything else of these kinds is a bug, and says nothing of itself."""
    assert exit_code_of(raising(error)) == 8
    words = capfd.readouterr().err
    assert words.startswith(f"hotenv: internal error: {type(error).__name__} at ")
    assert "s3cret" not in words


@pytest.mark.parametrize(
    ("error", "code"),
    [
        pytest.param(KeyboardInterrupt(), 130, id="Ctrl-C"),
        pytest.param(BaseExceptionGroup("", [KeyboardInterrupt()]), 130, id="Ctrl-C in a group"),
        pytest.param(BrokenPipeError(), 141, id="a reader that went away"),
    ],
)
def test_ends_that_say_nothing(
    error: BaseException, code: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """The codes that a shell reports for the signals, without a word."""
    assert exit_code_of(raising(error)) == code
    assert capfd.readouterr() == ("", "")


def test_an_interrupt_while_a_class_is_made(capfd: pytest.CaptureFixture[str]) -> None:
    """Up to Python 3.11, that is another error, in whatever is being loaded."""

    class Interrupting:
        def __set_name__(self, _owner: type, _name: str) -> None:
            raise KeyboardInterrupt

    def action() -> None:
        type("Loaded", (), {"attribute": Interrupting()})

    assert exit_code_of(action) == 130
    assert capfd.readouterr() == ("", "")


def test_success(capfd: pytest.CaptureFixture[str]) -> None:
    """What returns has succeeded."""
    assert exit_code_of(lambda: None) == 0
    assert capfd.readouterr() == ("", "")


def test_an_exit_is_an_exit() -> None:
    """What ends on purpose ends, as --help does, with its own code."""
    with pytest.raises(SystemExit) as caught:
        exit_code_of(raising(SystemExit(4)))
    assert caught.value.code == 4


@pytest.mark.parametrize(
    ("error", "code"), [(errors.NoSessionError("none"), 3), (KeyboardInterrupt(), 130)]
)
def test_main_returns_it(error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line returns the code of what its command raises."""

    def fail(_args: object) -> None:
        raise error

    monkeypatch.setattr(dump, "run", fail)
    assert main(["dump"]) == code


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (signal.SIG_DFL, signal.default_int_handler),
        (signal.SIG_IGN, signal.SIG_IGN),
        (signal.default_int_handler, signal.default_int_handler),
    ],
    ids=["default", "ignored", "caught"],
)
def test_interrupts_are_caught_unless_ignored(
    before: object, after: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C raises KeyboardInterrupt from then on; what was ignored for hotenv stays so.

    The hook of a program that has called hotenv's main function is kept.
    """

    def hook(lost: object) -> None:
        """Of another program."""

    monkeypatch.setattr(sys, "unraisablehook", hook)
    saved = signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, before)  # type: ignore[arg-type]
        catch_interrupts()
        assert signal.getsignal(signal.SIGINT) is after
        assert sys.unraisablehook is hook
    finally:
        signal.signal(signal.SIGINT, saved)


_LOSES = """
import signal, sys
from hotenv.program import catch_interrupts
signal.signal(signal.SIGINT, {handler})
catch_interrupts()
class Thing:
    def __del__(self):
        raise {error}
Thing()
print("alive")
"""


@pytest.mark.parametrize("handler", ["signal.SIG_DFL", "signal.default_int_handler"])
@pytest.mark.parametrize(
    ("error", "code", "output"),
    [("KeyboardInterrupt", -signal.SIGINT, b""), ("OSError", 0, b"alive\n")],
)
def test_interrupt_that_python_would_ignore(
    error: str, code: int, output: bytes, handler: str
) -> None:
    """Where nothing can be raised, Ctrl-C ends the process without a word; nothing else does."""
    program = _LOSES.format(error=error, handler=handler)
    result = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True)
    assert (result.returncode, result.stdout) == (code, output)
    assert (b"Exception ignored in" in result.stderr) == (code == 0)
