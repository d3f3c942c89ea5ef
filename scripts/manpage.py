"""The manual pages: from the parser, as --help is, from the errors, and from the topics."""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Mapping
from functools import partial

from argparse_manpage.manpage import Manpage
from docutils.core import publish_string

from hotenv import __version__, errors
from hotenv.cli import help as topics
from subparsers import subparsers

_NO_ERRORS = {
    0: (
        "Success. Once 'hotenv run' has started the command, the exit status is that of the "
        "command."
    ),
    130: "Interrupted (Ctrl-C).",
    141: "The reader of standard output closed it (broken pipe).",
}

_SEE_ALSO = r"""For help on a command, run it with \fB\-h\fR or \fB\-\-help\fR.
.PP
"""

_HEADER = """\
hotenv-{topic}
{line}

{underline}
{title}
{underline}

:Manual section: 7
:Manual group: hotenv
:Version: hotenv {version}

Description
-----------

"""
"""What docutils makes the first lines of a page from."""


def topic_page(topic: str) -> str:
    """The page hotenv-TOPIC(7), which is the same for the same version."""
    text = topics.read(topic)
    title, _, body = text.split("\n", 2)
    header = _HEADER.format(
        topic=topic,
        line="=" * len(f"hotenv-{topic}"),
        title=title,
        underline="~" * len(title),
        version=__version__,
    )
    settings = {
        "datestamp": None,
        "halt_level": 2,  # a warning is an error
        "output_encoding": "unicode",
        "syntax_highlight": "none",
    }
    return str(publish_string(header + body, writer="manpage", settings_overrides=settings))


def manual_page(parser: argparse.ArgumentParser) -> str:
    """The page hotenv(1), which is the same for the same version. ``parser`` is used up."""
    commands = subparsers(parser)
    for each in [parser, *commands]:  # roff breaks the lines, not argparse for a terminal
        each.formatter_class = partial(argparse.HelpFormatter, width=10_000)
    examples = {
        "start a session and use it" if each is parser else each.prog: each.epilog.removeprefix(
            "example: "
        )
        for each in [parser, *commands]
        if each.epilog
    }
    parser.epilog = None
    about = str(parser.description)
    page = Manpage(parser, format="single-commands-section")
    page.description = about[0].lower() + about.removesuffix(".")[1:]
    page.source = f"hotenv {__version__}"
    page.manual = "User Commands"
    page.date = ""
    page.synopsis = [_escaped(word) for word in page.synopsis]
    page.add_section("exit status", ">", _entries(_exit_codes()))
    page.add_section("examples", ">", _entries(examples))
    page.add_section("see also", ">", _SEE_ALSO + _references())
    # Quotes that the shell understands, also in UTF-8; and one empty line between entries.
    return re.sub(r"\n+(?=\.TP)", "\n", str(page).replace("'", r"\(aq"))


def _references() -> str:
    own = [(f"hotenv-{topic}", 7) for topic in topics.topics()]
    pages = [*own, ("env", 1), ("environ", 7)]
    return ",\n".join(f".BR {_escaped(name)} ({section})" for name, section in pages)


def _exit_codes() -> dict[str, str]:
    kinds = errors.HotenvError.__subclasses__()
    meanings = {kind.exit_code: str(inspect.getdoc(kind)) for kind in kinds} | _NO_ERRORS
    return {str(code): meanings[code].partition("\n")[0] for code in sorted(meanings)}


def _entries(texts: Mapping[str, str]) -> str:
    return "\n".join(f".TP\n.B {_escaped(k)}\n{_escaped(text)}" for k, text in texts.items())


def _escaped(text: str) -> str:
    return text.replace("\\", r"\e").replace("-", r"\-")
