"""Interface of embedders, and the check that what an embedder returns are vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol

import anyio
import anyio.to_thread

from alita_mcp.errors import ModelError

Vector = Sequence[float]

PATIENCE_S = 600.0
"""With one answer; an embedder that sets itself no limit is given up then."""


class Embedder(Protocol):
    """An embedding model."""

    name: str
    """Names the model such that another model has another name; vectors of one name can be compared."""

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One vector for each text, in their order, all of one length.

        Raises:
            ModelError: the model does not answer, or not with that.
        """
        ...


def check_vectors(name: str, answer: Any, texts: int) -> list[Vector]:
    """Vectors as they must be.

    Raises:
        ModelError: their number, a length or a value does not fit.
    """
    problem = "something else than vectors"
    with suppress(TypeError, ValueError, OverflowError):
        vectors: list[Vector] = [list(map(float, vector)) for vector in answer]
        lengths = sorted({len(vector) for vector in vectors})
        problem = f"{len(vectors)} vectors of lengths {lengths[:9]} for {texts} texts"
        # the sum is no number, or beyond all numbers, where one of them is
        is_finite = all(math.isfinite(math.fsum(map(abs, vector))) for vector in vectors)
        if len(vectors) == texts and len(lengths) <= 1 and 0 not in lengths and is_finite:
            return vectors
    raise ModelError(f"The embedder {name!r} answered {problem}.", hint=_HINT)


_HINT = "Use another ALITA_EMBEDDER."


def check_length(name: str, vector: Vector, length: int) -> Vector:
    """The vector, if it is of that length.

    Raises:
        ModelError: it is of another one: the model behind the name has changed.
    """
    if len(vector) != length:
        raise ModelError(
            f"The embedder {name!r} answered a vector of length {len(vector)} after one of length {length}.",
            hint="One name must stand for one model: check ALITA_EMBEDDER and its base URL.",
        )
    return vector


class CheckedEmbedder:
    """Embedder whose results are checked: what comes out of `embed` are vectors or a `ModelError`."""

    def __init__(self, embedder: Embedder, patience_s: float = PATIENCE_S) -> None:
        self.name = embedder.name
        self._embedder = embedder
        self._patience_s = patience_s

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One vector for each text."""
        try:
            with anyio.fail_after(self._patience_s):
                answer = await self._embedder.embed(texts)
        except ModelError:
            raise
        except Exception as failure:
            raise ModelError(
                f"The embedder {self.name!r} failed: {type(failure).__name__}.", hint=_HINT
            ) from failure
        if len(texts) == 1:
            return check_vectors(self.name, answer, 1)
        return await anyio.to_thread.run_sync(check_vectors, self.name, answer, len(texts))
