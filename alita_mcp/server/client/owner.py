"""Principal of an HTTP request: whose it is and what it may do, which the access checks say and nothing else does."""

from __future__ import annotations

from starlette.types import Scope

from alita_mcp.owners import Principal

_KEY = "alita.principal"


def set_principal(scope: Scope, principal: Principal) -> None:
    """Notes in an ASGI scope who sends the request."""
    scope.setdefault("state", {})[_KEY] = principal


def read_principal(scope: Scope) -> Principal:
    """The principal that the access checks noted in an ASGI scope.

    Raises:
        KeyError: the request did not pass them.
    """
    principal: Principal = scope["state"][_KEY]
    return principal


def read_owner(scope: Scope) -> str:
    """The owner of a request; raises as `read_principal`."""
    return read_principal(scope).owner
