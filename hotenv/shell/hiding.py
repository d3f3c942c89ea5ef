"""What a shell hides of its output and its errors: the values of variables, or nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from hotenv.errors import HotenvError
from hotenv.handover.wellknown import ESSENTIALS
from hotenv.redaction.redactor import Redactor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from hotenv.snapshot import Variables


class Unredacted:
    """In place of a :class:`Redactor` where nothing is hidden: all comes out as it comes in."""

    waiting: bool = False

    def another(self) -> Self:
        """For another stream."""
        return self

    def feed(self, data: bytes) -> bytes:
        """All of ``data``."""
        return data

    def release(self) -> bytes:
        """Nothing has been held back."""
        return b""

    finish = release

    def redact(self, text: bytes) -> bytes:
        """All of ``text``."""
        return text


UNREDACTED = Unredacted()


def variables_to_hide(
    redact: bool | Variables, environment: Mapping[bytes, bytes], own: Mapping[bytes, bytes]
) -> dict[str, str]:
    """The variables whose values are hidden: see ``redact`` of :func:`hotenv.open_shell`.

    ``own``: those that are there in any case.
    """
    if isinstance(redact, bool):
        return dict(_added(environment, own)) if redact else {}
    return dict(redact)


def _added(
    environment: Mapping[bytes, bytes], own: Mapping[bytes, bytes]
) -> Iterator[tuple[str, str]]:
    """What of ``environment`` is not in ``own``, but for essential variables."""
    for name, value in environment.items():
        if own.get(name) != value and os.fsdecode(name) not in ESSENTIALS:
            with suppress(UnicodeDecodeError):  # a session has no such value
                yield name.decode(), value.decode()


def redactor_of(variables: Mapping[str, str]) -> Redactor | Unredacted:
    """What hides the values of ``variables``."""
    return Redactor(variables) if variables else UNREDACTED


@contextmanager
def hiding_in_errors(redactor: Redactor | Unredacted) -> Iterator[None]:
    """Errors from the block show no values that ``redactor`` hides."""
    try:
        yield
    except HotenvError as error:
        if redactor is UNREDACTED:
            raise
        message = str(error).encode("utf-8", "surrogateescape")
        error.args = (redactor.redact(message).decode("utf-8", "surrogateescape"),)
        raise error from None  # what the error is about may show one, too
