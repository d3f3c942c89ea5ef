"""Makes what the package has from its parser, when it is built: completions and manual page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface[Any]):
    """Writes the files into the source tree, where pyproject.toml picks them up.

    There, and not into the wheel alone: an editable installation has them as well.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before an archive of any kind is built."""
        root = Path(self.root)
        sys.path[:0] = [str(root), str(root / "scripts")]
        from completions import completion_script
        from hotenv.arguments import SHELLS, build_parser
        from manpage import manual_page

        folder = root / "hotenv" / "completions"
        folder.mkdir(exist_ok=True)
        for shell in SHELLS:
            (folder / f"hotenv.{shell}").write_text(completion_script(build_parser(), shell))
        (root / "hotenv.1").write_text(manual_page(build_parser()))
