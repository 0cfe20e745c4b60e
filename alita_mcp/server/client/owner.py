"""Owner of an HTTP request: to whom what it does belongs. The access checks name it; nothing a client says does."""

from __future__ import annotations

from starlette.types import Scope

_KEY = "alita.owner"


def set_owner(scope: Scope, owner: str) -> None:
    """Notes in an ASGI scope who owns the request."""
    scope.setdefault("state", {})[_KEY] = owner


def read_owner(scope: Scope) -> str:
    """The owner that the access checks noted in an ASGI scope.

    Raises:
        KeyError: the request did not pass them.
    """
    return str(scope["state"][_KEY])
