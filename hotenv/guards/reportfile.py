"""The file of --report: opened before the command starts, and written when that has ended."""

from __future__ import annotations

import json
import os
import stat

from hotenv.errors import attempt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_STDERR = 2
_DESCRIPTORS = "/dev/fd/"


class ReportFile:
    """A file that holds one report, and nothing else that was written to it meanwhile.

    ``path``: ``/dev/fd/N`` is the descriptor N itself, which the command does not get.
    ``descriptor``: of the file. If it is open already, the reports before its position stay.

    Error handling: raises SystemFailureError if the file cannot be written.
    """

    def __init__(self, path: str, descriptor: int | None = None) -> None:
        self.path: str = path
        self._action = f"write the report {path}"
        self._start = 0
        with attempt(self._action):
            self.descriptor: int = _descriptor(path) if descriptor is None else descriptor
            self._is_regular = stat.S_ISREG(os.fstat(self.descriptor).st_mode)
            if self._is_regular and descriptor is not None:
                self._start = os.lseek(descriptor, 0, os.SEEK_CUR)
            self._empty()

    def write(self, lines: Iterable[Mapping[str, object]]) -> None:
        """Write ``lines`` as JSON, and close the file.

        Error handling: raises SystemFailureError.
        """
        with attempt(self._action), open(self.descriptor, "w") as file:
            self._empty()
            file.writelines(f"{json.dumps(line)}\n" for line in lines)

    def _empty(self) -> None:
        if self._is_regular:  # a pipe cannot be emptied
            os.ftruncate(self.descriptor, self._start)
            os.lseek(self.descriptor, self._start, os.SEEK_SET)


def _descriptor(path: str) -> int:
    number = path.removeprefix(_DESCRIPTORS)
    if path.startswith(_DESCRIPTORS) and number.isdecimal() and int(number) > _STDERR:
        os.set_inheritable(int(number), False)
        return int(number)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
