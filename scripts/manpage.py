"""The manual page: from the parser, as --help is, and from the docstrings of the errors."""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Mapping
from functools import partial

from argparse_manpage.manpage import Manpage

from hotenv import __version__, errors
from subparsers import subparsers

_NO_ERRORS = {
    0: "All went well. Once run has started its command, the status is that of the command.",
    130: "Ctrl-C.",
    141: "The reader of standard output went away.",
}

_SEE_ALSO = r"""Each command explains itself with \fB\-h\fR or \fB\-\-help\fR.
.PP
.BR env (1),
.BR environ (7)"""


def manual_page(parser: argparse.ArgumentParser) -> str:
    """The page hotenv(1), which is the same for the same version. ``parser`` is used up."""
    commands = subparsers(parser)
    for each in [parser, *commands]:  # roff breaks the lines, not argparse for a terminal
        each.formatter_class = partial(argparse.HelpFormatter, width=10_000)
    examples = {
        "a whole session" if each is parser else each.prog: each.epilog.removeprefix("example: ")
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
    page.add_section("see also", ">", _SEE_ALSO)
    # Quotes that the shell understands, also in UTF-8; and one empty line between entries.
    return re.sub(r"\n+(?=\.TP)", "\n", str(page).replace("'", r"\(aq"))


def _exit_codes() -> dict[str, str]:
    kinds = errors.HotenvError.__subclasses__()
    meanings = {kind.exit_code: str(inspect.getdoc(kind)) for kind in kinds} | _NO_ERRORS
    return {str(code): meanings[code].partition("\n")[0] for code in sorted(meanings)}


def _entries(texts: Mapping[str, str]) -> str:
    return "\n".join(f".TP\n.B {_escaped(k)}\n{_escaped(text)}" for k, text in texts.items())


def _escaped(text: str) -> str:
    return text.replace("\\", r"\e").replace("-", r"\-")
