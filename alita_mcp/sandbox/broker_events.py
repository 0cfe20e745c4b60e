"""What one call asked the host for, as the journal keeps it: never a body, a path of a URL, or a secret's value."""

from __future__ import annotations

from pydantic import Field

from alita_mcp.values import Value

MAX_TARGET = 200


class BrokerEvent(Value):
    """One asked door or one connection."""

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
