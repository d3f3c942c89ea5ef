"""Makes completions, manual pages and the program that starts hotenv, when it is built."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface[Any]):
    """Writes completions and manual pages into the source tree, where pyproject.toml picks them up.

    There, and not into the wheel alone: an editable installation has them as well. The launcher
    goes into the wheel alone.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before an archive of any kind is built."""
        root = Path(self.root)
        sys.path[:0] = [str(root), str(root / "scripts")]
        from completions import completion_script
        from hotenv.cli.commandline import build_parser
        from hotenv.cli.completion import SHELLS
        from hotenv.cli.help import topics
        from manpage import manual_page, topic_page

        directory = root / "hotenv" / "completions"
        directory.mkdir(exist_ok=True)
        for shell in SHELLS:
            (directory / f"hotenv.{shell}").write_text(completion_script(build_parser(), shell))
        pages = {"man1/hotenv.1": manual_page(build_parser())}
        pages |= {f"man7/hotenv-{topic}.7": topic_page(topic) for topic in topics()}
        shutil.rmtree(root / "man", ignore_errors=True)  # there may be one of a former topic
        for name, page in pages.items():
            path = root / "man" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(page)
        if self.target_name == "wheel":
            self._add_launcher(root / "scripts", build_data)

    def _add_launcher(self, sources: Path, build_data: dict[str, Any]) -> None:
        """Compiled where that is possible, which ties the wheel to this platform."""
        self._built = tempfile.mkdtemp()
        launcher = os.path.join(self._built, "hotenv")
        if sys.platform == "linux" and _compile(sources / "launcher.c", launcher):
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["tag"] = f"py3-none-{platform}"
        else:
            launcher = str(sources / "launcher.sh")
        build_data["shared_scripts"][launcher] = "hotenv"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called when it has been built."""
        if self.target_name == "wheel":
            shutil.rmtree(self._built)


def _compile(source: Path, program: str) -> bool:
    """Whether there is a compiler that makes ``program`` of ``source``; $CC may name one."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    try:
        subprocess.run(  # noqa: S603 - what is compiled is ours
            [*compiler, "-O2", "-s", "-o", program, source], check=True, capture_output=True
        )
    except (OSError, subprocess.CalledProcessError):
        return False
    return True
