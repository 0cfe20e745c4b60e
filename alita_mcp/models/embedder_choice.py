"""Choice of the embedder that a setting names: a model2vec folder or name, or a Python class."""

from __future__ import annotations

import logging
import re
from importlib import import_module

from alita_mcp.errors import ExtraMissing, UsageError
from alita_mcp.extras import find_extra_problem, require_extra
from alita_mcp.models.embedding.interface import Embedder
from alita_mcp.models.embedding.model2vec import BUILT_IN, PREFIX, Model2vecEmbedder, is_folder
from alita_mcp.settings import Settings

NONE = "none"
"""The value of ALITA_EMBEDDER that turns meaning off."""
A_CLASS = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


_log = logging.getLogger(__name__)


def search_embedder(settings: Settings) -> Embedder | None:
    """The embedder of tool search: the one that the settings name, else the built-in table; None: search by words.

    Raises:
        UsageError: as `choose_embedder`.
    """
    if settings.embedder == NONE or (settings.embedder is None and find_extra_problem("search")):
        return None
    try:
        return choose_embedder(settings.embedder or BUILT_IN)
    except ExtraMissing as absent:
        _log.warning("Search goes by words: %s", absent)
        return None


def choose_embedder(choice: str) -> Embedder:
    """A model2vec folder, `model2vec/NAME` or a `module:Class`.

    Nothing but a class is loaded yet: a table that cannot be used shows at its first use.

    Raises:
        UsageError: the folder holds no model, there is no such class, or it is none of these.
        ExtraMissing: vectors cannot be kept.
    """
    require_extra("search", f"ALITA_EMBEDDER={choice!r}")
    if choice.startswith(PREFIX) or is_folder(choice):
        return Model2vecEmbedder(choice if choice == BUILT_IN else choice.removeprefix(PREFIX))
    if not A_CLASS.fullmatch(choice):
        hint = "Use `none`, a folder in model2vec's format, model2vec/NAME, or module:Class."
        raise UsageError(f"ALITA_EMBEDDER={choice!r} names no embedder.", hint=hint)
    module, _, kind = choice.partition(":")
    hint = (
        "Set ALITA_EMBEDDER to a class that can be imported, takes no argument, and has `name` and `embed`."
    )
    try:
        embedder: Embedder = getattr(import_module(module), kind)()
    except Exception as failure:  # a stranger's module may fail in any way while it is imported
        problem = f"cannot be loaded: {type(failure).__name__}: {failure}"
        raise UsageError(f"The embedder {choice!r} {problem}.", hint=hint) from failure
    if not isinstance(getattr(embedder, "name", None), str) or not callable(getattr(embedder, "embed", None)):
        raise UsageError(f"The embedder {choice!r} has no `name` or no `embed`.", hint=hint)
    return embedder
