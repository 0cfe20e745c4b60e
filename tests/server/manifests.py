"""Manifests to try the server's room with."""

from __future__ import annotations

from typing import Any

from alita_mcp.values import Manifest

SLUGIFY = Manifest(
    name="slugify",
    version=1,
    description="Makes a slug of a text.",
    summary="Makes a slug of a text.",
    input_schema={
        "type": "object",
        "properties": {"text": {"type": "string"}, "limit": {"type": "integer", "default": 10}},
        "required": ["text"],
    },
    output_schema={"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]},
    wraps_result=True,
    trust="verified",
    deterministic=True,
    created_at="2026-01-01T00:00:00Z",
    digest="sha256:" + "0" * 64,
)


def manifest(**changes: Any) -> Manifest:
    """SLUGIFY with changes; nothing but the types is checked, as for a manifest read from elsewhere."""
    return SLUGIFY.model_copy(update=changes)


def with_input(node: Any) -> Manifest:
    """SLUGIFY with one property `p` of the given schema."""
    return manifest(input_schema={"type": "object", "properties": {"p": node}})
