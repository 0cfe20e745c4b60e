"""Client behind a local connection: the requests of one are told from those of all others by it."""

from __future__ import annotations

import secrets
import time
from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass(eq=False)
class LocalClient:
    """One connection over stdio or a local socket."""

    process: int | None = None
    """The process at its other end; None over stdio."""
    label: str = ""
    """Name and version in its own words, from its first request on."""
    since: float = field(default_factory=time.time)
    """Unix time."""
    key: str = field(default_factory=lambda: secrets.token_hex(16))
    """No other one has it or can guess it."""


LOCAL_CLIENT: ContextVar[LocalClient] = ContextVar("local_client", default=LocalClient())  # noqa: B039 - its label is meant to change
"""The client of the connection whose messages are handled; without a shared server there is only one."""
