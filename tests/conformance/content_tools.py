"""Fixtures that answer at once: every kind of content, errors, progress, logging, changes of lists."""

from __future__ import annotations

from typing import Any

import anyio
import mcp_types as types
from mcp.server.subscriptions import PromptsListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPError

from alita_mcp.server.context import ToolResult
from alita_mcp.server.sources import ToolCall
from tests.conformance.source import Fixtures, said, text

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="

JSON_SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

content_tools = Fixtures()


def image() -> types.ImageContent:
    return types.ImageContent(type="image", data=PNG, mime_type="image/png")


def embedded(uri: str, mime_type: str, words: str) -> types.EmbeddedResource:
    resource = types.TextResourceContents(uri=uri, mime_type=mime_type, text=words)
    return types.EmbeddedResource(type="resource", resource=resource)


@content_tools.tool()
async def test_simple_text(call: ToolCall) -> ToolResult:
    """Gives text."""
    return said("This is a simple text response for testing.")


@content_tools.tool()
async def test_image_content(call: ToolCall) -> ToolResult:
    """Gives an image."""
    return types.CallToolResult(content=[image()])


@content_tools.tool()
async def test_audio_content(call: ToolCall) -> ToolResult:
    """Gives a sound."""
    return types.CallToolResult(content=[types.AudioContent(type="audio", data=WAV, mime_type="audio/wav")])


@content_tools.tool()
async def test_embedded_resource(call: ToolCall) -> ToolResult:
    """Gives a resource."""
    words = "This is an embedded resource content."
    return types.CallToolResult(content=[embedded("test://embedded-resource", "text/plain", words)])


@content_tools.tool()
async def test_multiple_content_types(call: ToolCall) -> ToolResult:
    """Gives text, an image and a resource."""
    mixed = embedded("test://mixed-content-resource", "application/json", '{"test": "data", "value": 123}')
    return types.CallToolResult(content=[text("Multiple content types test:"), image(), mixed])


@content_tools.tool()
async def test_error_handling(call: ToolCall) -> ToolResult:
    """Fails."""
    return said("This tool intentionally returns an error for testing", is_error=True)


@content_tools.tool(name="test_logging_tool")
@content_tools.tool()
async def test_tool_with_logging(call: ToolCall) -> ToolResult:
    """Sends log messages on the way."""
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await call.ctx.session.send_log_message("info", words, related_request_id=call.ctx.request_id)
        await anyio.sleep(0.05)
    return said("Tool with logging executed successfully")


@content_tools.tool()
async def test_tool_with_progress(call: ToolCall) -> ToolResult:
    """Reports progress on the way."""
    for done in (0, 50, 100):
        await call.ctx.session.report_progress(done, 100, f"Completed step {done} of 100")
        await anyio.sleep(0.05)
    return said(str((call.ctx.meta or {}).get("progress_token", 0)))


@content_tools.tool({"region": {"type": "string", "x-mcp-header": "Region"}})
async def test_x_mcp_header(call: ToolCall) -> ToolResult:
    """Has an argument that is mirrored in a header."""
    return said(f"region={call.arguments.get('region')}")


@content_tools.tool(schema=JSON_SCHEMA_2020_12)
async def json_schema_2020_12_tool(call: ToolCall) -> ToolResult:
    """Has a schema with every keyword that clients are asked to keep."""
    return said("ok")


@content_tools.tool()
async def test_missing_capability(call: ToolCall) -> ToolResult:
    """Needs a client that samples."""
    declared = call.ctx.session.client_capabilities
    if declared is None or declared.sampling is None:
        needed = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "Missing required client capability", needed)
    return said("ok")


@content_tools.tool()
async def test_reconnection(call: ToolCall) -> ToolResult:
    """Closes the stream and answers after the client has come back."""
    if call.ctx.close_sse_stream:
        await call.ctx.close_sse_stream()
    await anyio.sleep(0.2)
    return said("Reconnection test completed successfully")


@content_tools.tool()
async def test_trigger_tool_change(call: ToolCall) -> ToolResult:
    """Announces another list of tools."""
    await call.announcer.bus.publish(ToolsListChanged())
    return said("changed")


@content_tools.tool()
async def test_trigger_prompt_change(call: ToolCall) -> ToolResult:
    """Announces another list of prompts."""
    await call.announcer.bus.publish(PromptsListChanged())
    return said("changed")
