"""Embedder for tests: vectors from letters alone, the same on every machine; it can be slow, dead or wrong."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence

from alita_mcp.models.embedding.interface import Vector, check_vectors

Before = Callable[[Sequence[str]], Awaitable[None]]


class ScriptedEmbedder:
    """Texts with common words get near vectors."""

    def __init__(
        self,
        name: str = "scripted/letters",
        length: int = 64,
        *,
        before: Before | None = None,
        synonyms: dict[str, str] | None = None,
    ) -> None:
        """`before` runs ahead of each answer: it may wait or raise. `synonyms` are words that mean another word."""
        self.name = name
        self.asked: list[str] = []
        self._length = length
        self._before = before
        self._synonyms = synonyms or {}

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Counts each text's words in places that their letters choose."""
        if self._before is not None:
            await self._before(texts)
        self.asked += texts
        return check_vectors(self.name, [self._vector(text) for text in texts], len(texts))

    def _vector(self, text: str) -> list[float]:
        vector = [0.001] * self._length
        for word in "".join(letter if letter.isalnum() else " " for letter in text.lower()).split():
            meant = self._synonyms.get(word, word)
            vector[hashlib.sha256(meant.encode()).digest()[0] % self._length] += 1.0
        return vector
