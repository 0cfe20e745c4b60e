"""Facts about a package from the index, for the decision whether to rely on it."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, timedelta

from anyio import to_thread
from packaging.tags import Tag

from alita_mcp.research.index.look_alikes import disguise_of, look_alike_of
from alita_mcp.research.index.projects import (
    Project,
    ProjectFile,
    ProjectReader,
    Releases,
    index_authorities,
    index_endpoint,
    newest,
    project_name,
    release_date,
)
from alita_mcp.research.index.wheels import fits, linux_tags, tags_of
from alita_mcp.research.json_api import open_client
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
        module = filed.replace("-", "_")
        is_standard = module in sys.stdlib_module_names
        problems = [
            f"{module!r} is a module of Python's standard library; it needs no package."
        ] * is_standard
        alike = "" if is_standard else look_alike_of(name)
        meant = f" {alike!r} may be meant." if alike else ""
        if not filed:
            problems = [f"{shown!r} is no name of a package.{meant}"]
            return PackageFacts(name=shown, exists=False, looks_like=alike, problems=tuple(problems))
        project = await self._reader.read(filed)
        if project is None:
            problems.append(f"The index has no package {filed!r}.{meant}")
            return PackageFacts(name=filed, exists=False, looks_like=alike, problems=tuple(problems))
        try:
            python, tags = tags_of(python_tag)
        except ValueError:
            python, tags = _USUAL, linux_tags(_USUAL)
        return await to_thread.run_sync(self._judge, project, python, tags, alike, problems)

    def _judge(
        self, project: Project, python: Python, tags: frozenset[Tag], alike: str, problems: list[str]
    ) -> PackageFacts:
        releases = project.by_version()
        if alike and not disguise_of(project.name) and self._is_established(releases):
            alike = ""
        latest = newest(releases)
        files = releases[latest] if latest else []
        has_wheel = _has_wheel(files, python, tags)
        is_yanked = bool(files) and all(file.is_yanked for file in files)
        if alike:
            problems.append(f"The name resembles that of {alike!r}, a well-known package.")
        if latest is None:
            only = f"It has only pre-releases, up to {next(iter(releases), '')}."
            problems.append(only if releases else "It has no files.")
        elif is_yanked:
            problems.append(f"Its authors withdrew (yanked) version {latest}.")
        if latest is not None and not has_wheel:
            older = (
                version
                for version, candidates in releases.items()
                if not version.is_prerelease
                and _has_wheel([file for file in candidates if not file.is_yanked], python, tags)
            )
            usable = next(older, None)
            advice = f"; {usable} has one." if usable else ", nor has an older one."
            sandbox = f"the sandbox's Python {python[0]}.{python[1]}"
            problems.append(f"Version {latest} has no wheel for {sandbox}{advice}")
        last = max(map(release_date, releases.values()), default="")
        if last and date.fromisoformat(last) < self._now() - _SLEEPS_AFTER:
            problems.append(f"Its last release is of {last}, more than four years ago.")
        return PackageFacts(
            name=project.name,
            exists=True,
            version=str(latest or ""),
            released_at=release_date(files),
            licence=project.licence,
            summary=project.summary,
            has_wheel=has_wheel,
            is_yanked=is_yanked,
            looks_like=alike,
            problems=(*problems, *project.warnings),
            url=project.url,
        )

    def _is_established(self, releases: Releases) -> bool:
        """Whether it has been there long, with many releases, as what imitates others has not."""
        first = min((day for files in releases.values() if (day := release_date(files))), default="")
        is_old = bool(first) and date.fromisoformat(first) < self._now() - _ESTABLISHED_AFTER
        return is_old and len(releases) >= _ESTABLISHED_RELEASES


def _has_wheel(files: Sequence[ProjectFile], python: Python, tags: frozenset[Tag]) -> bool:
    return any(fits(file.filename, file.requires_python, python, tags) for file in files)


@asynccontextmanager
async def open_project_reader(settings: Settings) -> AsyncIterator[ProjectReader]:
    """A reader of the index that the settings name, or of the default one; a named one may be at a private address.

    Raises:
        UsageError: the settings name no index, or authorities that cannot be read.
    """
    at, is_named = index_endpoint(settings), bool(settings.package_index)
    authorities = index_authorities(settings)
    async with open_client([at] if is_named else (), authorities=authorities) as client:
        yield ProjectReader(client, at, has_pages=not is_named)
