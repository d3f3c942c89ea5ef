"""The public names: what users may import (``hotenv.__all__``)."""

from __future__ import annotations

import ast
import importlib
import inspect

import pytest

import hotenv


@pytest.mark.parametrize("name", hotenv.__all__)
def test_public_name(name: str) -> None:
    """Every public name loads, and is found again at once."""
    value = getattr(hotenv, name)
    assert value is getattr(hotenv, name)
    if name != "__version__":
        assert value.__name__ == name
        assert inspect.getdoc(value), "it is public, so it is documented"


def test_unknown_name() -> None:
    """Any other name is an AttributeError, as with every module."""
    with pytest.raises(AttributeError, match="module 'hotenv' has no attribute 'nothing'"):
        _ = hotenv.nothing


def test_dir() -> None:
    """dir() lists the public names, also those that are not loaded yet."""
    assert set(hotenv.__all__) <= set(dir(hotenv))


def test_star_import() -> None:
    """``from hotenv import *`` gives all of them."""
    names: dict[str, object] = {}
    exec("from hotenv import *", names)  # noqa: S102 - a statement that no function can hold
    assert set(hotenv.__all__) <= set(names)


def test_type_checkers_see_the_same() -> None:
    """What the package declares for type checkers is what it hands on."""
    source = ast.parse(inspect.getsource(hotenv))
    declared = {
        alias.asname: getattr(importlib.import_module(str(node.module)), alias.name)
        for node in ast.walk(source)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("hotenv.")
        for alias in node.names
    }
    assert declared == {
        name: getattr(hotenv, name) for name in hotenv.__all__ if name != "__version__"
    }


def test_version() -> None:
    """The version is text that starts with a number."""
    assert hotenv.__version__[0].isdigit()
