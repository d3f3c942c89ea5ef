"""Words for people, in a Python program under a guard: why something fails, what would allow it.

Every Python from 3.8, of whatever environment, loads this when it starts. Of imports it is the
guard; else it guards nothing: without it, the kernel refuses the same in fewer words. It loads no
module that is not there already, but those beside it, and must not fail. Types are in quotes:
Python 3.8 does not know all of them, and ``__future__`` would have to be loaded.
"""

import _thread
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_HERE = os.path.dirname(__file__)


def _words() -> "dict[str, list[str]]":
    """What hotenv says of the guard: a line for each part of it, ``NAME`` or ``NAME=VALUE``."""
    words: dict[str, list[str]] = {}
    for line in os.environ.get("HOTENV_WORDS", "").splitlines():
        name, _, value = line.partition("=")
        words.setdefault(name, []).extend([value] if value else [])
    return words


def _is_guarded() -> bool:
    """Whether this process is under a guard, and has not only got the environment of one."""
    try:
        with open("/proc/self/status", "rb") as file:
            return b"\nSeccomp:\t2\n" in file.read()
    except OSError:
        return False


_EVENTS = {
    "no-network": ("network", ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname")),
    "no-localhost": ("network", ("socket.connect",)),
    "no-subprocess": (
        "processes",
        ("os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"),
    ),
    "fs-readonly": (
        "files",
        ("open", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink"),
    ),
    "strict-imports": ("imports", ("import", "ctypes.dlopen", "sqlite3.load_extension")),
}
"""For each guard the module that decides about these events, and is loaded at the first of them."""


def _load(module: str, words: "dict[str, list[str]]") -> "dict[str, Callable[..., None]]":
    """For each of its events, what ``module`` does about it; nothing, if it is out of reach."""
    sys.path.insert(0, _HERE)
    try:
        loaded = __import__(f"hotenv_words.{module}", fromlist=[module])
    except ImportError:
        return {}
    finally:
        sys.path.remove(_HERE)
    actions: dict[str, Callable[..., None]] = loaded.actions(words)
    return actions


def _install() -> None:
    words = _words()
    modules = {
        event: module
        for guard, (module, events) in _EVENTS.items()
        for event in events
        if guard in words
    }
    if modules and hasattr(sys, "addaudithook") and _is_guarded():
        sys.addaudithook(_hook(modules, words))


def _hook(
    modules: "dict[str, str]", words: "dict[str, list[str]]"
) -> "Callable[[str, tuple[Any, ...]], None]":
    """What is called at each event. ``modules``: which decides about an event."""
    table: dict[str, Callable[..., None]] = {}
    busy: set[int] = set()  # threads

    def hook(event: str, arguments: "tuple[Any, ...]") -> None:
        thread = _thread.get_ident()
        if event not in modules or thread in busy:
            return
        busy.add(thread)
        try:
            if event not in table:
                table.update(_load(modules[event], words))
            if event in table:
                table[event](*arguments)
        except (AttributeError, LookupError, TypeError, ValueError):
            pass  # such arguments are an error without this, too
        finally:
            busy.discard(thread)

    return hook


def _go_on() -> None:
    """Load the sitecustomize that is there without this one, if there is any."""
    sys.path[:] = [path for path in sys.path if path != _HERE]
    this = sys.modules.pop(__name__)
    try:
        __import__(__name__)
    except ImportError as error:
        if error.name != __name__:
            raise
        sys.modules[__name__] = this


_install()
_go_on()
