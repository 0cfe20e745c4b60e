"""Resources: the catalogue of the library, the parts of each version, kept results, and files of runs."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.uri_template import UriTemplate

from alita_mcp.errors import AlitaError, InvalidArguments
from alita_mcp.library.packed_files import mime_of, text_of
from alita_mcp.library.trust.evidence import report_with_evidence
from alita_mcp.library.unreviewed import (
    fence,
    origin_if_unreviewed,
    plain_manifest,
    plain_report,
    review_mark,
    visible_manifest,
)
from alita_mcp.server.client.announcer import CATALOGUE_URI
from alita_mcp.server.client.identity import is_modern, maker_of
from alita_mcp.server.results.building import printable
from alita_mcp.server.results.delivery import KEPT
from alita_mcp.server.results.ranges import text_in_parts, text_resource

if TYPE_CHECKING:
    from alita_mcp.app import App
    from alita_mcp.owners import Maker
    from alita_mcp.server.context import Context
    from alita_mcp.server.shared_app import SharedApp
    from alita_mcp.values import StoredVersion

JSON = "application/json"
MAX_URI = 300
_LEGACY_NOT_FOUND = -32002

TEMPLATES = (
    types.ResourceTemplate(
        uri_template="alita://runs/{id}{?offset}",
        name="run",
        title="Kept result",
        description="The whole of a result that was too large to send, as JSON text. A read that is too large gives a "
        "part and says where the next begins, in bytes. A result is "
        f"{KEPT}.",
        mime_type=JSON,
    ),
    types.ResourceTemplate(
        uri_template="alita://runs/{id}/{+file}{?offset}",
        name="run_file",
        title="File of a run",
        description="A file that code wrote, as run_code named it. Text that is too large comes in parts, like a "
        f"result; anything else comes whole. Files are {KEPT}.",
    ),
)
_RUN, _FILE = (UriTemplate.parse(template.uri_template) for template in TEMPLATES)
_VERSION = UriTemplate.parse("alita://tools/{name}/v{version}/{part}")
_WORD = re.compile(r"[A-Za-z0-9_-]{1,100}")


class Resources:
    """The resources of the library and an owner's runs."""

    def __init__(self, shared: SharedApp) -> None:
        self._shared = shared

    async def list_resources(
        self, _ctx: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """The catalogue, which names all else."""
        catalogue = types.Resource(
            uri=CATALOGUE_URI, name="tools", title="Catalogue", description="Every tool of the library.", mime_type=JSON
        )  # fmt: skip
        return types.ListResourcesResult(resources=[catalogue])

    async def list_templates(
        self, _ctx: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """Kept results and files of runs."""
        return types.ListResourceTemplatesResult(resource_templates=list(TEMPLATES))

    async def read_resource(
        self, ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """The text or file behind one of our URIs; what is not there is a protocol error that names the URI."""
        uri = printable(str(params.uri), MAX_URI)
        code = types.INVALID_PARAMS if is_modern(ctx) else _LEGACY_NOT_FOUND
        try:
            found = await self._find_resource(str(params.uri), maker_of(ctx))
        except AlitaError as failure:
            raise MCPError(code, printable(str(failure), 1_000), {"uri": uri}) from failure
        if found is None:
            raise MCPError(code, f"Resource not found: {uri}", {"uri": uri})
        return found

    async def _find_resource(self, uri: str, reader: Maker) -> types.ReadResourceResult | None:
        owner = reader.owner
        app = (await self._shared.get()).seen_by(owner)
        limit = app.settings.limits.result_characters
        if uri == CATALOGUE_URI:
            return text_resource(uri, JSON, await anyio.to_thread.run_sync(_catalogue, app, reader))
        if version := _match(_VERSION, uri):
            if not re.fullmatch("[1-9][0-9]{0,8}", version["version"]):
                return None
            stored = await app.library.read(version["name"], int(version["version"]))
            mime, text = _version_part(app, stored, version["part"], reader)
            return text_resource(uri, mime, text) if mime else None
        if file := _match(_FILE, uri):
            runs = app.library.runs_of(owner)
            data = await anyio.to_thread.run_sync(runs.read_file, file["id"], file["file"])
            return await anyio.to_thread.run_sync(_file_contents, uri, file, data, limit)
        values = _match(_RUN, uri)
        if values is None:
            return None
        document = await anyio.to_thread.run_sync(app.library.runs_of(owner).read_result, values["id"])
        return await anyio.to_thread.run_sync(text_in_parts, uri, JSON, document, limit, _offset(values))


def _match(template: UriTemplate, uri: str) -> dict[str, str] | None:
    """The variables of a URI, percent-decoded; None unless each but `file` is one plain word, which leads nowhere."""
    values = template.match(uri)
    if values is None:
        return None
    words = {name: str(value) for name, value in values.items()}
    are_plain = all(name == "file" or _WORD.fullmatch(word) for name, word in words.items())
    return words if are_plain else None


def _offset(values: dict[str, str]) -> int:
    """Where the part begins that a URI asks for.

    Raises:
        InvalidArguments: it is not a number of bytes.
    """
    offset = values.get("offset", "0")
    if not re.fullmatch("[0-9]{1,12}", offset):
        raise InvalidArguments("offset must be a number of bytes.")
    return int(offset)


def _version_part(app: App, stored: StoredVersion, part: str, reader: Maker) -> tuple[str, str]:
    """A part of a version as MIME type and text, both empty where there is no such part."""
    manifest, mime = stored.manifest, JSON
    sandboxes = app.library.tools.sandboxes_of(manifest.name, manifest.version)
    origin = origin_if_unreviewed(app, manifest.name, manifest.version, reader)
    # A version that no person reviewed: of its manifest and report only plain words are shown, all else is fenced.
    if part == "manifest":
        if origin is not None:
            return mime, plain_manifest(manifest, origin).model_dump_json(indent=1)
        return mime, manifest.model_dump_json(indent=1, exclude={"digest"})
    if part == "report":
        if origin is not None:
            report = report_with_evidence(plain_report(stored.report), sandboxes)
            return mime, _indent({"unreviewed": review_mark(origin), **report})
        return mime, _indent(report_with_evidence(stored.report, sandboxes))
    if part == "source":
        mime, text = "text/x-python", stored.code
    elif part == "tests":
        text = _indent([each.as_json() for each in stored.examples])
    else:
        return "", ""
    return (mime, text) if origin is None else ("text/plain", fence(text, origin))


def _file_contents(uri: str, values: dict[str, str], data: bytes, limit: int) -> types.ReadResourceResult:
    """A file of a run: text as text, in parts where it is too large; anything else as it is."""
    mime, offset = mime_of(values["file"], data), _offset(values)
    if data and text_of(data) is not None:
        return text_in_parts(uri, mime, data, limit, offset)
    blob = base64.b64encode(data[offset:]).decode()
    return types.ReadResourceResult(contents=[types.BlobResourceContents(uri=uri, mime_type=mime, blob=blob)])


def _catalogue(app: App, reader: Maker) -> str:
    return _indent(
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
            for manifest in [visible_manifest(app, entry.manifest, reader)]
        ]
    )


def _indent(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)
