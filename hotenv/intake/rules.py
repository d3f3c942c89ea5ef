"""How the texts are to be read. Pure, and without attrs: the process that serves has it too."""

from __future__ import annotations

FORMATS = ("dotenv", "json", "docker", "null")
"""The names in ``formats``, which the process that serves does not load."""


class Rules:
    """What the user chose.

    ``interpolate``: ``${NAME}`` in a value is replaced. ``prompt``: a value that begins with ``?``
    is a question. ``strict``: what is a warning otherwise is an error, and so is a name given
    twice in one text. ``survey``: nothing is asked or served, but listed.
    """

    def __init__(
        self,
        *,
        interpolate: bool = True,
        prompt: bool = False,
        strict: bool = False,
        survey: bool = False,
    ) -> None:
        self.interpolate = interpolate
        self.prompt = prompt
        self.strict = strict
        self.survey = survey
