"""Results of published tools for clients, and the cutting of those that are too large."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import mcp_types as types

from alita_mcp.errors import InvalidArguments
from alita_mcp.event_loop import is_large, off_loop
from alita_mcp.library.kept_results import MAX_BYTES, MAX_RUNS
from alita_mcp.library.search.signature import ALL_CHOICES, parameters_of, signature_of
from alita_mcp.server.results.building import MAX_DEPTH, as_json, is_deeper_than, tool_result
from alita_mcp.server.results.ranges import Part, json_document, part_of
from alita_mcp.server.results.rejections import failure_text
from alita_mcp.server.results.unreviewed import (
    first_sentence,
    origin_if_unreviewed,
    plain_schema,
    review_mark,
    visible_manifest,
)
from alita_mcp.verification.json_schema import validate_arguments

if TYPE_CHECKING:
    from alita_mcp.app import App, ToolRunResult
    from alita_mcp.library.rows import Origin
    from alita_mcp.server.sources import ToolCall
    from alita_mcp.values import Manifest

KEPT = f"kept until {MAX_RUNS} newer results, or {MAX_BYTES >> 20} MB of them, replace it"
"""How long a result can be read; ends a sentence."""
MAX_PICTURES = 1 << 20
"""Characters of the pictures of a result in base64 that do not count against the bytes of a result."""
_LIMITED = {"timeout", "memory", "output_flood", "crashed"}


async def run_tool(
    call: ToolCall, name: str, arguments: dict[str, Any], version: int | None = None
) -> types.CallToolResult:
    """One run as its caller gets it, the same through `run_tool` and through a direct call.

    The value was checked against the output schema when the tool ran.
    """
    app, reader = call.app, call.maker
    try:
        run = await app.run_tool(name, arguments, version, identity=call.identity)
    except InvalidArguments as refused:
        wrong, manifest = refused, (await app.library.read(name, version)).manifest
        origin = origin_if_unreviewed(app, name, manifest.version, reader)
        if origin is not None:
            wrong = await _without_authors_words(manifest, arguments, origin)
        raise with_signature(wrong, visible_manifest(app, manifest, reader)) from None
    origin = origin_if_unreviewed(app, name, run.manifest.version, reader)
    return await off_loop(partial(_run_result, run, origin), large=is_large(run.result.value))


def with_signature(wrong: InvalidArguments, called: Manifest | types.Tool) -> InvalidArguments:
    """The error for arguments that do not fit, with how the tool is called: all that a second try needs."""
    if isinstance(called, types.Tool):
        hint = f"Call it as {parameters_of(called.name, called.input_schema, ALL_CHOICES)}."
    else:
        hint = f"Call it as {signature_of(called, ALL_CHOICES)}. inspect_tool explains each parameter."
    return InvalidArguments(wrong.message, hint=hint)


async def _without_authors_words(
    manifest: Manifest, arguments: dict[str, Any], origin: Origin
) -> InvalidArguments:
    """What is wrong with arguments of an unreviewed tool, in none of its author's words."""
    validate = partial(validate_arguments, plain_schema(manifest.input_schema), arguments)
    try:
        await off_loop(validate, large=is_large(arguments))
    except InvalidArguments as wrong:
        return InvalidArguments(wrong.message)
    problem = f"{manifest.name} ({review_mark(origin)}): an argument is not one of the allowed values."
    return InvalidArguments(problem)


def _run_result(run: ToolRunResult, origin: Origin | None) -> types.CallToolResult:
    """A run in both forms; its `_meta` holds what a caller should know besides the value."""
    meta: dict[str, Any] = {}
    if run.manifest.trust != "verified":
        meta["alita/trust"] = run.manifest.trust
    if origin is not None:
        meta["alita/reviewed"] = False
    result, manifest = run.result, run.manifest
    if result.ok:
        text = result.value if isinstance(result.value, str) else as_json(result.value)
        return tool_result(run.structured_content, text, meta=meta or None)
    what = f"{result.error_type or result.status}: {result.message}".removesuffix(": ")
    limits = manifest.limits
    allowed = (
        f"Its limits: {limits.wall_seconds:g} s, {limits.memory_bytes >> 20} MB of memory, "
        f"{limits.output_bytes >> 10} kB of output, {limits.processes} processes."
    )
    ends = allowed if result.status in _LIMITED else ""
    if origin is None:
        text = failure_text(f"{manifest.name} failed with {what}", result.trace, ends)
    else:  # without the lines of its code, and its words cut short
        unreviewed = f"{manifest.name} failed ({review_mark(origin)}) with {first_sentence(what)}"
        text = failure_text(unreviewed, (), ends)
    return tool_result(None, text, is_error=True, meta=meta or None)


async def limit_result(
    result: types.CallToolResult, app: App, tool: types.Tool, owner: str
) -> types.CallToolResult:
    """A result that every client can take: not nested too deeply, valid UTF-8 and not too large.

    The whole of one that is too large is kept for its owner.
    """
    serialized = await off_loop(partial(_serialize, result), large=is_large(result.structured_content))
    if isinstance(serialized, str):
        return tool_result(None, serialized, is_error=True)
    document, size = serialized
    limit = app.settings.limits.result_bytes
    if size <= limit:
        return result
    run = await anyio.to_thread.run_sync(app.library.runs_of(owner).keep, document)
    uri = f"alita://runs/{run}"
    cut = await anyio.to_thread.run_sync(_cut, result, document, uri, limit)
    return cut.model_copy(update={"is_error": result.is_error or tool.output_schema is not None})


def _serialize(result: types.CallToolResult) -> tuple[bytes, int] | str:
    """The whole of a result as JSON text, and the bytes of the larger of its two forms; else why it cannot travel."""
    structured = result.structured_content
    if is_deeper_than(structured, MAX_DEPTH):
        return "The result is nested too deeply."
    try:
        whole = json_document(_dump(result.content) if structured is None else structured)
        content = json_document(_dump(_without_pictures(result.content)))
    except UnicodeEncodeError:
        return "The result contains half of a surrogate pair, which JSON text cannot carry."
    except ValueError:
        return "The result is not JSON: it contains a number that is not finite."
    return whole, max(len(whole) if structured is not None else 0, len(content))


def _without_pictures(content: Sequence[types.ContentBlock]) -> Sequence[types.ContentBlock]:
    """What counts against the bytes of a result: all but pictures, as long as these are bounded."""
    pictures = [block for block in content if isinstance(block, types.ImageContent)]
    if not pictures or sum(len(picture.data) for picture in pictures) > MAX_PICTURES:
        return content
    return [block for block in content if not isinstance(block, types.ImageContent)]


def _dump(content: Sequence[types.ContentBlock]) -> list[dict[str, Any]]:
    return [block.model_dump(by_alias=True, mode="json", exclude_none=True) for block in content]


def _cut(result: types.CallToolResult, document: bytes, uri: str, limit: int) -> types.CallToolResult:
    """The beginning of a large result behind what is left out, and a link to the whole; see decision 37.

    It has no structured part: a client that reads nothing else must not take a beginning for the whole. Pictures and
    links stay.
    """
    counted = _without_pictures(result.content)
    pictures = [block for block in result.content if block not in counted]
    links = [block for block in result.content if isinstance(block, types.ResourceLink)]
    links = links if len(json_document(_dump(links))) < limit // 2 else []
    link = types.ResourceLink(
        uri=uri, name=uri.rpartition("/")[2], mime_type="application/json", size=len(document)
    )

    def content_with(part: Part) -> list[types.ContentBlock]:
        note = (
            f"Cut: {part.total - part.end:,} of {part.total:,} bytes left out; whole result: resources/read {uri} "
            f"(parts: {uri}?offset={part.end}), {KEPT}. The call {'failed' if result.is_error else 'succeeded'}, but "
            f"its result is over {limit:,} bytes. If you cannot read resources, ask the tool for less. The beginning, "
            "as JSON:\n"
        )
        return [types.TextContent(text=note + part.text), link, *links]

    longest = Part("", 0, len(document), 2 * len(document))
    part = part_of(document, limit - len(json_document(_dump(content_with(longest)))))
    return types.CallToolResult(
        content=[*content_with(part), *pictures], _meta={**(result.meta or {}), "alita/cut": True}
    )
