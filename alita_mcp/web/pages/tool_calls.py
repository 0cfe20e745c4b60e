"""Calls of tools from the form of their page."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from alita_mcp.app.calls import ToolRunResult
from alita_mcp.errors import InvalidArguments
from alita_mcp.progress import ignore_stage
from alita_mcp.values import Schema
from alita_mcp.verification.images import decode_image
from alita_mcp.web.pages.tool import read_version
from alita_mcp.web.rendering import render
from alita_mcp.web.site import Site

PREFIX = "argument."
"""Before a parameter's name in the name of its field."""
MAX_SHOWN = 200_000
"""Characters of a result."""


def routes(site: Site) -> list[Route]:
    """The route of these calls."""

    async def call(request: Request) -> Response:
        app, name, form = await site.app(), request.path_params["name"], await request.form()
        manifest = (await app.library.read(name, read_version(form))).manifest
        is_current = manifest.version == app.library.entry(name).manifest.version
        arguments = read_form(manifest.input_schema, form)
        version, began = None if is_current else manifest.version, time.monotonic()
        async with app.preparation.report(ignore_stage):
            answer = await app.run_tool(name, arguments, version, identity=request.state.identity)
        value = answer.structured_content if answer.is_image else answer.result.value
        return render(
            request,
            "_call.html",
            answer=answer,
            picture=_picture_of(answer),
            text=value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2),
            seconds=round(time.monotonic() - began, 1),
            most=MAX_SHOWN,
        )

    return [Route("/ui/library/{name}/calls", call, methods=["POST"])]


def read_form(schema: Schema, form: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that a filled-in form stands for; an empty field of an optional parameter leaves it out.

    Raises:
        InvalidArguments: a field does not hold what its type wants.
    """
    arguments: dict[str, Any] = {}
    for name, node in schema.get("properties", {}).items():
        text = str(form.get(PREFIX + name, ""))
        if not text and not (name in schema.get("required", ()) and PREFIX + name in form):
            continue
        if node.get("type") == "string":
            arguments[name] = text.replace("\r\n", "\n")  # browsers send line ends so
            continue
        try:
            arguments[name] = json.loads(text)
        except (ValueError, RecursionError) as broken:
            raise InvalidArguments(
                f"{name}: {text[:40]!r} is not JSON of the type {node.get('type', 'any')}.",
                hint='Lists are written as in ["a", "b"], objects as in {"key": 1}.',
            ) from broken
    return arguments


def _picture_of(answer: ToolRunResult) -> str:
    """The URL of the image that a tool returned; browsers run and load nothing that an SVG names."""
    if not answer.is_image:
        return ""
    media_type = "image/png" if answer.result.value["format"] == "png" else "image/svg+xml"
    return f"data:{media_type};base64,{base64.b64encode(decode_image(answer.result.value)).decode()}"
