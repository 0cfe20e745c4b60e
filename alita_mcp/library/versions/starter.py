"""Starter tools that every new library begins with, in a checkout or an installed package."""

from __future__ import annotations

from pathlib import Path

import alita_mcp

PACKAGE = Path(alita_mcp.__file__).parent
FOUND_BY_SEARCH = frozenset({"business_days", "csv_query", "csv_to_records"})
"""Starter tools that are listed only once they are used or pinned, so that a new library's list weighs little."""


def starter_tools_folder(package: Path = PACKAGE) -> Path | None:
    """The folder `<name>/v<k>/…` of the starter tools, if the installed `package` has one."""
    installed = package / "starter_tools"
    if installed.is_dir():
        return installed
    checkout = package.parent
    folder = checkout / "generated_tools"
    return folder if folder.is_dir() and (checkout / "pyproject.toml").is_file() else None
