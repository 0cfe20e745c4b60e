"""Facts about a package from the index, for the decision whether to rely on it."""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

import httpx
from anyio import to_thread
from packaging.utils import InvalidSdistFilename, canonicalize_name, parse_sdist_filename
from packaging.version import InvalidVersion, Version

from alita_mcp.errors import UsageError
from alita_mcp.research.http_client import open_http_client
from alita_mcp.research.index.look_alikes import disguise_of, look_alike_of
from alita_mcp.research.index.wheels import is_compatible, parse_python_tag
from alita_mcp.research.json_api import Endpoint, JsonApi, endpoint
from alita_mcp.research.texts import iso_date, one_line
from alita_mcp.research.values import PackageFacts
from alita_mcp.sandbox.packages.package_index import package_index
from alita_mcp.settings import Settings

MAX_BYTES = 8_000_000
"""Projects with thousands of files have some megabytes."""
_SIMPLE = "application/vnd.pypi.simple.v1+json"
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_MAX_FILES = 20_000
_INACTIVE_AFTER = timedelta(days=4 * 365)
_ESTABLISHED_AFTER = timedelta(days=2 * 365)
_ESTABLISHED_RELEASES = 10


class Release(NamedTuple):
    """One release of a project."""

    version: Version
    date: str
    """ISO 8601 date of its first file; empty where the index sends none."""
    is_yanked: bool
    files: dict[str, str]
    """Names of its files that are not yanked, unless all are, each with the Python that it requires."""


class Project(NamedTuple):
    """A project as an index describes it; all texts are untrusted, in one line each."""

    name: str
    url: str
    summary: str
    licence: str
    warnings: list[str]
    """What the index itself says against it."""
    releases: list[Release]
    """The newest first."""

    @property
    def newest(self) -> Release | None:
        """The release that installers would take: no pre-release, and not yanked where another one is not."""
        stable = [release for release in self.releases if not release.version.is_prerelease]
        kept = [release for release in stable if not release.is_yanked]
        return next(iter(kept or stable), None)


def project_name(name: str) -> str:
    """The normalised name of a project; empty for an invalid name."""
    return canonicalize_name(name) if _NAME.fullmatch(name) else ""


def index_endpoint(settings: Settings) -> Endpoint:
    """The index that the settings name, or the default one.

    Raises:
        UsageError: the URL is not http(s).
    """
    found = endpoint("package_index", package_index(settings).url, setting="ALITA_PACKAGE_INDEX")
    return found.model_copy(update={"max_bytes": MAX_BYTES})


def today() -> date:
    """The date in UTC."""
    return datetime.now(UTC).date()


class PackageIndex:
    """Client of an index: files of projects by PEP 691, licence and warnings by its own JSON where it has one."""

    def __init__(
        self, client: httpx.AsyncClient, at: Endpoint, *, has_pages: bool, now: Callable[[], date] = today
    ) -> None:
        """`has_pages`: the index is the default one, which has a page for people at `/project/NAME/`."""
        root = at.base_url.removesuffix("/simple")
        self._path = at.base_url[len(root) :]
        self._api = JsonApi(client, at.model_copy(update={"base_url": root}))
        self._has_pages = has_pages
        self._now = now
        self.host_port = at.host_port

    async def read_project(self, name: str) -> Project | None:
        """The project of a name as `project_name` gives it; None where the index has none.

        Raises:
            UsageError: the index did not answer, refused, or sent something else.
        """
        # One of the two replies is enough: an index may have only the simple interface, or only its own JSON.
        details, problem = await self._find(f"/pypi/{name}/json") if self._path else (None, None)
        if details is None and problem is None and self._has_pages:
            return None
        simple, other_problem = await self._find(f"{self._path}/{name}/", accept=_SIMPLE)
        if details is None and other_problem is not None:
            raise problem or other_problem
        if details is None and simple is None:
            return None
        page = f"/project/{name}/" if self._has_pages else f"{self._path}/{name}/"
        url = f"{self._api.endpoint.base_url}{page}"
        return await to_thread.run_sync(_parse_project, name, url, simple, details)

    async def _find(self, path: str, **options: Any) -> tuple[Any, UsageError | None]:
        try:
            return await self._api.get(path, missing_ok=True, **options), None
        except UsageError as refused:
            return None, refused

    async def read_facts(self, name: str, python_tag: str = "") -> PackageFacts:
        """The index's facts about a package, for wheels that a Python of that tag takes; without one, on Linux here.

        Raises:
            UsageError: the index did not answer, refused, or sent something else.
        """
        normalised, shown = project_name(name), one_line(name, 100)
        problems = []
        if normalised.replace("-", "_") in sys.stdlib_module_names:
            problems.append(f"{normalised!r} is a module of Python's standard library; it needs no package.")
        alike = "" if problems else look_alike_of(name)
        project = await self.read_project(normalised) if normalised else None
        if project is not None:
            return await to_thread.run_sync(self._judge, project, python_tag, alike, problems)
        why = f"The index has no package {shown!r}." if normalised else f"{shown!r} is not a package name."
        problems.append(f"{why} Did you mean {alike!r}?" if alike else why)
        name = normalised or shown
        return PackageFacts(name=name, exists=False, looks_like=alike, problems=tuple(problems))

    def _judge(self, project: Project, python_tag: str, alike: str, problems: list[str]) -> PackageFacts:
        python, tags = parse_python_tag(python_tag)

        def has_wheel(release: Release) -> bool:
            return any(is_compatible(name, wanted, python, tags) for name, wanted in release.files.items())

        newest, releases = project.newest, project.releases
        dates = sorted(release.date for release in releases if release.date)
        # A package that has been there long, with many releases, imitates nobody, unless its name looks the same.
        is_old = bool(dates) and date.fromisoformat(dates[0]) < self._now() - _ESTABLISHED_AFTER
        if is_old and len(releases) >= _ESTABLISHED_RELEASES and not disguise_of(project.name):
            alike = ""
        if alike:
            problems.append(f"The name resembles that of {alike!r}, a well-known package.")
        if newest is None:
            only = (
                f"It has only pre-releases, up to {releases[0].version}." if releases else "It has no files."
            )
            problems.append(only)
        elif newest.is_yanked:
            problems.append(f"Its authors withdrew (yanked) version {newest.version}.")
        if newest is not None and not has_wheel(newest):
            stable = (each for each in releases if not each.version.is_prerelease and not each.is_yanked)
            older = next(filter(has_wheel, stable), None)
            advice = f"; {older.version} has one." if older else ", nor has an older one."
            sandbox = f"the sandbox's Python {python[0]}.{python[1]}"
            problems.append(f"Version {newest.version} has no wheel for {sandbox}{advice}")
        if dates and date.fromisoformat(dates[-1]) < self._now() - _INACTIVE_AFTER:
            problems.append(f"Its last release was on {dates[-1]}, more than four years ago.")
        return PackageFacts(
            name=project.name,
            exists=True,
            version=str(newest.version) if newest else "",
            released_at=newest.date if newest else "",
            licence=project.licence,
            summary=project.summary,
            has_wheel=newest is not None and has_wheel(newest),
            is_yanked=newest is not None and newest.is_yanked,
            looks_like=alike,
            problems=(*problems, *project.warnings),
            url=project.url,
        )


def _parse_project(name: str, url: str, simple: Any, details: Any) -> Project:
    """A project from either reply, whatever their shape; only the newest release's files where `simple` has none."""
    info = details.get("info") if isinstance(details, dict) else None
    releases = list(_parse_releases(_objects(simple, "files")))
    if isinstance(info, dict) and canonicalize_name(str(info.get("name"))) == name:
        urls = [{**row, "version": info.get("version")} for row in _objects(details, "urls")]
        releases = releases or list(_parse_releases(urls))
    elif details is not None or not isinstance(simple, dict) or not isinstance(simple.get("files"), list):
        raise UsageError("package_index sent JSON of another shape.")
    else:
        info = {}
    classifiers = info.get("classifiers")
    classifiers = (
        [each for each in classifiers if isinstance(each, str)] if isinstance(classifiers, list) else []
    )
    licences = [each.rpartition(" :: ")[2] for each in classifiers if each.startswith("License ::")]
    licence_texts = (info.get("license_expression"), ", ".join(licences), info.get("license"))
    reported = [each for each in _objects(details, "vulnerabilities") if not each.get("withdrawn")]
    known = ", ".join(one_line(each.get("id"), 30) for each in reported[:3])
    status = simple.get("project-status") if isinstance(simple, dict) else None
    state = status.get("status") if isinstance(status, dict) else None
    warnings = {
        f"Its newest release has known vulnerabilities: {known}.": known,
        "Its authors call it inactive.": "Development Status :: 7 - Inactive" in classifiers,
        f"The index calls it {state}.": state in ("archived", "quarantined", "deprecated"),
    }
    return Project(
        name=name,
        url=url,
        summary=one_line(info.get("summary"), 300),
        licence=next(filter(None, (one_line(text, 60) for text in licence_texts)), ""),
        warnings=[text for text, holds in warnings.items() if holds],
        releases=sorted(releases, reverse=True),
    )


def _parse_releases(rows: list[dict[str, Any]]) -> Iterator[Release]:
    """The releases that the rows of files belong to; rows without a version are left out."""
    by_version: dict[Version, list[dict[str, Any]]] = {}
    for row in rows[:_MAX_FILES]:
        name, version = row.get("filename"), row.get("version")
        if not isinstance(name, str):
            continue
        try:
            if version is None:
                version = name.split("-")[1] if name.endswith(".whl") else parse_sdist_filename(name)[1]
            by_version.setdefault(Version(str(version)[:100]), []).append(row)
        except (InvalidSdistFilename, InvalidVersion, IndexError):
            continue
    for version, files in by_version.items():
        dates = [iso_date(row.get("upload-time") or row.get("upload_time_iso_8601")) for row in files]
        kept = [row for row in files if not row.get("yanked")]
        wanted = {
            one_line(row["filename"], 300): one_line(
                row.get("requires-python") or row.get("requires_python"), 200
            )
            for row in kept or files
        }
        yield Release(version, min(filter(None, dates), default=""), not kept, wanted)


def _objects(reply: Any, field: str) -> list[dict[str, Any]]:
    """The objects in a list of a reply; none where it has another shape."""
    found = reply.get(field) if isinstance(reply, dict) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


@asynccontextmanager
async def open_package_index(settings: Settings) -> AsyncIterator[PackageIndex]:
    """The index that the settings name, or the default one; a named one may be at a private address.

    Raises:
        UsageError: the settings name something that is not an index.
    """
    at, is_named = index_endpoint(settings), bool(settings.package_index)
    async with open_http_client([at.host_port] if is_named else ()) as client:
        yield PackageIndex(client, at, has_pages=not is_named)
