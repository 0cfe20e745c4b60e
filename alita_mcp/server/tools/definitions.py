"""Tool definitions as clients see them: the five fixed tools, and one per published tool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mcp_types as types

from alita_mcp.domains import sentence
from alita_mcp.library.rows import Origin
from alita_mcp.library.unreviewed import plain_manifest
from alita_mcp.server.sources import own_tool
from alita_mcp.texts import clip
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


def _explain(schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {**schema, "description": description}


META_DEFINITIONS: tuple[types.Tool, ...] = (
    own_tool(
        "search_capabilities",
        "Find tools by what they should do. Search before you make one.",
        {
            "query": _explain(
                {**_STRING, "minLength": 1, "maxLength": 2000}, "What you need, in plain words"
            ),
            "limit": {**_INTEGER, "minimum": 1, "maximum": 20, "default": 5},
            "detail": {**_STRING, "enum": ["brief", "schema"], "default": "brief"},
        },
        types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
        required=["query"],
    ),
    own_tool(
        "synthesize_tool",
        "Make a tool from one typed Python function and tests; it is published only if it passes in a sandbox. "
        "Without code, the server's model writes it or you get a template.",
        {
            "description": _STRING,
            "name": _explain(_STRING, "The function's name"),
            "code": _STRING,
            "tests": _EXAMPLES,
            "from_run": _explain(_STRINGS, "Runs of run_code, instead of code and tests"),
            "use_when": _explain(_STRINGS, "Five or so short requests that it serves, worded differently"),
            "packages": _explain(_STRINGS, "Such as numpy>=2"),
            "needs": {
                "type": "object",
                "properties": {
                    "network": _explain(_STRINGS, "Host names"),
                    "workspace": {**_STRING, "enum": ["read", "write"]},
                    "model": _BOOLEAN,
                    "tools": _STRINGS,
                    "secrets": _STRINGS,
                },
                "description": "Only what the code uses; a person approves it",
            },
            "varies": {
                "type": "array",
                "items": {**_STRING, "enum": ["clock", "random"]},
                "description": "What results depend on besides arguments; test with check",
            },
            "update": _explain(_BOOLEAN, "A new version, with its code: old tests must still pass"),
            "breaks": {
                "type": "array",
                "items": {"type": "object"},
                "description": "Arguments of old tests that no longer hold",
            },
            "mode": {**_STRING, "enum": ["quick", "standard", "thorough"]},
            "job_id": _explain(_STRING, "Get the outcome of a job"),
        },
        types.ToolAnnotations(destructive_hint=False, idempotent_hint=True, open_world_hint=True),
    ),
    own_tool(
        "run_tool",
        "Call any tool in the library by name, listed or not.",
        {
            "name": _STRING,
            "arguments": _explain({"type": "object"}, "Must fit the tool's input schema"),
            "version": _VERSION,
        },
        types.ToolAnnotations(destructive_hint=True, open_world_hint=True),
        required=["name"],
    ),
    own_tool(
        "inspect_tool",
        "Show a tool's input, output and evidence that it works.",
        {"name": _STRING, "version": _VERSION, "source": _explain(_BOOLEAN, "Include code and tests")},
        types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
        required=["name"],
    ),
    own_tool(
        "run_code",
        "Run Python once in the sandbox. If a tool fits, call it instead. For many calls, or to compute over "
        "results: from alita_tools import NAME. Make a tool of what you would run again.",
        {
            "code": _explain(_STRING, "A script; its last expression, or `result`, is the result"),
            "arguments": _explain({"type": "object"}, "Variables for the code; `input`: lines for input()"),
            "packages": _STRINGS,
            "needs": {"type": "object", "description": "As in synthesize_tool"},
            "session": _explain(_STRING, "A name, to keep variables for 10 minutes"),
            "job_id": _STRING,
        },
        types.ToolAnnotations(destructive_hint=True, open_world_hint=True),
    ),
)


def name_domains(tool: types.Tool, domains: Sequence[str]) -> types.Tool:
    """The search with what the library holds in its description; any other tool as it is."""
    if tool.name != "search_capabilities" or not domains:
        return tool
    return tool.model_copy(update={"description": f"{tool.description}{sentence(domains)}"})


def definition_of(manifest: Manifest, unreviewed: Origin | None = None) -> types.Tool:
    """A published tool as a tool of its own; the annotations follow from its grants, not from its author.

    `unreviewed` says who made a tool that is not reviewed: then next to nothing of its own words is in it.
    """
    if unreviewed is not None:
        manifest = plain_manifest(manifest, unreviewed)
    title, description = None, manifest.description
    if manifest.trust != "verified":
        title = f"{manifest.name.replace('_', ' ').capitalize()} ({manifest.trust})"
        description = clip(PROVISIONAL + description, MAX_DESCRIPTION)
    grants = manifest.grants
    changes_nothing = not grants.network and grants.workspace != "write" and not grants.tools
    return types.Tool(
        name=manifest.name,
        title=title,
        description=description,
        input_schema=manifest.input_schema,
        output_schema=manifest.output_schema,
        annotations=types.ToolAnnotations(
            read_only_hint=changes_nothing,
            # No client asks whether a tool that only reads destroys something.
            destructive_hint=None if changes_nothing else True,
            idempotent_hint=changes_nothing and manifest.deterministic,
            open_world_hint=bool(grants.network or grants.model or grants.tools),
        ),
        _meta={"alita/trust": manifest.trust, **({"alita/reviewed": False} if unreviewed else {})},
    )
