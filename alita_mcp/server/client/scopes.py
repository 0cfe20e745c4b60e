"""What a client may do: the scopes of its token, and those that requests and answers ask for."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from alita_mcp.errors import InsufficientScope
from alita_mcp.owners import SCOPES, USER, Principal, ScopeName

if TYPE_CHECKING:
    from alita_mcp.server.context import Context

_TOOLS: dict[str, tuple[ScopeName, ...]] = {"synthesize_tool": ("make",), "inspect_tool": ("call", "make")}
_LOCAL = Principal(USER, frozenset(SCOPES))


def principal_of(ctx: Context) -> Principal:
    """Who sends a request, as the access checks say; over stdio and local sockets the user, who may do everything."""
    principal: Principal = _LOCAL if ctx.request is None else ctx.request.user.principal
    return principal


def may_call(scopes: Collection[str], tool: str) -> bool:
    """Whether these scopes allow calls of a tool."""
    return any(each in scopes for each in _TOOLS.get(tool, ("call",)))


def check_request(ctx: Context) -> None:
    """Checks that a client may do what it asks for, whatever method of the protocol it uses.

    Raises:
        InsufficientScope: its token has none of the scopes that allow it.
    """
    # 1. A call needs what its tool asks for. 2. What calls and tools left is for those that could have made it.
    # 3. All else tells nothing, or only the names of tools that may be called.
    needed: tuple[ScopeName, ...] = ()
    if ctx.method == "tools/call":
        needed = _TOOLS.get(str((ctx.params or {}).get("name")), ("call",))
    elif ctx.method == "resources/read" or ctx.method.startswith("tasks/"):
        needed = ("call", "make")
    if needed and principal_of(ctx).scopes.isdisjoint(needed):
        raise InsufficientScope(needed[0])


def may_answer(ctx: Context, tool: str) -> bool:
    """Whether a client may answer the questions of a tool's job: those of a task grant nothing, all others do.

    Who has the server's own token is asked where the operator says so, and may then answer.
    """
    principal = principal_of(ctx)
    return tool == "solve_task" or not principal.id or "approve" in principal.scopes
