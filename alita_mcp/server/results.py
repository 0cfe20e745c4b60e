"""What calls of published tools give to clients, and how results that are too large are cut."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import mcp_types as types

from alita_mcp.server.answers import MAX_DEPTH, as_json, error, is_deeper_than, printable
from alita_mcp.verification.arguments import validate_result

if TYPE_CHECKING:
    from alita_mcp.app import App, RunAnswer
    from alita_mcp.sandbox.seam import RunResult
    from alita_mcp.values import Limits, Schema

MAX_ERROR_TEXT = 4_000
MAX_TRACE = 10
KEPT_IN_TEXT = 4_000
"""How many characters of a result that is too large stand in the answer's text."""
_LIMITED = {"timeout", "memory", "output_flood", "crashed"}


def delivered(run: RunAnswer) -> types.CallToolResult:
    """One run as its caller gets it, the same through `run_tool` and through a direct call; `checked` comes after."""
    if not run.result.ok:
        failed = error(_failure_text(run.manifest.name, run.result, run.manifest.limits))
        return failed.model_copy(update={"meta": _marks(run)})
    value = run.result.value
    return types.CallToolResult(
        content=[types.TextContent(text=value if isinstance(value, str) else as_json(value))],
        structured_content=run.structured,
        _meta=_marks(run),
    )


def _marks(run: RunAnswer) -> dict[str, Any] | None:
    """What a caller should know of a result besides the result, which stays as the tool gave it."""
    marks: dict[str, Any] = {"alita/cached": True} if run.cached else {}
    if run.manifest.trust != "verified":
        marks["alita/trust"] = run.manifest.trust
    return marks or None


def _failure_text(name: str, result: RunResult, limits: Limits) -> str:
    what = (
        f"{result.error_type}: {result.message}"
        if result.error_type
        else f"{result.status}: {result.message}"
    )
    lines = [f"{name} failed with {what.removesuffix(': ')}", *result.trace[:MAX_TRACE]]
    if result.status in _LIMITED:
        lines.append(
            f"Its limits: {limits.wall_seconds:g} s, {limits.memory_bytes >> 20} MB of memory, "
            f"{limits.output_bytes >> 10} kB of output, {limits.processes} processes."
        )
    return printable("\n".join(lines), MAX_ERROR_TEXT)


async def checked(result: types.CallToolResult, schema: Schema | None, app: App) -> types.CallToolResult:
    """A result that every client can take: it fits its output schema, is valid UTF-8 and not too large."""
    if is_deeper_than(result.structured_content, MAX_DEPTH):
        return error("The result is nested too deeply.")
    if not result.is_error and schema is not None:
        wrong = validate_result(schema, result.structured_content)
        if wrong is not None:
            return error(f"The result does not fit the tool's output schema: {printable(wrong, 1_000)}")
    try:
        size = _size(result)
    except UnicodeEncodeError:
        return error("The result holds half of a surrogate pair, which JSON text cannot carry.")
    except ValueError:
        return error("The result is not JSON: it holds a number that is not finite.")
    limit = app.settings.max_result_bytes
    return result if size <= limit else await _cut(result, schema, size, app)


def _size(result: types.CallToolResult) -> int:
    """Bytes of the larger of the two forms in which a result travels."""
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
    part = _beginning(result.structured_content, limit // 2)
    fits = part is None or schema is None or validate_result(schema, part) is None
    return types.CallToolResult(
        content=[
            types.TextContent(text=note + text[: min(KEPT_IN_TEXT, limit // 8)]),
            types.ResourceLink(uri=uri, name=uri.rpartition("/")[2], mime_type="application/json", size=size),
        ],
        structured_content=part if fits else None,
        is_error=result.is_error or not fits,
        _meta={**(result.meta or {}), "alita/cut": True},
    )


def _beginning(value: Any, limit: int) -> Any:
    """The value with its texts and lists cut so far that it fits; None when that is not enough."""
    kept = limit
    while kept:
        part = _shortened(value, kept)
        if len(json.dumps(part, ensure_ascii=False).encode()) <= limit:
            return part
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
