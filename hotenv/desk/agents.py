"""What well-known agents need, and what no agent needs to read. Pure."""

from __future__ import annotations

SETTINGS: dict[str, tuple[str, ...]] = {
    "aider": (".aider",),
    "claude": (".claude",),
    "codex": (".codex",),
    "copilot": (".copilot",),
    "crush": (".config/crush", ".local/share/crush"),
    "gemini": (".gemini",),
    "goose": (".config/goose", ".local/share/goose", ".local/state/goose"),
    "opencode": (".config/opencode", ".local/share/opencode", ".local/state/opencode"),
    "qwen": (".qwen",),
}
"""By the name of the program: directories in the home that it has to write."""

ENVIRONMENT: dict[str, dict[str, str]] = {
    # Its other file lies in the home itself, where nothing can be replaced, and its temporary files
    # in /tmp, whatever TMPDIR is.
    "claude": {"CLAUDE_CONFIG_DIR": ".claude", "CLAUDE_CODE_TMPDIR": ".claude/tmp"},
}
"""Variables that name a directory in the home, for agents that would write elsewhere."""


CREDENTIALS = (
    *(".ssh", ".gnupg", ".password-store", ".netrc", ".vault-token", ".git-credentials"),
    *(".aws", ".azure", ".kube", ".docker/config.json", ".config/gcloud", ".config/gh"),
    *(".config/op", ".config/sops", ".config/age", ".config/git/credentials"),
    *(".pgpass", ".my.cnf", ".pypirc", ".terraform.d/credentials.tfrc.json"),
    ".config/containers/auth.json",
)
"""Files and directories in the home: with what is in them, an agent could ask where the values come
from."""


def settings_of(name: str) -> tuple[str, ...]:
    """The directories of the agent whose program is called ``name``."""
    return SETTINGS.get(name.rpartition("/")[2], ())


def environment_of(name: str) -> dict[str, str]:
    """The variables that it gets."""
    return ENVIRONMENT.get(name.rpartition("/")[2], {})
