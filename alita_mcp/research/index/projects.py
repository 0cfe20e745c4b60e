"""Reader of one project of a package index."""

from __future__ import annotations

import re
import ssl
from collections.abc import Sequence
from typing import Any

import httpx
from anyio import to_thread
from packaging.utils import InvalidSdistFilename, canonicalize_name, parse_sdist_filename
from packaging.version import InvalidVersion, Version

from alita_mcp.errors import UsageError
from alita_mcp.research.json_api import Endpoint, JsonApi, endpoint
from alita_mcp.research.texts import day, one_line, web_url
from alita_mcp.sandbox.packages.package_index import package_index, trusted_authorities
from alita_mcp.settings import Settings
from alita_mcp.values import Value

MAX_BYTES = 8_000_000
"""Projects with thousands of files have some megabytes."""
_SIMPLE = "application/vnd.pypi.simple.v1+json"
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_MAX_FILES = 20_000
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


def index_authorities(settings: Settings) -> ssl.SSLContext | None:
    """The certificate authorities that the settings name for the index; None: the usual ones.

    Raises:
        UsageError: the file cannot be read, or holds no certificates.
    """
    if settings.package_index_ca is None:
        return None
    try:
        return ssl.create_default_context(cadata=trusted_authorities(settings).decode("ascii", "replace"))
    except (ssl.SSLError, ValueError) as broken:
        raise UsageError("ALITA_PACKAGE_INDEX_CA holds no certificates in PEM form.") from broken


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
