"""What a client may do: the scopes of its token, and those that tools and answers ask for."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from alita_mcp.errors import InsufficientScope
from alita_mcp.owners import SCOPES, Principal, ScopeName
from alita_mcp.server.client.owner import read_principal

if TYPE_CHECKING:
    from alita_mcp.server.context import Context

_ANY_OF: dict[str, tuple[ScopeName, ...]] = {"synthesize_tool": ("make",), "inspect_tool": ("call", "make")}
READING: tuple[ScopeName, ...] = ("call", "make")
"""Of these one is needed to read resources."""
_LOCAL = Principal("", frozenset(SCOPES))


def principal_of(ctx: Context) -> Principal:
    """Who sends a request; over stdio and local sockets, the user, who may do everything."""
    return _LOCAL if ctx.request is None else read_principal(ctx.request.scope)


def missing_scope(scopes: Collection[str], tool: str) -> str:
    """The scope that a call of a tool lacks; empty where it lacks none."""
    needed = _ANY_OF.get(tool, ("call",))
    return "" if any(each in scopes for each in needed) else needed[0]


def check_scope(scopes: Collection[str], *any_of: ScopeName) -> None:
    """Checks that one of these scopes is there.

    Raises:
        InsufficientScope: none is.
    """
    if not any(each in scopes for each in any_of):
        raise InsufficientScope(any_of[0])


def may_grant(tool: str) -> bool:
    """Whether answers to the questions of a tool's job may grant something; those of a task do not."""
    return tool != "solve_task"


def may_answer(ctx: Context, tool: str) -> bool:
    """Whether a client may answer the questions of a tool's job."""
    return not may_grant(tool) or "approve" in principal_of(ctx).scopes
