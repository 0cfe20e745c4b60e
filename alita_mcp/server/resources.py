"""Resources of the library: the catalogue, each version's files, kept results and files of runs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError

from alita_mcp.errors import AlitaError
from alita_mcp.library.trust.evidence import report_with_evidence
from alita_mcp.server.client.announce import CATALOGUE_URI
from alita_mcp.server.client.client_identity import is_modern
from alita_mcp.server.results.building import printable
from alita_mcp.server.results.delivery import KEPT
from alita_mcp.server.results.listing import page_of
from alita_mcp.server.results.ranges import contents, part_contents
from alita_mcp.server.results.run_files import FILE_URI, TEMPLATE, file_contents, file_name
from alita_mcp.server.results.unreviewed import (
    fenced,
    mark,
    plain_manifest,
    plain_report,
    unreviewed,
    visible_manifest,
)

if TYPE_CHECKING:
    from alita_mcp.app import App
    from alita_mcp.server.context import Context
    from alita_mcp.server.shared_app import SharedApp
    from alita_mcp.server.sources import ResourceSource
    from alita_mcp.values import StoredVersion

JSON = "application/json"
MAX_URI = 300
LISTED_TOOLS = 10
"""So many tools have a resource in the list; all others are in the catalogue."""
_LEGACY_NOT_FOUND = -32002
_VERSION = re.compile(
    r"alita://tools/(?P<name>[a-z][a-z0-9_]{2,39})/v(?P<version>[1-9][0-9]{0,8})/(?P<part>[a-z]+)"
)
_RUN = re.compile(
    r"(?P<uri>alita://runs/(?P<id>[A-Za-z0-9_-]{1,100}))(?:\?(?P<range>(?:(?:offset|length)=[0-9]{1,12}&?){1,2}))?"
)


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)


PARTS: dict[str, tuple[str, Callable[[StoredVersion, tuple[str, ...]], str]]] = {
    "source": ("text/x-python", lambda stored, _: stored.code),
    "tests": (JSON, lambda stored, _: _pretty([each.as_json() for each in stored.examples])),
    "manifest": (JSON, lambda stored, _: stored.manifest.model_dump_json(indent=1, exclude={"digest"})),
    "report": (JSON, lambda stored, kinds: _pretty(report_with_evidence(stored.report, kinds))),
}
"""Part of a version → MIME type, and how it is written, told the sandboxes that it was proved in."""

TEMPLATES = (
    types.ResourceTemplate(
        uri_template="alita://runs/{id}{?offset,length}",
        name="run",
        title="Kept result",
        description="The whole of a result that was too large to send, as JSON text. A read that is too large gives a "
        "part and says where the next begins; offset and length ask for other parts, in bytes. A result is "
        f"{KEPT}.",
        mime_type=JSON,
    ),
    TEMPLATE,
)
_CATALOGUE = types.Resource(
    uri=CATALOGUE_URI,
    name="tools",
    title="Catalogue",
    description="Every tool of the library.",
    mime_type=JSON,
)


class LibraryResources:
    """The library as a source of resources."""

    def __init__(self, shared: SharedApp) -> None:
        self._shared = shared

    def resources(self) -> Sequence[types.Resource]:
        """The catalogue, and the code of the tools made or used last."""
        app = self._shared.current
        if app is None:
            return [_CATALOGUE]
        mime, _ = PARTS["source"]
        recent = app.library.tools.recent(LISTED_TOOLS, reviewed_only=app.settings.review == "list")
        sources = [
            types.Resource(
                uri=f"alita://tools/{entry.name}/v{entry.manifest.version}/source",
                name=f"{entry.name}_source",
                title=f"Code of {entry.name}",
                mime_type=mime,
            )
            for entry in recent
        ]
        return [_CATALOGUE, *sources]

    def templates(self) -> Sequence[types.ResourceTemplate]:
        """Kept results, and files of runs."""
        return TEMPLATES

    async def read(
        self, _ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult | None:
        """The text behind one of our URIs."""
        uri = str(params.uri)
        app = await self._shared.get()
        if uri == CATALOGUE_URI:
            return contents(uri, JSON, await anyio.to_thread.run_sync(_whole_catalogue, app))
        limit = app.settings.limits.result_bytes
        if file := FILE_URI.fullmatch(uri):
            data = await anyio.to_thread.run_sync(app.library.runs.read_file, file["id"], file_name(file))
            return await anyio.to_thread.run_sync(file_contents, file, data, limit)
        if run := _RUN.fullmatch(uri):
            document = await app.library.read_run(run["id"])
            return await anyio.to_thread.run_sync(part_contents, run, document, JSON, limit)
        wanted = _VERSION.fullmatch(uri)
        if wanted is None or wanted["part"] not in PARTS:
            return None
        stored = await app.library.read(wanted["name"], int(wanted["version"]))
        return contents(uri, *_part(app, stored, wanted["part"]))


def _part(app: App, stored: StoredVersion, part: str) -> tuple[str, str]:
    """A part of a version as MIME type and text; fenced or shortened where no person reviewed the version."""
    mime, written = PARTS[part]
    manifest = stored.manifest
    kinds = app.library.tools.proved_in(manifest.name, manifest.version)
    origin = unreviewed(app, manifest.name, manifest.version)
    if origin is None:
        return mime, written(stored, kinds)
    if part == "manifest":
        return mime, plain_manifest(manifest, origin).model_dump_json(indent=1)
    if part == "report":
        report = report_with_evidence(plain_report(stored.report), kinds)
        return mime, _pretty({"unreviewed": mark(origin), **report})
    return "text/plain", fenced(written(stored, kinds), origin)


def _whole_catalogue(app: App) -> str:
    return _pretty(
        [
            {
                "name": entry.name,
                "version": manifest.version,
                "versions": list(entry.versions),
                "summary": manifest.summary,
                "trust": manifest.trust,
                "state": entry.state,
                "pinned": entry.pinned,
                "calls": entry.calls,
                "failures": entry.failures,
            }
            for entry in app.library.tools.entries()
            for manifest in [visible_manifest(app, entry.manifest)]
        ]
    )


class Resources:
    """Serves the resources of all sources."""

    def __init__(self, sources: Sequence[ResourceSource], shared: SharedApp, page_size: int) -> None:
        self._sources = tuple(sources)
        self._shared = shared
        self._page_size = page_size

    async def list(
        self, _ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """One page of resources."""
        await self._shared.settled()
        every = [resource for source in self._sources for resource in source.resources()]
        cursor = params.cursor if params else None
        page, following = page_of(every, lambda resource: str(resource.uri), cursor, self._page_size)
        return types.ListResourcesResult(resources=page, next_cursor=following)

    async def list_templates(
        self, _ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """One page of templates."""
        every = [template for source in self._sources for template in source.templates()]
        cursor = params.cursor if params else None
        page, following = page_of(every, lambda template: template.uri_template, cursor, self._page_size)
        return types.ListResourceTemplatesResult(resource_templates=page, next_cursor=following)

    async def read(
        self, ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult | types.InputRequiredResult:
        """One resource; what is not there is a protocol error that names the URI."""
        uri = printable(str(params.uri), MAX_URI)
        code = types.INVALID_PARAMS if is_modern(ctx) else _LEGACY_NOT_FOUND
        try:
            for source in self._sources:
                found = await source.read(ctx, params)
                if found is not None:
                    return found
        except AlitaError as failure:
            raise MCPError(code, printable(str(failure), 1_000), {"uri": uri}) from failure
        raise MCPError(code, f"Resource not found: {uri}", {"uri": uri})
