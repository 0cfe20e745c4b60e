"""Price of a model's tokens in dollars, where litellm's list has one."""

from __future__ import annotations

import anyio.to_thread

from alita_mcp.models.litellm.loading import load_litellm


async def price_of(name: str, prompt_tokens: int, completion_tokens: int) -> float | None:
    """The price in US dollars; None where nobody knows it. Asks no server."""
    return await anyio.to_thread.run_sync(_price, name, prompt_tokens, completion_tokens)


def _price(name: str, prompt_tokens: int, completion_tokens: int) -> float | None:
    litellm = load_litellm()
    try:
        parts = litellm.cost_per_token(
            model=name, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens
        )
    except Exception:  # noqa: BLE001 - litellm raises bare exceptions for models without a price
        return None
    return max(0.0, float(sum(parts)))
