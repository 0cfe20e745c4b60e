"""Owner of an HTTP request: to whom what it does belongs. The access checks name it; nothing a client says does."""

from __future__ import annotations

import hashlib

from starlette.types import Scope

ANYONE = "anyone"
"""The owner of all that is done where no token is asked for."""
_KEY = "alita.owner"


def token_owner(token: str | None) -> str:
    """The owner of the requests that carry this token; without one, everybody."""
    if token is None:
        return ANYONE
    return f"token:{hashlib.sha256(token.encode()).hexdigest()[:16]}"


def set_owner(scope: Scope, owner: str) -> None:
    """Notes in an ASGI scope who owns the request."""
    scope.setdefault("state", {})[_KEY] = owner


def read_owner(scope: Scope) -> str:
    """The owner that the access checks noted in an ASGI scope.

    Raises:
        KeyError: the request did not pass them.
    """
    return str(scope["state"][_KEY])
