"""Results of tools that return an image: image content for models, and a file for everything else."""

from __future__ import annotations

import base64
import secrets
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import mcp_types as types

from alita_mcp.errors import LibraryError
from alita_mcp.verification.images import decode_image

if TYPE_CHECKING:
    from alita_mcp.app import ToolRunResult
    from alita_mcp.server.sources import ToolCall


async def image_result(call: ToolCall, run: ToolRunResult, meta: dict[str, Any]) -> types.CallToolResult:
    """An image as image content, where it is or can be drawn as PNG, and as a link to its file.

    An SVG is never sent as image content: it breaks the conversations of some clients.

    Raises:
        SandboxError: the sandbox failed while it drew an SVG.
    """
    image, fields = decode_image(run.result.value), dict(run.structured_content or {})
    name, key = run.manifest.name, secrets.token_hex(16)
    is_png = fields["format"] == "png"
    png = image if is_png else await call.app.calls.draw_svg(run)
    files = {f"{name}.{fields['format']}": image} | ({f"{name}.png": png} if png else {})
    lines = [f"Image: {fields['format']}, {fields['width']} x {fields['height']} pixels"]
    try:
        await anyio.to_thread.run_sync(call.app.library.runs_of(call.identity.owner).keep_files, key, files)
    except LibraryError as full:  # the result does not depend on the disk
        files = {}
        lines.append(f"It could not be kept as a file: {full.message}")
    links = [
        types.ResourceLink(
            uri=f"alita://runs/{key}/{file}",
            name=file,
            size=len(data),
            mime_type="image/png" if file.endswith(".png") else "image/svg+xml",
        )
        for file, data in files.items()
    ]
    if links:
        fields["uri"] = links[0].uri
    lines += [f"file {link.name} ({link.size:,} bytes): {link.uri}" for link in links]
    if png is None:
        lines.append(
            "It is not drawn here: it refers to something outside of itself, or nothing here draws SVG. A tool with "
            'packages: ["resvg-py"] has what draws it.'
        )
    shown = [types.ImageContent(data=base64.b64encode(png).decode(), mime_type="image/png")] if png else []
    return types.CallToolResult(
        content=[types.TextContent(text="\n".join(lines)), *shown, *links],
        structured_content=fields,
        _meta=meta or None,
    )
