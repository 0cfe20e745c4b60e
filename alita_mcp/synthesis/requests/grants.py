"""What a request asks for beyond computing: its words in, grants in their one form or the reason why not out."""

from __future__ import annotations

import re

from alita_mcp.library.grants.grants_file import SECRET_NAME
from alita_mcp.library.grants.hosts import ANY, host_problem, written
from alita_mcp.synthesis.requests.outcomes import Rejected
from alita_mcp.synthesis.requests.request import SynthesisRequest
from alita_mcp.values import META_TOOLS, TOOL_NAME, Grants


def unfit_grants(request: SynthesisRequest) -> Rejected | None:
    """The rejection of the first right that nobody could grant."""
    for host in request.network:
        problem = "" if host == ANY else host_problem(host)
        if problem:
            fix = "Ask for host names, as in api.example.org or *.example.org, without scheme and path."
            return Rejected(stage="policy", reason=f"network: {problem}.", fix=fix)
    for name in request.tools:
        if not re.fullmatch(TOOL_NAME, name) or name in META_TOOLS or name == request.name:
            fix = "Name tools of the library that this one calls."
            return Rejected(stage="policy", reason=f"tools: {name[:80]!r} cannot be called by it.", fix=fix)
    for name in request.secrets:
        if not SECRET_NAME.fullmatch(name):
            fix = "Name a secret by letters, digits, dots, dashes and underscores; never send its value."
            return Rejected(stage="policy", reason="secrets: one of them is no secret's name.", fix=fix)
    return None


def grants_of(request: SynthesisRequest) -> Grants:
    """What a request asks for; its hosts are fit."""
    hosts = [host if host == ANY else written(host) for host in request.network]
    return Grants(
        network=tuple(dict.fromkeys(hosts)),
        workspace=request.workspace,
        model=request.model,
        tools=tuple(dict.fromkeys(request.tools)),
        secrets=tuple(dict.fromkeys(request.secrets)),
    )
