"""Results of published tools for clients, and the cutting of those that are too large."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import mcp_types as types

from alita_mcp.errors import InvalidArguments
from alita_mcp.event_loop import is_large, off_loop
from alita_mcp.library.kept_results import MAX_BYTES, MAX_RUNS
from alita_mcp.library.search.signature import ALL_CHOICES, parameters_of, signature_of
from alita_mcp.library.unreviewed import (
    first_sentence,
    origin_if_unreviewed,
    plain_schema,
    review_mark,
    visible_manifest,
)
from alita_mcp.server.results.building import MAX_DEPTH, as_json, is_deeper_than, tool_result
from alita_mcp.server.results.images import image_result
from alita_mcp.server.results.ranges import Part, json_document, part_of
from alita_mcp.server.results.rejections import failure_text
from alita_mcp.verification.json_schema import validate_arguments

if TYPE_CHECKING:
    from alita_mcp.app import App, ToolRunResult
    from alita_mcp.library.rows import Origin
    from alita_mcp.owners import ClientIdentity
    from alita_mcp.server.sources import ToolCall
    from alita_mcp.values import Manifest

KEPT = f"kept until {MAX_RUNS} newer results, or {MAX_BYTES >> 20} MB of them, replace it"
"""How long a result can be read; ends a sentence."""
MAX_IN_BOTH = 2_000
"""Characters of a result that go out in both forms, whatever the model reads."""
READ_STRUCTURED = ("claude-code", "cline", "codex", "github-copilot", "qwen-cli-mcp-client")
"""Beginnings of names of clients whose models read structured content, alone or beside text; see docs/clients.md."""
READ_TEXT = ("continue-cli-client", "gemini-cli-mcp-client", "opencode")
_LIMITED = {"timeout", "memory", "output_flood", "crashed"}


async def run_tool(
    call: ToolCall, name: str, arguments: dict[str, Any], version: int | None = None
) -> types.CallToolResult:
    """One run as its caller gets it, the same through `run_tool` and through a direct call.

    The value was checked against the output schema when the tool ran.
    """
    app, reader = call.app, call.maker
    try:
        run = await app.run_tool(name, arguments, version, identity=call.identity, on_stage=call.on_stage)
    except InvalidArguments as refused:
        wrong, manifest = refused, (await app.library.read(name, version)).manifest
        origin = origin_if_unreviewed(app, name, manifest.version, reader)
        if origin is not None:
            wrong = await _without_authors_words(manifest, arguments, origin)
        raise with_signature(wrong, visible_manifest(app, manifest, reader)) from None
    origin = origin_if_unreviewed(app, name, run.manifest.version, reader)
    meta: dict[str, Any] = {}
    if run.manifest.trust != "verified":
        meta["alita/trust"] = run.manifest.trust
    if origin is not None:
        meta["alita/reviewed"] = False
    if run.is_image:
        return await image_result(call, run, meta)
    return await off_loop(partial(_run_result, run, origin, meta), large=is_large(run.result.value))


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


def _run_result(run: ToolRunResult, origin: Origin | None, meta: dict[str, Any]) -> types.CallToolResult:
    """A run in both forms; `meta` holds what a caller should know besides the value."""
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
    result: types.CallToolResult, app: App, tool: types.Tool, identity: ClientIdentity
) -> types.CallToolResult:
    """A result that every client can take: not nested too deeply, valid UTF-8, sent once and not too large.

    The whole of one that is too large is kept for its owner.
    """
    try:
        once, document, characters = await off_loop(
            partial(_measure, result, tool, identity.client), large=is_large(result.structured_content)
        )
    except ValueError as unfit:
        return tool_result(None, str(unfit), is_error=True)
    limit = app.settings.limits.result_characters
    if characters <= limit:
        return once
    run = await anyio.to_thread.run_sync(app.library.runs_of(identity.owner).keep, document)
    cut = await anyio.to_thread.run_sync(_cut, result, document, f"alita://runs/{run}", limit)
    return cut.model_copy(update={"is_error": result.is_error or tool.output_schema is not None})


def _measure(
    result: types.CallToolResult, tool: types.Tool, client: str
) -> tuple[types.CallToolResult, bytes, int]:
    """A result as it is sent, the whole of it as JSON text, and the characters of the longer of its two forms.

    Raises:
        ValueError: it cannot travel.
    """
    structured = result.structured_content
    if is_deeper_than(structured, MAX_DEPTH):
        raise ValueError("The result is nested too deeply.")
    texts = [block for block in result.content if isinstance(block, types.TextContent)]
    whole: Any = structured
    if structured is None:
        whole = [block.model_dump(by_alias=True, mode="json", exclude_none=True) for block in result.content]
    try:
        "".join(block.text for block in texts).encode()
        document = json_document(whole)
    except UnicodeEncodeError:
        raise ValueError(
            "The result contains half of a surrogate pair, which JSON text cannot carry."
        ) from None
    except ValueError:
        raise ValueError("The result is not JSON: it contains a number that is not finite.") from None
    # Of what is said in both forms one goes out, where it is large and known what the model reads; of an error every
    # model reads the text.
    # 1. The model reads structured content, or both: the text gives way.
    # 2. The model reads the text: the structured content gives way, unless clients demand it.
    # 3. Nobody knows, or it is short: both.
    are_both, name = not result.is_error and structured is not None, client.lower()
    length, text_length = len(document.decode()), sum(len(block.text) for block in texts)
    if are_both and name.startswith(READ_STRUCTURED) and text_length > MAX_IN_BOTH:
        note = types.TextContent(
            text=f"The result is the structured content ({length:,} characters of JSON)."
        )
        others = [block for block in result.content if block not in texts]
        return result.model_copy(update={"content": [note, *others]}), document, length
    if are_both and name.startswith(READ_TEXT) and length > MAX_IN_BOTH and tool.output_schema is None:
        return result.model_copy(update={"structured_content": None}), document, text_length
    return result, document, max(text_length, 0 if structured is None else length)


def _cut(result: types.CallToolResult, document: bytes, uri: str, limit: int) -> types.CallToolResult:
    """What is left out of a large result, its beginning, and a link to the whole.

    It has no structured part: a client that reads nothing else must not take a beginning for the whole. Pictures and
    links stay.
    """
    beside = [block for block in result.content if not isinstance(block, types.TextContent)]
    link = types.ResourceLink(
        uri=uri, name=uri.rpartition("/")[2], mime_type="application/json", size=len(document)
    )
    ended, total = "failed" if result.is_error else "succeeded", len(document.decode())

    def text_with(part: Part) -> str:
        return (
            f"The call {ended}, but its result is over {limit:,} characters: {total - len(part.text):,} of {total:,} "
            f"are left out. Whole result: resources/read {uri} (parts: {uri}?offset={part.end}), {KEPT}. If you "
            f"cannot read resources, ask the tool for less. The beginning, as JSON:\n{part.text}"
        )

    room = limit - len(text_with(Part("", 0, len(document), len(document))))
    text = types.TextContent(text=text_with(part_of(document, room)))
    return types.CallToolResult(
        content=[text, link, *beside], _meta={**(result.meta or {}), "alita/cut": True}
    )
