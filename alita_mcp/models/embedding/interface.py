"""Interface of embedders, and the check that what an embedder returns are vectors."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, Protocol

import anyio
import anyio.to_thread

from alita_mcp.errors import ModelError

Vector = Sequence[float]

MAX_LENGTH = 16_384
PATIENCE_S = 600.0
"""With one answer; an embedder that sets itself no limit is given up then."""
LARGEST = 1e15
"""No model's number comes near; larger ones overflow when vectors are brought to length one."""


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
    try:
        vectors = [list(vector) for vector in answer]
    except TypeError as wrong:
        raise wrong_answer(name, "something else than vectors") from wrong
    lengths = sorted({len(vector) for vector in vectors})
    if len(vectors) != texts or len(lengths) > 1:
        raise wrong_answer(name, f"{len(vectors)} vectors of lengths {lengths[:9]} for {texts} texts")
    if lengths and not 1 <= lengths[0] <= MAX_LENGTH:
        raise wrong_answer(name, f"vectors of length {lengths[0]}")
    if not all(map(_are_numbers, vectors)):
        raise wrong_answer(name, "a vector that is not all numbers")
    return [list(map(float, vector)) for vector in vectors]


def wrong_answer(name: str, what: str) -> ModelError:
    """The error of an embedder that answered something else than it must."""
    return ModelError(f"The embedder {name!r} answered {what}.", hint=_HINT)


def _are_numbers(vector: Sequence[Any]) -> bool:
    """Whether they are numbers of a sane size; without a step of Python's for each, for there are thousands."""
    kinds = set(map(type, vector))
    if bool in kinds or not all(issubclass(kind, Real) for kind in kinds):
        return False
    try:
        return bool(sum(map(abs, vector)) <= LARGEST)  # false for nan
    except OverflowError:
        return False


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
