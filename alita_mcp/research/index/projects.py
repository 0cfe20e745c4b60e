"""Reader of one project of a package index, from either of the index's JSON formats."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import httpx
from anyio import to_thread
from packaging.utils import InvalidSdistFilename, canonicalize_name, parse_sdist_filename
from packaging.version import InvalidVersion, Version

from alita_mcp.errors import UsageError
from alita_mcp.research.replies import Endpoint, JsonApi, endpoint
from alita_mcp.research.texts import day, one_line, web_url
from alita_mcp.sandbox.packages.package_index import package_index
from alita_mcp.settings import Settings
from alita_mcp.values import Value

MAX_BYTES = 8_000_000
"""Projects with thousands of files have some megabytes."""
_SIMPLE = "application/vnd.pypi.simple.v1+json"
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_MOST_FILES = 20_000
_HOME_LINKS = ("documentation", "docs", "homepage", "home", "source", "repository")


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


def released(files: Sequence[ProjectFile]) -> str:
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
    """Reader of projects: by the default index's JSON, or by PEP 691's, which has no licences."""

    def __init__(self, client: httpx.AsyncClient, at: Endpoint, *, has_pages: bool) -> None:
        """`has_pages`: the index is the default one, which has a page for people at `/project/NAME/`."""
        root = at.base_url.removesuffix("/simple")
        self._path = at.base_url[len(root) :]
        self._api = JsonApi(client, at.model_copy(update={"base_url": root}))
        self._has_json = bool(self._path)
        self._has_pages = has_pages
        self.place = at.place
        """`host:port` of the index."""

    async def read(self, name: str) -> Project | None:
        """The project of a name as `project_name` gives it; None where the index has none.

        Raises:
            UsageError: the index did not answer, refused, or answered something else.
        """
        refused: UsageError | None = None
        if self._has_json:
            try:
                reply = await self._api.find(f"/pypi/{name}/json")
            except UsageError as failed:
                reply, refused = None, failed
            if reply is not None:
                project = await to_thread.run_sync(_of_json, name, self._page(name), reply)
                return project if reply.get("releases") else await self._with_all_files(project)
            if self._has_pages and refused is None:
                return None
        try:
            return await self._simple(name)
        except UsageError as failed:
            raise refused or failed from failed

    async def _simple(self, name: str) -> Project | None:
        reply = await self._api.find(f"{self._path}/{name}/", accept=_SIMPLE)
        if reply is None:
            return None
        return await to_thread.run_sync(_of_simple, name, self._page(name), reply)

    async def _with_all_files(self, project: Project) -> Project:
        """The files of all releases, which the own JSON may leave out; else those of the newest."""
        try:
            simple = await self._simple(project.name)
        except UsageError:
            simple = None
        if simple is None or not simple.files:
            return project
        warnings = (*project.warnings, *simple.warnings)
        return project.model_copy(update={"files": simple.files, "warnings": warnings})

    def _page(self, name: str) -> str:
        return self._api.base_url + (f"/project/{name}/" if self._has_pages else f"{self._path}/{name}/")


def _of_json(name: str, url: str, reply: Any) -> Project:
    told = reply.get("info") if isinstance(reply, dict) else None
    if not isinstance(told, dict) or canonicalize_name(str(told.get("name"))) != name:
        raise UsageError("package_index answered with JSON of another shape.")
    releases = reply.get("releases")
    if not isinstance(releases, dict) or not releases:
        releases = {told.get("version"): reply.get("urls")}
    dated = ("upload_time_iso_8601", "requires_python")
    rows = ((version, row, *dated) for version, files in releases.items() for row in _rows(files))
    classifiers = [text for text in _list(told.get("classifiers")) if isinstance(text, str)]
    reported = _rows(reply.get("vulnerabilities"))
    known = [one_line(each.get("id"), 30) for each in reported if not each.get("withdrawn")]
    warnings = [f"Its newest release has known vulnerabilities: {', '.join(known[:3])}."] if known else []
    if "Development Status :: 7 - Inactive" in classifiers:
        warnings.append("Its authors call it inactive.")
    return Project(
        name=name,
        url=url,
        summary=one_line(told.get("summary"), 300),
        licence=_licence(told, classifiers),
        home=_home(told),
        files=tuple(_files(rows)),
        warnings=tuple(warnings),
    )


def _of_simple(name: str, url: str, reply: Any) -> Project:
    if not isinstance(reply, dict) or not isinstance(reply.get("files"), list):
        raise UsageError("package_index answered with JSON of another shape.")
    status = reply.get("project-status")
    state = status.get("status") if isinstance(status, dict) else None
    warnings = (f"The index calls it {state}.",) if state in ("archived", "quarantined", "deprecated") else ()
    dated = ("upload-time", "requires-python")
    rows = ((_version_in(row.get("filename")), row, *dated) for row in _rows(reply["files"]))
    return Project(name=name, url=url, files=tuple(_files(rows)), warnings=warnings)


def _files(rows: Iterable[tuple[Any, dict[str, Any], str, str]]) -> Iterable[ProjectFile]:
    for version, row, uploaded, requires in islice(rows, _MOST_FILES):
        filename = one_line(row.get("filename"), 300)
        if not filename or not _is_version(version):
            continue
        yield ProjectFile(
            version=version,
            filename=filename,
            uploaded=day(row.get(uploaded)),
            is_yanked=bool(row.get("yanked")),
            requires_python=one_line(row.get(requires), 200),
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


def _rows(said: Any) -> list[dict[str, Any]]:
    return [row for row in _list(said) if isinstance(row, dict)]


def _list(said: Any) -> list[Any]:
    return said if isinstance(said, list) else []


def _licence(told: dict[str, Any], classifiers: list[str]) -> str:
    expression = one_line(told.get("license_expression"), 100)
    named = [text.rpartition(" :: ")[2] for text in classifiers if text.startswith("License ::")]
    return expression or one_line(", ".join(named), 100) or one_line(told.get("license"), 60)


def _home(told: dict[str, Any]) -> str:
    links = told.get("project_urls")
    by_label = {str(label).lower(): link for label, link in links.items()} if isinstance(links, dict) else {}
    wanted = [by_label.get(label) for label in _HOME_LINKS] + [told.get("home_page")]
    return next((url for url in map(web_url, wanted) if url), "")
