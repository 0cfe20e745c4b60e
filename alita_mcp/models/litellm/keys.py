"""Choice of the API key for a model's provider: the variable that holds it, and the key to send."""

from __future__ import annotations

from alita_mcp.models.choices import Chosen
from alita_mcp.settings import key_from


def key_variable(chosen: Chosen) -> str:
    """The variable that the provider's key is read from."""
    provider = chosen.name.partition("/")[0] if "/" in chosen.name else "openai"
    return chosen.key_from or f"{provider.upper().replace('-', '_')}_API_KEY"


def key_to_send(chosen: Chosen) -> str | None:
    """A key of its own; None: litellm looks for the provider's. Servers of one's own often want none at all."""
    if chosen.key_from:
        return key_from(chosen.key_from)
    keyless = chosen.base_url and chosen.name.startswith("openai/") and not key_from(key_variable(chosen))
    return "none" if keyless else None
