"""The session of a directory: the nearest marker, trusted, and started for where it is."""

from __future__ import annotations

import os
import stat
import time

from hotenv.errors import ArtifactError, ExpiredError, HotenvError, NoSessionError, attempt
from hotenv.session.liveness import is_listening
from hotenv.session.marker import NAME, Marker, checked_path, read_marker
from hotenv.session.owner import is_trusted, user
from hotenv.session.status import is_socket_name, read_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from hotenv.session.note import Notes


def find_session(
    directory: str | None = None, *, above: bool = False, option: str = "--above"
) -> Marker:
    """The marker of the session in ``directory`` (the current one if None), or nearest above it.

    Error handling: raises the errors of :func:`find_marker` and
    :func:`~hotenv.session.marker.read_marker`; ArtifactError if its socket is not one of hotenv's,
    or if it was copied from another directory.
    """
    path = find_marker(directory, above=above, option=option)
    found = read_marker(path)
    check_session(found, os.path.dirname(path) or os.curdir)
    return found


def find_marker(
    directory: str | None = None, *, above: bool = False, option: str = "--above"
) -> str:
    """The path of the marker in ``directory`` (the current one if None), or nearest above it.

    From the current directory it is a relative path. An absolute path could refer to another
    directory by the time the marker is read, if the owner of a parent directory renames it; ``..``
    could not. Where every user may create files, as in /tmp, another user's marker is passed over.

    The search ends where a session has expired, unless ``above``; ``option`` is what an error calls
    that.

    Error handling: raises ExpiredError where a session has expired; NoSessionError if there is no
    marker; SystemFailureError if a directory cannot be searched: skipping it could select a session
    that is not the nearest; FieldError for a ``directory`` that cannot be one.
    """
    with attempt("determine the current directory"):
        start = os.getcwd() if directory is None else os.path.abspath(checked_path(directory))
    passed_over: list[str] = []
    notes = None
    for height, place in enumerate(upward(start)):
        path = os.path.join(place, NAME)
        with attempt(f"look for {path}"):
            if directory is None:
                path = os.path.join(*[os.pardir] * height, NAME)
            if _is_marker(path, passed_over):
                return path
            if above:
                continue
            notes = notes or _notes()
            expired = notes.expiry(os.path.dirname(path) or os.curdir)
            if _is_marker(path, passed_over):  # of a session that came meanwhile, and took the note
                return path
        if expired is not None:
            raise _expired(place, expired, option)
    remark = f" ({passed_over[-1]} was passed over)" if passed_over else ""
    raise NoSessionError(
        f"no {NAME} in {start} or any parent directory{remark}: run 'hotenv serve' there to start "
        "a session"
    )


def _notes() -> Notes:
    """Loaded only when a directory has no marker: most commands run where their session is."""
    from hotenv.session.note import Notes

    return Notes()


def _is_marker(path: str, passed_over: list[str]) -> bool:
    """Whether there is a marker at ``path`` to use; ``passed_over`` gets one that is not."""
    try:
        owner = os.lstat(path).st_uid
    except (FileNotFoundError, NotADirectoryError):
        return False
    if is_trusted(owner) or not is_shared(os.path.dirname(path)):
        return True
    passed_over.append(f"{os.path.abspath(path)} of {user(owner)}")
    return False


def is_shared(directory: str) -> bool:
    """Whether every user may create files in ``directory``, which is theirs then, as in /tmp."""
    mode = os.stat(directory or os.curdir).st_mode
    return bool(mode & stat.S_ISVTX and mode & stat.S_IWOTH)


def _expired(place: str, expired: float, option: str) -> ExpiredError:
    """The error for a search that ends at the note of the directory ``place``."""
    instead = live_session_above(place, above=True)
    when = _moment(expired)
    remedy = f"run 'hotenv serve' in {place} to start it anew"
    if instead is None:
        return ExpiredError(f"the session of {place} expired at {when}: {remedy}", place)
    return ExpiredError(
        f"the session of {place} expired at {when}; that of {instead} is not used instead: "
        f"{remedy}, or use {option}",
        place,
    )


def _moment(seconds: float) -> str:
    """A local time as people say it: with the date if it is not today's."""
    when, now = time.localtime(seconds), time.localtime()
    return time.strftime("%H:%M" if when[:3] == now[:3] else "%H:%M on %Y-%m-%d", when)


def live_session_above(directory: str, *, above: bool = False) -> str | None:
    """The parent directory whose session ``directory`` gets if it has none itself, if any.

    ``above``: even if a nearer one has expired.
    """
    parent = os.path.dirname(os.path.abspath(directory))
    try:
        found = find_session(parent, above=above)
    except HotenvError:
        return None
    place = os.path.dirname(found.path)
    return place if place != directory and is_listening(found.socket) else None


def upward(directory: str) -> Iterator[str]:
    """``directory`` and those above it, the nearest first."""
    yield directory
    while (parent := os.path.dirname(directory)) != directory:
        directory = parent
        yield directory


def check_session(found: Marker, directory: str) -> None:
    """Raise ArtifactError unless the marker, read in ``directory``, was made for it by hotenv.

    ``found.composition`` is known then.
    """
    with attempt(f"check {found.path}"):
        _check_socket(found)
        _check_origin(found, directory)


def _check_socket(found: Marker) -> None:
    """A marker that came with a repository must not send a command line to any socket there is."""
    if not is_socket_name(found.socket):
        raise _not_ours(found)
    try:
        status = os.lstat(os.path.dirname(found.socket))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return  # it cannot be reached from here
    private = status.st_uid == found.owner and not status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    if not (stat.S_ISDIR(status.st_mode) and private) or os.path.islink(found.socket):
        raise _not_ours(found)


def _not_ours(found: Marker) -> ArtifactError:
    return ArtifactError(
        f"invalid marker {found.path}: socket= must be a socket of hotenv in a private directory"
    )


def _check_origin(found: Marker, directory: str) -> None:
    """Compare the directory with that of the server's, if it has published that."""
    published = read_status(found.socket)
    if published is None:
        return
    here = os.stat(directory)
    if (here.st_dev, here.st_ino) != (published.device, published.inode):
        raise ArtifactError(
            f"invalid marker {found.path}: copied from {published.marker}: remove it, or replace "
            "it with 'hotenv serve --force'"
        )
    found.composition = published.composition
