"""`alita.toml` in the home: settings by their names, below the environment."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from alita_mcp.errors import UsageError
from alita_mcp.private_files import read_private_file, write_whole

SETTINGS_FILE = "alita.toml"
"""Below the home."""


def read_settings_file(home: Path) -> dict[str, Any]:
    """The values of the file by name, as TOML has them; none where there is no file.

    Raises:
        UsageError: it is not TOML, or cannot be relied on (`read_private_file`); the message names the line.
    """
    path = home / SETTINGS_FILE
    text = read_private_file(path) or ""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as broken:
        problem = "it is nested too deeply" if isinstance(broken, RecursionError) else broken
        raise UsageError(
            f"{path} is not valid TOML: {problem}.",
            hint='Fix the line: each one is `name = "value"`, as in docs/settings.md.',
        ) from None


def change_settings_file(home: Path, changes: Mapping[str, str | None]) -> Path:
    """Sets values in the file, or removes those that are None; all else in it stays as it is, comments too.

    Raises:
        UsageError: as `read_settings_file`; nothing was written.
        OSError: the disk refuses; the file is as before.
    """
    import tomlkit

    path = home / SETTINGS_FILE
    read_settings_file(home)
    text = read_private_file(path)
    if text is None:
        text = (
            "# Settings of alita; a variable ALITA_NAME goes before them. docs/settings.md lists them all.\n"
        )
    document = tomlkit.parse(text)
    for name, value in changes.items():
        if value is None:
            document.pop(name, None)
        else:
            document[name] = value
    written = tomlkit.dumps(document)
    if written != text or not path.exists():
        write_whole(path, written.encode(), is_private=True)
    return path
