"""Releases of a project, and the one that installers would choose."""

from __future__ import annotations

from collections.abc import Sequence

from packaging.version import Version

from alita_mcp.research.index.projects import ProjectFile

Releases = dict[Version, list[ProjectFile]]


def newest(releases: Releases) -> Version | None:
    """The newest version that installers would take: no pre-release, and not withdrawn where another one is not."""
    stable = [version for version in releases if not version.is_prerelease]
    kept = [version for version in stable if not all(file.is_yanked for file in releases[version])]
    return max(kept or stable, default=None)


def released(files: Sequence[ProjectFile]) -> str:
    """The ISO 8601 date of a release: that of its first file; empty where the index says none."""
    return min((file.uploaded for file in files if file.uploaded), default="")
