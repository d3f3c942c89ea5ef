"""Which desk a human means."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from hotenv.desk.place import Place, find_place, make_place
from hotenv.errors import NoSessionError

pytestmark = pytest.mark.usefixtures("runtime")

Starting = Callable[[], Place]
Started = Callable[[Path, int], Place]


@pytest.fixture
def starting() -> Iterator[Starting]:
    """Makes desks that listen, and have not said for which project."""
    with ExitStack() as stack:

        def start() -> Place:
            place = make_place()
            stack.callback(place.remove)
            for each in place.listen():
                stack.enter_context(each)
            return place

        yield start


@pytest.fixture
def started(starting: Starting) -> Started:
    """Makes desks for a project and the process of an agent."""

    def start(directory: Path, agent: int) -> Place:
        place = starting()
        place.tell(str(directory), agent)
        return place

    return start


def test_the_nearest(started: Started, tmp_path: Path) -> None:
    """That of the project that the directory is in, or the only one."""
    shop, bakery = tmp_path / "shop", tmp_path / "bakery"
    for each in (shop, bakery):
        (each / "src").mkdir(parents=True)
    first = started(shop, 11)
    assert find_place(str(bakery)).path == first.path
    second = started(bakery, 12)
    assert find_place(str(shop / "src")).path == first.path
    assert find_place(str(bakery)).path == second.path


def test_projects_in_each_other(started: Started, tmp_path: Path) -> None:
    """The nearer one counts."""
    started(tmp_path, 11)
    (tmp_path / "inner").mkdir()
    inner = started(tmp_path / "inner", 12)
    assert find_place(str(tmp_path / "inner")).path == inner.path


def test_several(started: Started, tmp_path: Path) -> None:
    """The process of the agent says which, and is named if it does not."""
    started(tmp_path, 11)
    second = started(tmp_path, 12)
    with pytest.raises(NoSessionError, match=rf"--agent with one of 11 \({tmp_path}\), 12 "):
        find_place(str(tmp_path))
    assert find_place(str(tmp_path), 12).path == second.path
    with pytest.raises(NoSessionError, match="no 'hotenv agent' has the process ID 13"):
        find_place(str(tmp_path), 13)


def test_a_desk_that_starts(starting: Starting, started: Started, tmp_path: Path) -> None:
    """It is for no directory yet, and not for each."""
    starting()
    with pytest.raises(NoSessionError, match="no agent is running"):
        find_place(str(tmp_path))
    ready = started(tmp_path, 11)
    assert find_place(str(tmp_path)).path == ready.path


def test_a_desk_that_was_killed(tmp_path: Path) -> None:
    """Its directory is still there."""
    place = make_place()
    for each in place.listen():
        each.close()
    place.tell(str(tmp_path), 11)
    with pytest.raises(NoSessionError, match="no agent is running"):
        find_place(str(tmp_path))
    place.remove()
