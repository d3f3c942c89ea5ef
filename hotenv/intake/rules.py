"""How a dotenv text is to be read. Pure, and without attrs: the process that serves has it too."""

from __future__ import annotations


class Rules:
    """What the user chose.

    ``interpolate``: ``${NAME}`` in a value is replaced. ``prompt``: a value that begins with ``?``
    is a question. ``strict``: what is a warning otherwise is an error, and so is a name given
    twice.
    """

    def __init__(
        self, *, interpolate: bool = True, prompt: bool = False, strict: bool = False
    ) -> None:
        self.interpolate = interpolate
        self.prompt = prompt
        self.strict = strict
