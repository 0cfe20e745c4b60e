"""Facts about a package from the index, for the decision whether to rely on it."""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Any

import httpx
from anyio import to_thread
from packaging.tags import Tag
from packaging.utils import InvalidSdistFilename, canonicalize_name, parse_sdist_filename
from packaging.version import InvalidVersion, Version

from alita_mcp.errors import UsageError
from alita_mcp.research.index.look_alikes import disguise_of, look_alike_of
from alita_mcp.research.index.wheels import fits, linux_tags, tags_of
from alita_mcp.research.json_api import Endpoint, JsonApi, endpoint, open_client
from alita_mcp.research.texts import day, one_line, web_url
from alita_mcp.research.values import PackageFacts
from alita_mcp.sandbox.packages.package_index import package_index
from alita_mcp.settings import Settings
from alita_mcp.values import Value

MAX_BYTES = 8_000_000
"""Projects with thousands of files have some megabytes."""
_SIMPLE = "application/vnd.pypi.simple.v1+json"
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_MAX_FILES = 20_000
_HOME_LINKS = ("documentation", "docs", "homepage", "home", "source", "repository")
_SLEEPS_AFTER = timedelta(days=4 * 365)
_ESTABLISHED_AFTER = timedelta(days=2 * 365)
_ESTABLISHED_RELEASES = 10
Python = tuple[int, int]
_USUAL: Python = (3, 13)


class ProjectFile(Value):
    """One file of one release."""

    version: str
    filename: str
    uploaded: str = ""
    """ISO 8601 date; empty where the index says none."""
    is_yanked: bool = False
    requires_python: str = ""


Releases = dict[Version, list[ProjectFile]]


class Project(Value):
    """A project as an index describes it; all texts are a stranger's, in one line each."""

    name: str
    url: str
    summary: str = ""
    licence: str = ""
    home: str = ""
    """Its documentation or home page."""
    files: tuple[ProjectFile, ...] = ()
    warnings: tuple[str, ...] = ()
    """What the index itself says against it."""

    def by_version(self) -> Releases:
        """The project's files by version, newest first."""
        found: Releases = {}
        for file in self.files:
            found.setdefault(Version(file.version), []).append(file)
        return dict(sorted(found.items(), reverse=True))


def newest(releases: Releases) -> Version | None:
    """The newest version that installers would take: no pre-release, and not withdrawn where another one is not."""
    stable = [version for version in releases if not version.is_prerelease]
    kept = [version for version in stable if not all(file.is_yanked for file in releases[version])]
    return max(kept or stable, default=None)


def release_date(files: Sequence[ProjectFile]) -> str:
    """The ISO 8601 date of a release: that of its first file; empty where the index says none."""
    return min((file.uploaded for file in files if file.uploaded), default="")


def index_endpoint(settings: Settings) -> Endpoint:
    """The index that the settings name, or the default one.

    Raises:
        UsageError: the URL is none of HTTP or HTTPS.
    """
    found = endpoint("package_index", package_index(settings).url, setting="ALITA_PACKAGE_INDEX")
    return found.model_copy(update={"max_bytes": MAX_BYTES})


def project_name(name: str) -> str:
    """The normalised name of a project; empty for an invalid name."""
    return canonicalize_name(name) if _NAME.fullmatch(name) else ""


class ProjectReader:
    """Reader of projects: their files by PEP 691, and licence and warnings by the index's own JSON where it has one."""

    def __init__(self, client: httpx.AsyncClient, at: Endpoint, *, has_pages: bool) -> None:
        """`has_pages`: the index is the default one, which has a page for people at `/project/NAME/`."""
        root = at.base_url.removesuffix("/simple")
        self._path = at.base_url[len(root) :]
        self._api = JsonApi(client, at.model_copy(update={"base_url": root}))
        self._has_pages = has_pages
        self.place = at.place
        """`host:port` of the index."""

    async def read(self, name: str) -> Project | None:
        """The project of a name as `project_name` gives it; None where the index has none.

        Raises:
            UsageError: the index did not answer, refused, or answered something else.
        """
        details: Any = None
        refused: UsageError | None = None
        if self._path:
            try:
                details = await self._api.find(f"/pypi/{name}/json")
                if details is None and self._has_pages:
                    return None
            except UsageError as failed:
                refused = failed
        try:
            simple = await self._api.find(f"{self._path}/{name}/", accept=_SIMPLE)
        except UsageError as failed:
            if details is None:
                raise refused or failed from failed
            simple = None
        if simple is None and details is None:
            return None
        page = f"/project/{name}/" if self._has_pages else f"{self._path}/{name}/"
        return await to_thread.run_sync(_project, name, f"{self._api.base_url}{page}", simple, details)


def _project(name: str, url: str, simple: Any, details: Any) -> Project:
    """A project of either reply, of any shape; the files of the newest release alone where `simple` has none."""
    info: Any = details.get("info") if isinstance(details, dict) else None
    is_described = isinstance(info, dict) and canonicalize_name(str(info.get("name"))) == name
    rows = _objects(simple.get("files")) if isinstance(simple, dict) else []
    if not is_described:
        if details is not None or not isinstance(simple, dict) or not isinstance(simple.get("files"), list):
            raise UsageError("package_index answered with JSON of another shape.")
        info = {}
    files = [(_version_in(row.get("filename")), row, row.get("upload-time")) for row in rows]
    if not any(version for version, _, _ in files) and is_described:
        newest_files = _objects(details.get("urls"))
        files = [(info.get("version"), row, row.get("upload_time_iso_8601")) for row in newest_files]
    classifiers = info.get("classifiers") if isinstance(info.get("classifiers"), list) else []
    classifiers = [text for text in classifiers if isinstance(text, str)]
    reported = _objects(details.get("vulnerabilities")) if is_described else []
    known = [one_line(each.get("id"), 30) for each in reported if not each.get("withdrawn")]
    status = simple.get("project-status") if isinstance(simple, dict) else None
    state = status.get("status") if isinstance(status, dict) else None
    warnings = {
        f"Its newest release has known vulnerabilities: {', '.join(known[:3])}.": known,
        "Its authors call it inactive.": "Development Status :: 7 - Inactive" in classifiers,
        f"The index calls it {state}.": state in ("archived", "quarantined", "deprecated"),
    }
    licences = ", ".join(text.rpartition(" :: ")[2] for text in classifiers if text.startswith("License ::"))
    labelled = info.get("project_urls")
    links = (
        {str(label).lower(): link for label, link in labelled.items()} if isinstance(labelled, dict) else {}
    )
    homes = [*(links.get(label) for label in _HOME_LINKS), info.get("home_page")]
    return Project(
        name=name,
        url=url,
        summary=one_line(info.get("summary"), 300),
        licence=one_line(info.get("license_expression"), 100)
        or one_line(licences, 100)
        or one_line(info.get("license"), 60),
        home=next((home for home in map(web_url, homes) if home), ""),
        files=tuple(
            ProjectFile(
                version=version,
                filename=one_line(row.get("filename"), 300),
                uploaded=day(uploaded),
                is_yanked=bool(row.get("yanked")),
                requires_python=one_line(row.get("requires-python") or row.get("requires_python"), 200),
            )
            for version, row, uploaded in files[:_MAX_FILES]
            if one_line(row.get("filename"), 300) and _is_version(version)
        ),
        warnings=tuple(text for text, holds in warnings.items() if holds),
    )


def _is_version(text: Any) -> bool:
    try:
        return isinstance(text, str) and len(text) <= 100 and bool(Version(text))
    except InvalidVersion:
        return False


def _version_in(filename: Any) -> str:
    """The version in the name of a wheel or a source archive; empty for other files."""
    if str(filename).endswith(".whl"):
        return str(filename).partition("-")[2].partition("-")[0]
    try:
        return str(parse_sdist_filename(str(filename))[1])
    except (InvalidSdistFilename, InvalidVersion):
        return ""


def _objects(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


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
        UsageError: the settings name something else than an index.
    """
    at, is_named = index_endpoint(settings), bool(settings.package_index)
    async with open_client([at] if is_named else ()) as client:
        yield ProjectReader(client, at, has_pages=not is_named)
