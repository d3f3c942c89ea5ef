"""The options that compose the environment of a command, and what they make of it."""

from __future__ import annotations

import os

from hotenv.cli.session import composition_of
from hotenv.errors import UsageError, attempt
from hotenv.handover.launch import Launch

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence
    from typing import Any

    from hotenv.cli.parser import Parser
    from hotenv.session.marker import Marker

_OPTIONS = (
    *("only", "excluded", "override", "isolated", "passed", "defined", "bins", "as_file"),
    "env_file",
)
"""Options that compose the environment. Without them the session's variables go on top of it."""


def add_layers(parser: Parser) -> None:
    """Add the options that compose an environment of variables."""
    from hotenv.cli.options import text

    parser.add_argument(
        "--no-override",
        action="store_false",
        dest="override",
        help="keep variables that are already set, even if empty",
    )
    parser.add_argument(
        "--isolated",
        action="store_true",
        help="pass only essential variables (PATH, HOME, LANG, ...), not the whole environment",
    )
    parser.add_argument(
        "--pass",
        action="append",
        type=text,
        dest="passed",
        metavar="NAME",
        help="also pass NAME from the environment: a variable, a pattern, or one of the groups "
        "@net (proxies), @tls (certificates), @ssh-agent and @xdg; may be repeated",
    )
    parser.add_argument(
        "--define",
        action="append",
        type=_definition,
        dest="defined",
        metavar="NAME=VALUE",
        help="set NAME to VALUE, overriding the session; not for secrets; may be repeated",
    )
    parser.add_argument(
        "--bin",
        action="append",
        type=_directory,
        dest="bins",
        metavar="DIR",
        help="prepend DIR to PATH; may be repeated (the first DIR is searched first)",
    )


def add_files(parser: Parser, *, env_file: str) -> None:
    """Add the options that pass variables in files. ``env_file``: what becomes of the path."""
    from hotenv.handover.formats import FORMATS

    parser.add_argument(
        "--as-file",
        action="append",
        type=_as_file,
        dest="as_file",
        metavar="NAME[=VAR]",
        help="pass the value of NAME in an in-memory file instead of the environment, and set "
        "NAME_FILE (or VAR) to its path; processes that COMMAND starts inherit the file; may be "
        "repeated",
    )
    parser.add_argument(
        "--env-file",
        choices=[name for name in FORMATS if name != "env"],
        dest="env_file",
        metavar="FORMAT",
        help="pass the session's variables in an in-memory file instead of the environment, and "
        f"{env_file}; FORMAT is docker, dotenv, fish, json, null or shell",
    )


def _definition(word: str) -> tuple[str, str]:
    from hotenv.cli.options import text

    name, equals, value = text(word).partition("=")
    if not equals:
        raise UsageError("--define must be NAME=VALUE")  # and does not show what may be a value
    return name, value


def _as_file(word: str) -> tuple[str, str]:
    from hotenv.cli.options import text
    from hotenv.handover.layers import parse_as_file

    return parse_as_file(text(word))


def _directory(word: str) -> str:
    if not word:
        raise UsageError("--bin must not be empty")
    return word


def given_layers(args: argparse.Namespace, argv: Sequence[str] | None) -> dict[str, Any]:
    """The arguments of :func:`compose_layers` that were given.

    ``argv``: the command, or None for a shell, which gets the path of a file in a variable and not
    in an argument. Raises FieldError before any session is asked.
    """
    from hotenv.cli.options import text

    options = {name: getattr(args, name) for name in _OPTIONS if hasattr(args, name)}
    for pairs in ("defined", "as_file"):
        if pairs in options:
            from hotenv.handover.layers import check_unique

            check_unique(pairs, [name for name, _ in options[pairs]])
            options[pairs] = dict(options[pairs])
    if "bins" in options:
        with attempt("determine the current directory"):
            options["bins"] = [text(os.path.abspath(each)) for each in options["bins"]]
    if options:
        _check(options, argv)
    return options


def with_composition(
    session: Marker, options: dict[str, Any], argv: Sequence[str] | None
) -> dict[str, Any]:
    """``options``, and what the session says of the rest. ``argv``: see :func:`given_layers`.

    Raises FieldError, ArtifactError.
    """
    if composition := composition_of(session):
        options = {**composition, **options}
        _check(options, argv)
    return options


def _check(options: dict[str, Any], argv: Sequence[str] | None) -> None:
    """Raise FieldError unless an environment can be composed with ``options``."""
    from hotenv.handover import layers

    layers.check_passed(options.get("passed", ()))
    layers.check_defined(options.get("defined", {}))
    layers.check_bins(options.get("bins", ()))
    layers.check_as_file(
        options.get("as_file", {}), options.get("defined", {}), options.get("bins", ())
    )
    if "env_file" in options and argv is not None:
        from hotenv.handover.files import find_placeholder

        find_placeholder(argv)


def composed(
    argv: Sequence[str],
    own: Mapping[bytes, bytes],
    variables: Mapping[str, str],
    options: Mapping[str, Any],
) -> Launch:
    """The command ``argv`` in an environment composed with ``options``, with ``own`` below."""
    from hotenv.handover.layers import compose_layers

    child = compose_layers(own, variables, **options)
    return Launch(argv, child.variables, files=child.files, env_file=child.env_file)


def explain(
    own: Mapping[bytes, bytes], variables: Mapping[str, str], options: Mapping[str, Any]
) -> None:
    """Print how an environment is composed with ``options``, with ``own`` below."""
    from hotenv.handover.layers import compose_layers
    from hotenv.stdio import write_table

    child = compose_layers(own, variables, **options)
    write_table(child.explanation(), ("NAME", "LAYER", "REMARK"))
