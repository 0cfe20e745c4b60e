"""Embedder on a local table in model2vec's format, from a folder or by name; no network once it is there."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from alita_mcp.errors import ModelError, UsageError
from alita_mcp.extras import extra_imports
from alita_mcp.models.embedding.interface import Vector
from alita_mcp.models.redaction import presentable

WEIGHTS = "model.safetensors"
PREFIX = "model2vec/"
BUILT_IN = "model2vec/static-minilm-128"
"""The table that comes with the package, without a key or a network: 30,522 tokens in 128 dimensions of 8 bits."""


class Model2vecEmbedder:
    """Sums the vectors of a text's tokens; a fraction of a millisecond a text."""

    def __init__(self, source: str) -> None:
        """`source` is `BUILT_IN`, a folder, or the name under which model2vec finds the model.

        Raises:
            UsageError: the folder holds no such model.
        """
        folder = Path(source).expanduser()
        if source == BUILT_IN:
            self.name, source = source, str(Path(__file__).with_name("static_minilm"))
        elif is_folder(source):
            # the digest tells one table from another in a folder of the same name
            try:
                digest = hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()[:8]
            except OSError as failure:
                raise UsageError(
                    f"{folder} holds no {WEIGHTS}: {failure}.",
                    hint="Set ALITA_EMBEDDER to a folder in model2vec's format.",
                ) from failure
            self.name = f"{PREFIX}{folder.name}@{digest}"
        else:
            self.name = PREFIX + source
        self._source = source
        self._model: Any = None
        self._loading = threading.Lock()

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One vector for each text."""
        return await anyio.to_thread.run_sync(self._embed, list(texts), abandon_on_cancel=True)

    def _embed(self, texts: list[str]) -> list[Vector]:
        with extra_imports("search"):
            from model2vec import StaticModel
        try:
            with self._loading:
                if self._model is None:
                    # it warns of cards without a header
                    logging.getLogger("huggingface_hub.repocard").setLevel(logging.ERROR)
                    self._model = StaticModel.from_pretrained(str(Path(self._source).expanduser()))
            vectors: list[Vector] = self._model.encode(texts).tolist()
        except Exception as failure:
            raise ModelError(
                f"The embedder {self._source!r} cannot be used: {presentable(str(failure))}.",
                hint="Name a folder in model2vec's format, or a model that it can fetch.",
            ) from failure
        return vectors


def is_folder(source: str) -> bool:
    """Whether a source names a folder, there or not."""
    return source.startswith(("/", "~", ".")) or Path(source).is_dir()
