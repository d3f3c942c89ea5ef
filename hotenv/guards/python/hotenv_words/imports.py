"""Native extension modules, and what calls native code in other ways."""

import os
import sys

from hotenv_words import LIBRARY, in_words, tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_GUARD = "strict-imports"
_FOREIGN = {"ctypes": "ctypes", "_ctypes": "ctypes", "cffi": "cffi", "_cffi_backend": "cffi"}
"""Modules that call native code, each with the name that allows it."""


def actions(words: "dict[str, list[str]]") -> "dict[str, Callable[..., None]]":
    """What is done about events, if hotenv says ``words``."""
    guard = Imports(words)
    guard.look_back()
    return {
        "import": guard.imported,
        "ctypes.dlopen": guard.loaded,
        "sqlite3.load_extension": guard.loaded,
    }


class Imports:
    """The guard of imports."""

    def __init__(self, words: "dict[str, list[str]]") -> None:
        """``words``: what hotenv says of the guard."""
        self._allowed = words.get("allow-import", [])
        native = os.path.realpath(os.path.join(LIBRARY, "lib-dynload"))
        self._own = "" if "all" in words[_GUARD] else native

    def look_back(self) -> None:
        """Tell what was imported before this one was loaded."""
        for name, module in list(sys.modules.items()):
            path = getattr(module, "__file__", None)
            if path and path.endswith(".so") and self._forbids(name, path):
                tell(_GUARD, "import", module=name)

    def _forbids(self, module: str, path: "str | None") -> bool:
        name = _FOREIGN.get(module, module)
        if any(name == each or name.startswith(f"{each}.") for each in self._allowed):
            return False
        # Without a path, whether it is native is seen when it is loaded.
        native = path is not None and os.path.dirname(os.path.realpath(path)) != self._own
        return native or module in _FOREIGN

    def imported(self, module: str, path: "str | None", *_: object) -> None:
        """A module is looked for, or, with a ``path``, native code is loaded."""
        if self._forbids(module, path):
            _refuse(module, "import", path)

    def loaded(self, *_: object) -> None:
        """Other native code is."""
        if self._forbids("ctypes", None):
            _refuse("ctypes", "load a library with", None)


def _refuse(module: str, what: str, path: "str | None") -> None:
    name = _FOREIGN.get(module, module)
    tell(_GUARD, what, module=name)
    option = f"--allow-import {name.partition('.')[0]}"
    raise ImportError(in_words(_GUARD, what, option, name), name=module, path=path)
