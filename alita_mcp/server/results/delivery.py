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
from alita_mcp.server.results.unreviewed import brief, mark, plain_schema, shown, unreviewed
from alita_mcp.verification.json_schema import validate_arguments

if TYPE_CHECKING:
    from alita_mcp.app import App, ToolRunResult
    from alita_mcp.library.rows import Origin
    from alita_mcp.sandbox.interface import RunResult
    from alita_mcp.server.sources import ToolCall
    from alita_mcp.values import Limits, Manifest

INSPECT = "inspect_tool shows what each of them means."
KEPT = f"kept until {MAX_RUNS} newer results, or {MAX_BYTES >> 20} MB of them, take its place"
"""How long a result can be read; ends a sentence."""
MAX_PICTURES = 1 << 20
"""Characters of the pictures of a result in base64 that do not count against the bytes of a result."""
_LIMITED = {"timeout", "memory", "output_flood", "crashed"}


async def run_and_deliver(
    call: ToolCall, name: str, arguments: dict[str, Any], version: int | None = None
) -> types.CallToolResult:
    """One run as its caller gets it, the same through `run_tool` and through a direct call.

    That its value fits the output schema was seen when it ran.
    """
    app = call.app
    try:
        run = await app.run_tool(name, arguments, version, identity=call.identity)
    except InvalidArguments as wrong:
        manifest = (await app.library.read(name, version)).manifest
        origin = unreviewed(app, name, manifest.version)
        told = InvalidArguments(wrong.message)
        if origin is not None:
            told = await _plainly_wrong(manifest, arguments, origin)
        raise with_signature(told, shown(app, manifest)) from None
    origin = unreviewed(app, name, run.manifest.version)
    return await off_loop(partial(_in_both_forms, run, origin), large=is_large(run.result.value))


def with_signature(wrong: InvalidArguments, called: Manifest | types.Tool) -> InvalidArguments:
    """The error for arguments that do not fit, with how the tool is called: all that a second try needs."""
    if isinstance(called, types.Tool):
        hint = f"Call it as {parameters_of(called.name, called.input_schema, ALL_CHOICES)}."
    else:
        hint = f"Call it as {signature_of(called, ALL_CHOICES)}. {INSPECT}"
    return InvalidArguments(wrong.message, hint=hint)


async def _plainly_wrong(manifest: Manifest, arguments: dict[str, Any], origin: Origin) -> InvalidArguments:
    """What is wrong with arguments of an unreviewed tool, in none of its author's words."""
    plainly = partial(validate_arguments, plain_schema(manifest.input_schema), arguments)
    try:
        await off_loop(plainly, large=is_large(arguments))
    except InvalidArguments as wrong:
        return wrong
    return InvalidArguments(f"{manifest.name} ({mark(origin)}): an argument is none of the choices.")


def _in_both_forms(run: ToolRunResult, origin: Origin | None) -> types.CallToolResult:
    """A run in both forms; its marks hold what a caller should know besides the value, which stays as it was given."""
    marks: dict[str, Any] = {"alita/cached": True} if run.cached else {}
    if run.manifest.trust != "verified":
        marks["alita/trust"] = run.manifest.trust
    if origin is not None:
        marks["alita/reviewed"] = False
    if run.result.ok:
        value = run.result.value
        result = tool_result(run.structured_content, value if isinstance(value, str) else as_json(value))
    else:
        failed = _failure_text(run.manifest.name, run.result, run.manifest.limits, origin)
        result = tool_result(None, failed, is_error=True)
    return result.model_copy(update={"meta": marks or None})


def _failure_text(name: str, result: RunResult, limits: Limits, origin: Origin | None) -> str:
    """Why a call failed; of an unreviewed tool without the lines of its code, and its words cut short."""
    what = f"{result.error_type or result.status}: {result.message}".removesuffix(": ")
    allowed = (
        f"Its limits: {limits.wall_seconds:g} s, {limits.memory_bytes >> 20} MB of memory, "
        f"{limits.output_bytes >> 10} kB of output, {limits.processes} processes."
    )
    ends = allowed if result.status in _LIMITED else ""
    if origin is not None:
        return failure_text(f"{name} failed ({mark(origin)}) with {brief(what)}", (), ends)
    return failure_text(f"{name} failed with {what}", result.trace, ends)


async def checked(result: types.CallToolResult, app: App, tool: types.Tool) -> types.CallToolResult:
    """A result of a tool that every client can take: not nested too deeply, valid UTF-8 and not too large."""
    written = await off_loop(partial(_written, result), large=is_large(result.structured_content))
    if isinstance(written, str):
        return tool_result(None, written, is_error=True)
    document, size = written
    if size <= app.settings.limits.result_bytes:
        return result
    uri = f"alita://runs/{await app.library.keep_run(document)}"
    cut = partial(_cut, result, document, uri, app.settings.limits.result_bytes)
    return (await anyio.to_thread.run_sync(cut)).model_copy(
        update={"is_error": result.is_error or tool.output_schema is not None}
    )


def _written(result: types.CallToolResult) -> tuple[bytes, int] | str:
    """The whole of a result as JSON text, and the bytes of the larger of the two forms in which it travels.

    Where it cannot travel, the reason.
    """
    structured = result.structured_content
    if is_deeper_than(structured, MAX_DEPTH):
        return "The result is nested too deeply."
    try:
        whole = json_document(_dumped(result.content) if structured is None else structured)
        content = json_document(_dumped(_counted(result.content)))
    except UnicodeEncodeError:
        return "The result holds half of a surrogate pair, which JSON text cannot carry."
    except ValueError:
        return "The result is not JSON: it holds a number that is not finite."
    return whole, max(len(whole) if structured is not None else 0, len(content))


def _counted(content: Sequence[types.ContentBlock]) -> Sequence[types.ContentBlock]:
    """What counts against the bytes of a result: all but pictures, as long as these are bounded."""
    pictures = [block for block in content if isinstance(block, types.ImageContent)]
    if sum(len(picture.data) for picture in pictures) > MAX_PICTURES:
        return content
    return [block for block in content if not isinstance(block, types.ImageContent)]


def _dumped(content: Sequence[types.ContentBlock]) -> list[dict[str, Any]]:
    return [block.model_dump(by_alias=True, mode="json", exclude_none=True) for block in content]


def _cut(result: types.CallToolResult, document: bytes, uri: str, limit: int) -> types.CallToolResult:
    """The beginning of a large result behind what is left out, and a link to the whole; see decision 37.

    It has no structured part: who reads nothing else must not take a beginning for the whole. Pictures and links
    stay.
    """
    counted = _counted(result.content)
    pictures = [block for block in result.content if block not in counted]
    links = [block for block in result.content if isinstance(block, types.ResourceLink)]
    links = links if len(json_document(_dumped(links))) < limit // 2 else []
    link = types.ResourceLink(
        uri=uri, name=uri.rpartition("/")[2], mime_type="application/json", size=len(document)
    )

    def content(part: Part) -> list[types.ContentBlock]:
        note = _note(part, uri, limit, failed=result.is_error)
        return [types.TextContent(text=note + part.text), link, *links]

    longest = Part("", 0, len(document), 2 * len(document))
    part = part_of(document, limit - len(json_document(_dumped(content(longest)))))
    kept = [*content(part), *pictures]
    return types.CallToolResult(content=kept, _meta={**(result.meta or {}), "alita/cut": True})


def _note(part: Part, uri: str, limit: int, *, failed: bool | None) -> str:
    return (
        f"Cut: {part.total - part.end:,} of {part.total:,} bytes left out; whole result: resources/read {uri} "
        f"(parts: {uri}?offset={part.end}), {KEPT}. The call {'failed' if failed else 'succeeded'}, but its result "
        f"is over {limit:,} bytes. Where resources cannot be read, ask the tool for less. The beginning, as JSON:\n"
    )
