"""Journal record of what one call asked the host for; without bodies, paths of URLs or values of secrets."""

from __future__ import annotations

from pydantic import Field

from alita_mcp.values import Value

MAX_TARGET = 200


class BrokerEvent(Value):
    """One request to the broker or one connection."""

    door: str
    """`network`, `complete`, `call_tool`, `secret`, `workspace`."""
    target: str = Field(default="", max_length=MAX_TARGET)
    """`host:port`, a tool's or a secret's name, a path below the workspace."""
    status: str
    """`ok`, `refused`, or `failed`."""
    bytes_out: int = 0
    """Bytes that left the sandbox."""
    bytes_in: int = 0
    seconds: float = 0.0
