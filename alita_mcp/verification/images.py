"""Images as results of tools: their annotations, their schema, and the check of what code says of one."""

from __future__ import annotations

import base64
from typing import Any

from alita_mcp.sandbox.runner.tool.pictures import problem_of, size_of
from alita_mcp.values import Schema

IMAGE_TYPES = frozenset(
    {"alita_tool.Image", "matplotlib.figure.Figure", "matplotlib.pyplot.Figure", "PIL.Image.Image"}
)
"""Annotations of a tool that returns an image."""
IMAGE_SCHEMA: Schema = {
    "type": "object",
    "title": "Image",
    "description": "An image; it comes as image content, and as the file that `uri` names.",
    "properties": {
        "format": {"type": "string", "enum": ["png", "svg"]},
        "width": {"type": "integer"},
        "height": {"type": "integer"},
        "bytes": {"type": "integer"},
        "uri": {"type": "string"},
    },
    "required": ["format", "width", "height", "bytes"],
}


def is_image(schema: Schema) -> bool:
    """Whether results of an output schema are images; no annotation gives another one a title."""
    return "title" in schema and schema["title"] == IMAGE_SCHEMA["title"]


def decode_image(value: Any) -> bytes:
    """The image in a result.

    Raises:
        ValueError: it is none, or not the one that the result says it is.
    """
    fields = value if isinstance(value, dict) else {}
    kind, data = fields.get("format"), fields.get("data")
    if kind not in ("png", "svg") or not isinstance(data, str):
        kinds = "alita_tool.Image(…), a matplotlib figure or a Pillow image"
        raise ValueError(f"not an image: return {kinds}; a test says with check what holds of it")
    try:
        picture = base64.b64decode(data, validate=True) if kind == "png" else data.encode()
    except ValueError as broken:
        raise ValueError("the data of the image cannot be decoded") from broken
    if problem := problem_of(picture):
        raise ValueError(problem)
    width, height = size_of(picture)
    claimed = (kind == "png", fields.get("width"), fields.get("height"), fields.get("bytes"))
    if claimed != (picture.startswith(b"\x89PNG"), width, height, len(picture)):
        raise ValueError(
            f"an image of {width} x {height} pixels and {len(picture):,} bytes, unlike what is said of it"
        )
    return picture
