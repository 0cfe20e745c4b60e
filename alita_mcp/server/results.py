"""What calls of published tools give to clients, and how results that are too large are cut."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import mcp_types as types

from alita_mcp.errors import InvalidArguments
from alita_mcp.event_loop import is_large, off_loop
from alita_mcp.server.answers import MAX_DEPTH, as_json, error, is_deeper_than
from alita_mcp.server.asker import asker_of
from alita_mcp.server.rejections import failure_text
from alita_mcp.server.unreviewed import brief, mark, plain_schema, unreviewed
from alita_mcp.verification.arguments import validate_arguments, validate_result

if TYPE_CHECKING:
    from alita_mcp.app import App, RunAnswer
    from alita_mcp.library.catalogue_rows import Origin
    from alita_mcp.sandbox.seam import RunResult
    from alita_mcp.server.sources import ToolCall
    from alita_mcp.values import Limits, Schema

INSPECT = "inspect_tool shows what it takes."
KEPT_IN_TEXT = 4_000
"""How many characters of a result that is too large stand in the answer's text."""
_LIMITED = {"timeout", "memory", "output_flood", "crashed"}


async def run_and_deliver(
    call: ToolCall, name: str, arguments: dict[str, Any], version: int | None = None
) -> types.CallToolResult:
    """One run as its caller gets it, the same through `run_tool` and through a direct call.

    That its value fits the output schema was seen when it ran.
    """
    app = call.app
    try:
        run = await app.run(name, arguments, version, asker=asker_of(call.ctx))
    except InvalidArguments:
        manifest = (await app.library.read(name, version)).manifest
        origin = unreviewed(app, name, manifest.version)
        if origin is None:
            raise
        plainly = partial(validate_arguments, plain_schema(manifest.input_schema), arguments)
        await off_loop(plainly, large=is_large(arguments))
        raise InvalidArguments(
            f"{name} ({mark(origin)}): an argument is none of the choices.", hint=INSPECT
        ) from None
    origin = unreviewed(app, name, run.manifest.version)
    result = await off_loop(partial(_in_both_forms, run, origin), large=is_large(run.result.value))
    return await checked(result, app, run.manifest.output_schema)


def _in_both_forms(run: RunAnswer, origin: Origin | None) -> types.CallToolResult:
    marks = _marks(run, origin)
    if not run.result.ok:
        failed = error(_failure_text(run.manifest.name, run.result, run.manifest.limits, origin))
        return failed.model_copy(update={"meta": marks})
    value = run.result.value
    return types.CallToolResult(
        content=[types.TextContent(text=value if isinstance(value, str) else as_json(value))],
        structured_content=run.structured,
        _meta=marks,
    )


def _marks(run: RunAnswer, origin: Origin | None) -> dict[str, Any] | None:
    """What a caller should know of a result besides the result, which stays as the tool gave it."""
    marks: dict[str, Any] = {"alita/cached": True} if run.cached else {}
    if run.manifest.trust != "verified":
        marks["alita/trust"] = run.manifest.trust
    if origin is not None:
        marks["alita/reviewed"] = False
    return marks or None


def _failure_text(name: str, result: RunResult, limits: Limits, origin: Origin | None) -> str:
    """Why a call failed; of a tool that nobody reviewed without the lines of its code, and its words cut short."""
    what = f"{result.error_type or result.status}: {result.message}".removesuffix(": ")
    allowed = (
        f"Its limits: {limits.wall_seconds:g} s, {limits.memory_bytes >> 20} MB of memory, "
        f"{limits.output_bytes >> 10} kB of output, {limits.processes} processes."
    )
    ends = allowed if result.status in _LIMITED else ""
    if origin is not None:
        return failure_text(f"{name} failed ({mark(origin)}) with {brief(what)}", (), ends)
    return failure_text(f"{name} failed with {what}", result.trace, ends)


async def checked(
    result: types.CallToolResult, app: App, schema: Schema | None = None
) -> types.CallToolResult:
    """A result that every client can take: it is not nested too deeply, valid UTF-8 and not too large.

    `schema` is what the part of a large result has to fit too.
    """
    size = await off_loop(partial(_size, result), large=is_large(result.structured_content))
    if isinstance(size, str):
        return error(size)
    limit = app.settings.max_result_bytes
    return result if size <= limit else await _cut(result, schema, size, app)


def _size(result: types.CallToolResult) -> int | str:
    """Bytes of the larger of the two forms in which a result travels; or why it cannot."""
    if is_deeper_than(result.structured_content, MAX_DEPTH):
        return "The result is nested too deeply."
    try:
        return _bytes_of(result)
    except UnicodeEncodeError:
        return "The result holds half of a surrogate pair, which JSON text cannot carry."
    except ValueError:
        return "The result is not JSON: it holds a number that is not finite."


def _bytes_of(result: types.CallToolResult) -> int:
    dumped = result.model_dump(by_alias=True, mode="python", exclude_none=True)
    forms = (dumped.get("structuredContent"), dumped["content"])
    return max(len(json.dumps(form, ensure_ascii=False, allow_nan=False).encode()) for form in forms)


async def _cut(
    result: types.CallToolResult, schema: Schema | None, size: int, app: App
) -> types.CallToolResult:
    """The beginning of a large result and a link to the whole; an error where no beginning fits the schema."""
    whole = result.structured_content
    if whole is None:
        whole = [block.model_dump(by_alias=True, mode="json", exclude_none=True) for block in result.content]
    uri = f"alita://runs/{await app.library.keep_run(whole)}"
    limit = app.settings.max_result_bytes
    text = next((block.text for block in result.content if isinstance(block, types.TextContent)), "")
    note = f"The result has {size:,} bytes, {limit:,} may be sent. The whole is at {uri}. It begins:\n"
    part = await anyio.to_thread.run_sync(_beginning, result.structured_content, schema, limit // 2)
    fits = part is not None or result.structured_content is None
    return types.CallToolResult(
        content=[
            types.TextContent(text=note + text[: min(KEPT_IN_TEXT, limit // 8)]),
            types.ResourceLink(uri=uri, name=uri.rpartition("/")[2], mime_type="application/json", size=size),
        ],
        structured_content=part,
        is_error=result.is_error or not fits,
        _meta={**(result.meta or {}), "alita/cut": True},
    )


def _beginning(value: Any, schema: Schema | None, limit: int) -> Any:
    """The value with its texts and lists cut so far that it is small; None when that is not enough, or misfits."""
    kept = limit
    while kept and value is not None:
        part = _shortened(value, kept)
        if len(json.dumps(part, ensure_ascii=False).encode()) <= limit:
            return part if schema is None or validate_result(schema, part) is None else None
        kept //= 4
    return None


def _shortened(value: Any, kept: int) -> Any:
    if isinstance(value, str):
        return value[:kept]
    if isinstance(value, list):
        return [_shortened(item, kept) for item in value[:kept]]
    if isinstance(value, dict):
        return {key: _shortened(item, kept) for key, item in value.items()}
    return value
