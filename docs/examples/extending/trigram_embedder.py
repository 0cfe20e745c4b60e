"""Example of an embedder: hashed trigrams of letters, which finds words that are spelled a little differently.

ALITA_EMBEDDER=trigram_embedder:TrigramEmbedder PYTHONPATH=docs/examples/extending alita search "convert curency"
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

LENGTH = 512


class TrigramEmbedder:
    """Embedder of hashed trigrams; fills `Embedder`, made without arguments."""

    name = "trigrams-512-1"
    """Vectors of one name are compared, so a change of `_vector` needs another one."""

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector of 512 counts for each text, in their order."""
        return [_vector(text) for text in texts]


def _vector(text: str) -> list[float]:
    vector = [0.0] * LENGTH
    padded = f"  {' '.join(text.lower().split())} "
    for start in range(len(padded) - 2):
        vector[zlib.crc32(padded[start : start + 3].encode()) % LENGTH] += 1.0
    return vector
