"""Choice of the embedder that a setting names: a model2vec folder or name, a Python class, or a model of litellm's."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from alita_mcp.errors import UsageError
from alita_mcp.models.embedding.interface import Embedder

MODEL2VEC = "model2vec/"
A_CLASS = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def choose_embedder(name: str, base_url: str | None = None) -> Embedder:
    """The embedder of that name; what is no folder, no `model2vec/NAME` and no `module:Class` is asked of litellm.

    Nothing is loaded or asked yet, but a class of somebody's own: what is wrong with a model shows at its first use.

    Raises:
        UsageError: the folder holds no model, or there is no such class.
    """
    if name.startswith((MODEL2VEC, "/", "~", ".")) or Path(name).is_dir():
        from alita_mcp.models.embedding.model2vec import Model2vecEmbedder

        return Model2vecEmbedder(name.removeprefix(MODEL2VEC))
    if A_CLASS.fullmatch(name):
        return _own(name)
    from alita_mcp.models.litellm.embedder import LitellmEmbedder

    return LitellmEmbedder(name, base_url)


def _own(name: str) -> Embedder:
    module, _, kind = name.partition(":")
    try:
        embedder: Embedder = getattr(import_module(module), kind)()
    except Exception as failure:  # a stranger's module may fail in any way while it is imported
        raise UsageError(
            f"The embedder {name!r} cannot be loaded: {type(failure).__name__}: {failure}.", hint=_HINT
        ) from failure
    if not isinstance(getattr(embedder, "name", None), str) or not callable(getattr(embedder, "embed", None)):
        raise UsageError(f"The embedder {name!r} has no `name` or no `embed`.", hint=_HINT)
    return embedder


_HINT = "Set ALITA_EMBEDDER to a class that can be imported and takes no argument, or to a model's name."
