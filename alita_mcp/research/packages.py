"""Facts about a package from the index, for the decision whether to rely on it."""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from packaging.utils import canonicalize_name

from alita_mcp.errors import UsageError
from alita_mcp.research.http_client import open_http_client
from alita_mcp.research.index.look_alikes import disguise_of, look_alike_of
from alita_mcp.research.json_api import JsonApi, endpoint
from alita_mcp.research.texts import iso_date, one_line
from alita_mcp.research.values import PackageFacts
from alita_mcp.sandbox.packages.package_index import package_index
from alita_mcp.settings import Settings

MAX_BYTES = 8_000_000
"""Projects with thousands of files have some megabytes."""
_SIMPLE = "application/vnd.pypi.simple.v1+json"
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_ESTABLISHED_AFTER = timedelta(days=2 * 365)
_ESTABLISHED_RELEASES = 10


class PackageIndex:
    """Client of an index by its simple interface in JSON (PEP 691)."""

    def __init__(self, api: JsonApi) -> None:
        self._api = api

    async def read_facts(self, name: str) -> PackageFacts:
        """Whether the index has a package, and which well-known one it could be taken for.

        Raises:
            UsageError: the index did not answer, refused, or sent something else.
        """
        plain = canonicalize_name(name) if _NAME.fullmatch(name) else ""
        alike = "" if plain.replace("-", "_") in sys.stdlib_module_names else look_alike_of(name)
        project = await self._api.get(f"/{plain}/", accept=_SIMPLE, missing_ok=True) if plain else None
        if project is None:
            return PackageFacts(name=plain or one_line(name, 100), exists=False, looks_like=alike)
        if not isinstance(project, dict) or not isinstance(project.get("files"), list):
            raise UsageError("package_index sent JSON of another shape.")
        # A package that has been there long, with many releases, imitates nobody, unless its name looks the same.
        if _is_established(project) and not disguise_of(plain):
            alike = ""
        return PackageFacts(name=plain, exists=True, looks_like=alike)


def _is_established(project: dict[str, Any]) -> bool:
    """Whether an index that tells versions and times (PEP 700) has had many of a project for long."""
    versions = project.get("versions")
    uploads = (iso_date(each.get("upload-time")) for each in project["files"] if isinstance(each, dict))
    first = min(filter(None, uploads), default="")
    has_many = isinstance(versions, list) and len(versions) >= _ESTABLISHED_RELEASES
    long_ago = (datetime.now(UTC) - _ESTABLISHED_AFTER).date().isoformat()
    return has_many and "" < first < long_ago


@asynccontextmanager
async def open_package_index(settings: Settings) -> AsyncIterator[PackageIndex]:
    """The index that the settings name, or the default one; a named one may be at a private address.

    Raises:
        UsageError: the settings name something that is not an index.
    """
    at = endpoint("package_index", package_index(settings).url, setting="ALITA_PACKAGE_INDEX")
    async with open_http_client([at.host_port] if settings.package_index else ()) as client:
        yield PackageIndex(JsonApi(client, at.model_copy(update={"max_bytes": MAX_BYTES})))
