"""Grants that a request asks for, in their normal form, or why they cannot be given."""

from __future__ import annotations

import re

from alita_mcp.library.grants.grants_file import SECRET_NAME
from alita_mcp.library.grants.hosts import ANY, host_problem, written
from alita_mcp.toolsmith.requests.outcomes import Rejected
from alita_mcp.toolsmith.requests.request import SynthesisRequest
from alita_mcp.values import META_TOOLS, TOOL_NAME, Grants


def unfit_grants(request: SynthesisRequest) -> Rejected | None:
    """Returns the rejection of the first right that cannot be granted at all."""
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
    """Returns the grants that a request asks for; its hosts were checked before."""
    hosts = [host if host == ANY else written(host) for host in request.network]
    return Grants(
        network=tuple(dict.fromkeys(hosts)),
        workspace=request.workspace,
        model=request.model,
        tools=tuple(dict.fromkeys(request.tools)),
        secrets=tuple(dict.fromkeys(request.secrets)),
    )
