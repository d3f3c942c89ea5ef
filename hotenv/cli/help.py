"""``hotenv help``: print the text on a topic, the help of a command, or a list of both."""

from __future__ import annotations

from pathlib import Path

from hotenv.errors import attempt
from hotenv.stdio import write_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from hotenv.cli.parser import Parser

TOPICS = Path(__file__).parent.parent / "topics"
"""One reStructuredText file for each topic. Its title says in a line what the topic is about."""


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    from hotenv.cli.commandline import COMMANDS

    parser.description = (
        "Print the text on TOPIC, or the help of a command. Without TOPIC, list the topics and the "
        "commands. 'man hotenv-TOPIC' shows the same texts."
    )
    parser.epilog = "example: hotenv help sources"
    parser.add_argument(
        "topic",
        nargs="?",
        choices=[*topics(), *COMMANDS],
        metavar="TOPIC",
        help="topic or command",
    )


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    from hotenv.cli.commandline import COMMANDS, build_parser

    if args.topic is None:
        entries = {"topics": {each: title(read(each)) for each in topics()}, "commands": COMMANDS}
        write_output(_listed(entries).encode())
    elif args.topic in COMMANDS:
        build_parser([args.topic]).parse_args([args.topic, "--help"])
    else:
        write_output(readable(read(args.topic)).encode())


def topics() -> list[str]:
    """The names of all topics, sorted."""
    return sorted(path.stem for path in TOPICS.glob("*.rst"))


def read(topic: str) -> str:
    """The source of the text on ``topic``.

    Error handling: raises SystemFailureError if it cannot be read.
    """
    path = TOPICS / f"{topic}.rst"
    with attempt(f"read {path}", "reinstall hotenv"):
        return path.read_text("utf-8")


def title(text: str) -> str:
    """What the topic with this source is about."""
    return text.partition("\n")[0]


def readable(text: str) -> str:
    """``text`` for people: without comments, and without what marks a block as code."""
    lines = iter(text.splitlines(keepends=True))
    kept = []
    for line in lines:
        if line.lstrip().startswith(".. "):
            next(lines, "")  # the empty line after it
        else:
            kept.append(line)
    return "".join(kept)


def _listed(groups: dict[str, dict[str, str]]) -> str:
    width = max(len(name) for entries in groups.values() for name in entries)
    text = "usage: hotenv help TOPIC\n"
    for heading, entries in groups.items():
        lines = (f"  {name:{width}}  {about}\n" for name, about in entries.items())
        text += f"\n{heading}:\n{''.join(lines)}"
    return text
