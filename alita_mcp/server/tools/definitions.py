"""Tool definitions as clients see them: the six fixed tools, and one per published tool."""

from __future__ import annotations

from typing import Any

import mcp_types as types

from alita_mcp.library.rows import Origin
from alita_mcp.server.results.unreviewed import plain_manifest
from alita_mcp.server.sources import fixed_tool
from alita_mcp.texts import clipped
from alita_mcp.values import META_TOOLS, Manifest
from alita_mcp.verification.static.wording import MAX_DESCRIPTION

RESERVED_NAMES = frozenset({*META_TOOLS, "solve_task", "research_web"})
"""Names that no published tool may take, whether or not this server lists them."""

PROVISIONAL = "[provisional: passed its checks on thin evidence] "
"""What the description of a listed tool begins with while it is not verified."""

_STRING: dict[str, Any] = {"type": "string"}
_STRINGS: dict[str, Any] = {"type": "array", "items": _STRING}
_INTEGER: dict[str, Any] = {"type": "integer"}
_VERSION: dict[str, Any] = {"type": "integer", "minimum": 1}
_BOOLEAN: dict[str, Any] = {"type": "boolean"}
_EXAMPLES: dict[str, Any] = {
    "type": "array",
    "items": {"type": "object"},
    "description": 'Each {"arguments": {}, "expected": …}, or "raises": "ValueError", or "check": '
    '"expression over result"',
}


def _said(schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {**schema, "description": description}


META_DEFINITIONS: tuple[types.Tool, ...] = (
    fixed_tool(
        "search_capabilities",
        "Find a tool by what it should do. Use it before making one.",
        {
            "query": _said({**_STRING, "minLength": 1, "maxLength": 2000}, "The need, in plain words"),
            "limit": {**_INTEGER, "minimum": 1, "maximum": 20, "default": 5},
            "detail": {**_STRING, "enum": ["brief", "schema"], "default": "brief"},
        },
        types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
        required=["query"],
    ),
    fixed_tool(
        "synthesize_tool",
        "Make a tool: one typed Python function and tests, published only if it passes in a sandbox. "
        "Without code the server's model writes it, or you get a template.",
        {
            "description": _STRING,
            "name": _said(_STRING, "The function's name"),
            "code": _STRING,
            "tests": _EXAMPLES,
            "from_run": _said(_STRINGS, "Runs of run_code to make it of, instead of code and tests"),
            "use_when": _said(_STRINGS, "About five short requests, in different words, that it serves"),
            "packages": _said(_STRINGS, "Requirements, as in numpy>=2"),
            "needs": {
                "type": "object",
                "properties": {
                    "network": _said(_STRINGS, "Host names"),
                    "workspace": {**_STRING, "enum": ["read", "write"]},
                    "model": _BOOLEAN,
                    "tools": _STRINGS,
                    "secrets": _STRINGS,
                },
                "description": "Only what the code uses; a person approves",
            },
            "varies": {
                "type": "array",
                "items": {**_STRING, "enum": ["clock", "random"]},
                "description": "What results may differ by; such tests use check",
            },
            "update": _said(
                _BOOLEAN, "New version, its old tests must hold; without code, description says what is wrong"
            ),
            "breaks": {
                "type": "array",
                "items": {"type": "object"},
                "description": "Arguments of the tests that no longer hold",
            },
            "overrule": _said({"type": "object"}, "Assumed rule: what holds instead"),
            "mode": {**_STRING, "enum": ["quick", "standard", "thorough"]},
            "job_id": _said(_STRING, "Asks how a job ended"),
        },
        types.ToolAnnotations(destructive_hint=False, idempotent_hint=True, open_world_hint=True),
    ),
    fixed_tool(
        "run_tool",
        "Call any tool of the library by name, listed or not.",
        {
            "name": _STRING,
            "arguments": _said({"type": "object"}, "As the tool's input schema says"),
            "version": _VERSION,
        },
        types.ToolAnnotations(destructive_hint=True, open_world_hint=True),
        required=["name"],
    ),
    fixed_tool(
        "inspect_tool",
        "Show what a tool takes, gives and was proved to do.",
        {"name": _STRING, "version": _VERSION, "source": _said(_BOOLEAN, "With code and tests")},
        types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
        required=["name"],
    ),
    fixed_tool(
        "manage_tool",
        "Pin a tool to the list, roll it back, switch it on or off, delete or export it.",
        {
            "action": {
                **_STRING,
                "enum": ["pin", "unpin", "rollback", "enable", "disable", "delete", "export"],
            },
            "name": _STRING,
            "version": _VERSION,
        },
        types.ToolAnnotations(destructive_hint=True, open_world_hint=False),
        required=["action", "name"],
    ),
    fixed_tool(
        "run_code",
        "Run Python once in the sandbox. A tool fits: call that. Many calls, or results to compute over: code with "
        "from alita_tools import NAME (alita_tools.aio to await). What you would run again: make it a tool.",
        {
            "code": _said(_STRING, "A script; its last expression, or `result`, is the result"),
            "arguments": _said({"type": "object"}, "Variables the code sees; `input`: lines for input()"),
            "packages": _STRINGS,
            "needs": {"type": "object", "description": "As of synthesize_tool"},
            "session": _said(_STRING, "Name one to keep variables for 10 minutes"),
            "compare": _said(_BOOLEAN, "Run it twice apart: do the results agree?"),
            "job_id": _STRING,
        },
        types.ToolAnnotations(destructive_hint=True, open_world_hint=True),
    ),
)


def definition_of(manifest: Manifest, unreviewed: Origin | None = None) -> types.Tool:
    """A published tool as a tool of its own; the annotations follow from its grants, not from its author.

    `unreviewed` says who made a tool that is not reviewed: then next to nothing of what it says of itself is told.
    """
    if unreviewed is not None:
        manifest = plain_manifest(manifest, unreviewed)
    title, description = None, manifest.description
    if manifest.trust != "verified":
        title = f"{manifest.name.replace('_', ' ').capitalize()} ({manifest.trust})"
        description = clipped(PROVISIONAL + description, MAX_DESCRIPTION)
    return types.Tool(
        name=manifest.name,
        title=title,
        description=description,
        input_schema=manifest.input_schema,
        output_schema=manifest.output_schema,
        annotations=_annotations_of(manifest),
        _meta={"alita/trust": manifest.trust, **({"alita/reviewed": False} if unreviewed else {})},
    )


def _annotations_of(manifest: Manifest) -> types.ToolAnnotations:
    """What is no default and has a meaning: of a tool that only reads, no client asks whether it destroys."""
    grants = manifest.grants
    changes_nothing = not grants.network and grants.workspace != "write" and not grants.tools
    return types.ToolAnnotations(
        read_only_hint=changes_nothing,
        destructive_hint=None if changes_nothing else True,
        idempotent_hint=changes_nothing and manifest.deterministic,
        open_world_hint=bool(grants.network or grants.model or grants.tools),
    )
