"""Definitions of `solve_task` and `research_web`, and whether the settings list them."""

from __future__ import annotations

import mcp_types as types

from alita_mcp.extras import find_extra_problem
from alita_mcp.models.choices import model_problem
from alita_mcp.server.sources import own_tool
from alita_mcp.settings import SEARCH_KEYS, Settings, key_from

MAX_TASK = 20_000
MAX_QUERY = 2_000
MAX_PASSAGES = 20
MAX_URLS = 10
MAX_URL = 2_000


AGENT_DEFINITIONS: tuple[types.Tool, ...] = (
    own_tool(
        "solve_task",
        "Hand over a whole task: the server's agent plans it, finds, makes and runs tools, checks and answers.",
        {
            "task": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_TASK,
                "description": "All it needs to know, and what the answer should look like",
            },
            "max_steps": {"type": "integer", "minimum": 1},
            "max_seconds": {"type": "integer", "minimum": 1},
            "max_usd": {"type": "number"},
            "job_id": {"type": "string", "description": "Get the outcome of a task"},
        },
        types.ToolAnnotations(destructive_hint=True, open_world_hint=True),
    ),
    own_tool(
        "research_web",
        "Passages of web pages that bear on a question, each with URL and time.",
        {
            "query": {"type": "string", "minLength": 1, "maxLength": MAX_QUERY},
            "limit": {"type": "integer", "minimum": 1, "maximum": MAX_PASSAGES, "default": 5},
            "urls": {
                "type": "array",
                "items": {"type": "string", "maxLength": MAX_URL},
                "description": f"Pages to read first, {MAX_URLS} at most",
            },
        },
        types.ToolAnnotations(read_only_hint=True, open_world_hint=True),
        required=["query"],
    ),
)
AGENT_TOOLS = tuple(tool.name for tool in AGENT_DEFINITIONS)


def agent_tools_to_list(settings: Settings) -> tuple[str, ...]:
    """Which of the two tools clients see: those for which a model or a search back end is set up, with their extra.

    Calls of the others say what is missing.
    """
    has_model = model_problem(settings) is None
    # A search back end is set up where a setting names one, or holds the key or address of one.
    keys = (key_from(SEARCH_KEYS[name]) for name in ("tavily", "brave"))
    has_search = any((settings.search.strip(" ,"), settings.searxng_url, *keys))
    researches = (has_model or has_search) and find_extra_problem("web") is None
    return (("solve_task",) if has_model else ()) + (("research_web",) if researches else ())
