"""Trial of a model: one cheap call that shows whether its name, address and key work."""

from __future__ import annotations

from alita_mcp.models.choices import Chosen
from alita_mcp.models.interface import Message
from alita_mcp.settings import keys_in_use

TRIAL_WITHIN_S = 60.0
"""A server on this machine may have to load the model first."""
TRIAL_TOKENS = 100
"""Some models think before they say a word."""


async def try_model(chosen: Chosen, key: str | None = None) -> str:
    """Asks a model for one word, once; returns the name that it answers under.

    Args:
        chosen: The model.
        key: A key to use in place of those of the environment and the stored ones.

    Raises:
        ModelError: it does not answer in time, or refuses; the message has the address that was tried. Or its stored
            key cannot be read.
        ExtraMissing: the packages that reach models are not installed.
    """
    from alita_mcp.models.litellm.backoff import Patience
    from alita_mcp.models.litellm.provider import LitellmModel

    if key:
        keys_in_use().add(key)
    brief = {"max_tokens": TRIAL_TOKENS, "timeout_s": min(chosen.timeout_s, TRIAL_WITHIN_S)}
    model = LitellmModel(chosen.model_copy(update=brief), Patience(attempts=1), key=key)
    completion = await model.complete(
        [Message(role="user", content="Reply with the word OK and nothing else.")]
    )
    return completion.model
