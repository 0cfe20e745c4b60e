"""Facts about a package from the index, for the decision whether to rely on it."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, timedelta

from anyio import to_thread
from packaging.tags import Tag
from packaging.version import Version

from alita_mcp.research.index.look_alikes import disguise_of, look_alike_of
from alita_mcp.research.index.projects import (
    Project,
    ProjectFile,
    ProjectReader,
    Releases,
    index_endpoint,
    newest,
    project_name,
    released,
)
from alita_mcp.research.index.wheels import fits, linux_tags, tags_of
from alita_mcp.research.replies import open_client
from alita_mcp.research.texts import one_line
from alita_mcp.research.values import PackageFacts
from alita_mcp.settings import Settings

_SLEEPS_AFTER = timedelta(days=4 * 365)
_ESTABLISHED_AFTER = timedelta(days=2 * 365)
_ESTABLISHED_RELEASES = 10
Python = tuple[int, int]
_USUAL: Python = (3, 13)


def today() -> date:
    """The date in UTC."""
    return datetime.now(UTC).date()


class PackageIndex:
    """Client of one package index."""

    def __init__(self, reader: ProjectReader, *, now: Callable[[], date] = today) -> None:
        self._reader = reader
        self._now = now

    async def facts(self, name: str, python_tag: str = "") -> PackageFacts:
        """The index's facts about a package, for wheels that a Python of that tag takes; without one, on Linux here.

        Raises:
            UsageError: the index did not answer, refused, or answered something else.
        """
        filed, shown = project_name(name), one_line(name, 100)
        own = _standard_library(filed)
        alike = "" if own else look_alike_of(name)
        meant = f" {alike!r} may be meant." if alike else ""
        if not filed:
            why = f"{shown!r} is no name of a package.{meant}"
            return PackageFacts(name=shown, exists=False, looks_like=alike, problems=(why,))
        project = await self._reader.read(filed)
        if project is None:
            problems = (*own, f"The index has no package {filed!r}.{meant}")
            return PackageFacts(name=filed, exists=False, looks_like=alike, problems=problems)
        return await to_thread.run_sync(self._judged, project, *_wheels_for(python_tag), alike, own)

    def _judged(
        self, project: Project, python: Python, tags: frozenset[Tag], alike: str, problems: Sequence[str]
    ) -> PackageFacts:
        releases = project.by_version()
        if alike and not disguise_of(project.name) and self._is_established(releases):
            alike = ""
        latest = newest(releases)
        files = releases[latest] if latest else []
        has_wheel = _has_wheel(files, python, tags)
        is_yanked = bool(files) and all(file.is_yanked for file in files)
        found = [*problems]
        if alike:
            found.append(f"The name resembles that of {alike!r}, a well-known package.")
        if latest is None:
            found.append(
                f"It has only pre-releases, up to {next(iter(releases))}." if releases else "It has no files."
            )
        elif is_yanked:
            found.append(f"Its authors withdrew (yanked) version {latest}.")
        if latest is not None and not has_wheel:
            found.append(_without_wheel(latest, releases, python, tags))
        return PackageFacts(
            name=project.name,
            exists=True,
            version=str(latest or ""),
            released_at=released(files),
            licence=project.licence,
            summary=project.summary,
            has_wheel=has_wheel,
            is_yanked=is_yanked,
            looks_like=alike,
            problems=(*found, *self._asleep(releases), *project.warnings),
            url=project.url,
        )

    def _is_established(self, releases: Releases) -> bool:
        """Whether it has been there long, with many releases, as what imitates others has not."""
        first = min((day for files in releases.values() if (day := released(files))), default="")
        is_old = bool(first) and date.fromisoformat(first) < self._now() - _ESTABLISHED_AFTER
        return is_old and len(releases) >= _ESTABLISHED_RELEASES

    def _asleep(self, releases: Releases) -> tuple[str, ...]:
        last = max(map(released, releases.values()), default="")
        if not last or date.fromisoformat(last) >= self._now() - _SLEEPS_AFTER:
            return ()
        return (f"Its last release is of {last}, more than four years ago.",)


def _standard_library(name: str) -> tuple[str, ...]:
    module = name.replace("-", "_")
    if module not in sys.stdlib_module_names:
        return ()
    return (f"{module!r} is a module of Python's standard library; it needs no package.",)


def _wheels_for(python_tag: str) -> tuple[Python, frozenset[Tag]]:
    try:
        return tags_of(python_tag)
    except ValueError:
        return _USUAL, linux_tags(_USUAL)


def _has_wheel(files: Sequence[ProjectFile], python: Python, tags: frozenset[Tag]) -> bool:
    return any(fits(file.filename, file.requires_python, python, tags) for file in files)


def _without_wheel(newest: Version, releases: Releases, python: Python, tags: frozenset[Tag]) -> str:
    lacking = f"Version {newest} has no wheel for the sandbox's Python {python[0]}.{python[1]}"
    for version, files in releases.items():
        usable = [file for file in files if not file.is_yanked]
        if not version.is_prerelease and _has_wheel(usable, python, tags):
            return f"{lacking}; {version} has one."
    return f"{lacking}, nor has an older one."


@asynccontextmanager
async def open_project_reader(settings: Settings) -> AsyncIterator[ProjectReader]:
    """A reader of the index that the settings name, or of the default one; a named one may be at a private address.

    Raises:
        UsageError: the settings name something else than an index.
    """
    at, is_named = index_endpoint(settings), bool(settings.package_index)
    async with open_client([at] if is_named else ()) as client:
        yield ProjectReader(client, at, has_pages=not is_named)
