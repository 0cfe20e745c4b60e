"""The real server with the suites' fixtures beside its own tools, over HTTP on a free port; a script.

`python -m tests.conformance.server`; settings from the environment; prints its URL on stderr.
"""

from __future__ import annotations

import sys
import warnings

import anyio
from mcp.shared.exceptions import MCPDeprecationWarning

from alita_mcp.server.build import build_server
from alita_mcp.server.transports.http import serve_http
from alita_mcp.settings import read_settings
from tests.conformance.asking_tools import asking_tools
from tests.conformance.content_tools import content_tools
from tests.conformance.others import serve_prompts, serve_resources
from tests.conformance.task_tools import task_tools


async def serve() -> int:
    settings = read_settings()
    server = build_server(
        settings,
        extra_sources=(content_tools, asking_tools, task_tools),
    )
    serve_resources(server)
    serve_prompts(server)
    return await serve_http(settings, "127.0.0.1", 0, token=None, server=server)


if __name__ == "__main__":
    warnings.filterwarnings(
        "ignore", category=MCPDeprecationWarning
    )  # old scenarios need what the SDK deprecates
    sys.exit(anyio.run(serve))
