"""Embedder for any embedding model that litellm knows; imported at first use, for litellm takes seconds to load."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

import anyio
import anyio.to_thread

from alita_mcp.errors import ModelError
from alita_mcp.models.choices import Chosen
from alita_mcp.models.embedding.interface import Vector, check_length, check_vectors, wrong_answer
from alita_mcp.models.litellm.backoff import Patience
from alita_mcp.models.litellm.failures import call_with_retries
from alita_mcp.models.litellm.loading import load_litellm

TEXTS_AT_ONCE, CHARACTERS_AT_ONCE = 64, 100_000
"""In one request; providers refuse more than some hundred thousand tokens, and a small machine takes its time."""
REQUESTS_AT_ONCE = 3
MAX_CHARACTERS = 8_000
"""Of one text; more than most embedding models take."""
TIMEOUT_S = 30.0

_log = logging.getLogger(__name__)


class LitellmEmbedder:
    """One model, named as litellm names it: `openai/…`, `voyage/…`, `ollama/…`."""

    def __init__(
        self,
        name: str,
        base_url: str | None = None,
        timeout_s: float = TIMEOUT_S,
        patience: Patience | None = None,
    ) -> None:
        """`timeout_s` is for one request. Rate limits, server errors and lost connections are tried again."""
        self.name = f"{name}@{sha256(base_url.encode()).hexdigest()[:8]}" if base_url else name
        self._patience = patience or Patience()
        self._chosen = Chosen(
            name=name,
            base_url=base_url,
            timeout_s=timeout_s,
            setting="ALITA_EMBEDDER",
            url_setting="base_url= in ALITA_EMBEDDER",
            timeout_setting=None,
        )

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One vector for each text; several requests where there are many."""
        litellm = await anyio.to_thread.run_sync(load_litellm, abandon_on_cancel=True)
        batches = list(_batches([text[:MAX_CHARACTERS].strip() or "-" for text in texts]))
        found: dict[int, list[Vector]] = {}
        failures: list[ModelError] = []
        at_once = anyio.CapacityLimiter(REQUESTS_AT_ONCE)

        async def answer(number: int) -> None:
            async with at_once:
                try:
                    found[number] = await self._request(litellm, batches[number])
                except ModelError as failure:
                    failures.append(failure)
                    tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            for number in range(len(batches)):
                tasks.start_soon(answer, number)
        if failures:
            raise failures[0]
        vectors = [vector for number in range(len(batches)) for vector in found[number]]
        return [check_length(self._chosen.name, vector, len(vectors[0])) for vector in vectors]

    async def _request(self, litellm: Any, texts: Sequence[str]) -> list[Vector]:
        chosen = self._chosen

        async def ask() -> Any:
            with anyio.fail_after(chosen.timeout_s):  # for some providers litellm sets no limit at all
                return await litellm.aembedding(
                    model=chosen.name,
                    input=list(texts),
                    api_base=chosen.base_url,
                    api_key=chosen.key_to_send,
                    timeout=chosen.timeout_s,
                    max_retries=0,
                    num_retries=0,
                )

        answer = await call_with_retries(ask, self._patience, chosen, texts)
        tokens = getattr(getattr(answer, "usage", None), "total_tokens", None)
        _log.debug("%s: %d texts, usage %s", self.name, len(texts), tokens)
        return _vectors(chosen.name, getattr(answer, "data", None), len(texts))


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in requests of a bounded size."""
    batch: list[str] = []
    characters = 0
    for text in texts:
        if len(batch) == TEXTS_AT_ONCE or (batch and characters + len(text) > CHARACTERS_AT_ONCE):
            yield batch
            batch, characters = [], 0
        batch.append(text)
        characters += len(text)
    if batch:
        yield batch


def _vectors(name: str, rows: Any, texts: int) -> list[Vector]:
    """The vectors of a reply in the order of the texts, whatever order its rows are in.

    Raises:
        ModelError: the reply holds no such rows.
    """
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) or hasattr(row, "get") for row in rows):
        raise wrong_answer(name, "without vectors")
    places = [row.get("index") for row in rows]
    if all(place is None for place in places):
        places = list(range(len(rows)))
    if not all(type(place) is int for place in places) or sorted(places) != list(range(texts)):
        raise wrong_answer(name, f"not one vector for each of {texts} texts")
    by_place = dict(zip(places, rows, strict=True))
    return check_vectors(name, [by_place[place].get("embedding") for place in range(texts)], texts)
