"""Any model that litellm knows, behind the seam; imported at first use, for litellm takes seconds to load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio

from alita_mcp.errors import ModelError
from alita_mcp.models.seam import Completion, Message
from alita_mcp.settings import Settings, keep_litellm_offline

ATTEMPTS = 3
TIMEOUT_S = 90.0
FIRST_PAUSE_S = 1.0


class LitellmModel:
    """One model named as litellm names it, as in `openai/…` or `ollama/…`."""

    def __init__(
        self,
        name: str,
        settings: Settings,
        first_pause_s: float = FIRST_PAUSE_S,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self.name = name
        self._base_url = settings.model_base_url
        self._first_pause_s = first_pause_s
        self._timeout_s = timeout_s

    async def complete(
        self, messages: Sequence[Message], *, max_tokens: int | None = None, temperature: float | None = None
    ) -> Completion:
        """One completion; rate limits, server errors and time-outs are tried again with growing pauses."""
        chosen = {"max_tokens": max_tokens, "temperature": temperature}
        options = {name: value for name, value in chosen.items() if value is not None}
        litellm = await anyio.to_thread.run_sync(_load)
        passing = (litellm.RateLimitError, litellm.InternalServerError, litellm.ServiceUnavailableError,
                   litellm.Timeout, litellm.APIConnectionError)  # fmt: skip
        for attempt in range(ATTEMPTS):
            try:
                return await self._ask(litellm, messages, options)
            except passing as failure:
                if attempt == ATTEMPTS - 1:
                    raise self._translated(failure) from failure
                await anyio.sleep(self._first_pause_s * 2**attempt)
            except Exception as failure:
                raise self._translated(failure) from failure
        raise ModelError(f"The model {self.name!r} did not answer.")

    async def _ask(self, litellm: Any, messages: Sequence[Message], options: dict[str, Any]) -> Completion:
        answer = await litellm.acompletion(
            model=self.name,
            messages=[message.model_dump() for message in messages],
            base_url=self._base_url,
            timeout=self._timeout_s,
            max_retries=0,
            drop_params=True,  # some models know no temperature
            **options,
        )
        usage = getattr(answer, "usage", None)
        return Completion(
            text=answer.choices[0].message.content or "",
            model=str(answer.model or self.name),
            prompt_tokens=getattr(usage, "prompt_tokens", 0) or 0,
            completion_tokens=getattr(usage, "completion_tokens", 0) or 0,
        )

    def _translated(self, failure: Exception) -> ModelError:
        return ModelError(
            f"The model {self.name!r} did not answer: {type(failure).__name__}: {str(failure)[:300]}",
            hint="Check ALITA_MODEL, ALITA_MODEL_BASE_URL and the provider's key.",
        )


def _load() -> Any:
    keep_litellm_offline()
    import litellm

    litellm.suppress_debug_info = True
    return litellm
