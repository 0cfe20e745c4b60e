"""What an app offers to tools through `alita_tool`; the grants of each version say which tool may use it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from alita_mcp.sandbox.broker.redaction import check_secret
from alita_mcp.sandbox.network.public_addresses import Resolve

MAX_CHAIN = 4
"""How many tools may call one another in a row, the first one included."""


class Complete(Protocol):
    """A language model, as a tool asks it for a completion."""

    async def __call__(
        self, prompt: str, *, system: str | None, max_tokens: int | None, temperature: float | None
    ) -> str:
        """A completion; an AlitaError's text reaches the tool's author."""
        ...


class CallTool(Protocol):
    """A call of a published tool on behalf of another one."""

    async def __call__(self, name: str, arguments: dict[str, Any], *, chain: tuple[str, ...]) -> Any:
        """The tool's value, from a sandbox of its own and under its own grants.

        `chain` are the tools that are being called, outermost first and this one last; its `HostServices` hold it.
        An AlitaError's text, and a RuntimeError's, reaches the calling tool's author.
        """
        ...


@dataclass(frozen=True)
class HostServices:
    """Services of the host for one call: model, tools, secrets, workspace; None where nothing is set up."""

    complete: Complete | None = None
    call_tool: CallTool | None = None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Values by name."""
    workspace: Path | None = None
    chain: tuple[str, ...] = ()
    """The tools that are being called, outermost first; the last one is the one that this call runs."""
    resolve: Resolve | None = None
    """Names to addresses; None: as the machine does it."""
    reachable: frozenset[str] = frozenset()
    """Addresses that may be reached though they are not public; never from a setting."""

    def __post_init__(self) -> None:
        """Refuses secrets that could not be kept out of results (UsageError)."""
        for name, value in self.secrets.items():
            check_secret(name, value)
