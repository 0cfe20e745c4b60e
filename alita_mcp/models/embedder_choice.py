"""Choice of the embedder that a setting names: a model2vec folder or name, a Python class, or a model of litellm's."""

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


def embedder_from_settings(settings: Settings) -> Embedder | None:
    """The embedder that the settings name; None where they name none, or its packages are not installed: words do then.

    Raises:
        UsageError: as `choose_embedder`.
    """
    if settings.embedder in (None, NONE):
        return None
    try:
        return choose_embedder(settings.embedder)
    except ExtraMissing as absent:
        _log.warning("Search goes by words: %s", absent)
        return None


def search_embedder(settings: Settings) -> Embedder | None:
    """The embedder of tool search: the one that the settings name, else the built-in table; None: search by words.

    Raises:
        UsageError: as `choose_embedder`.
    """
    if settings.embedder is None and find_extra_problem("search") is None:
        return Model2vecEmbedder(BUILT_IN)
    return embedder_from_settings(settings)


def choose_embedder(choice: str) -> Embedder:
    """A model2vec folder or `model2vec/NAME`, a `module:Class`, else a model of litellm's with or without `base_url=`.

    Nothing but a class is loaded yet, and nothing asked: a model that cannot be used shows at its first use.

    Raises:
        UsageError: the folder holds no model, there is no such class, or an option is unknown.
        ExtraMissing: vectors cannot be kept, or the model not be reached.
    """
    name, _, base_url = choice.partition(" base_url=")
    feature = f"ALITA_EMBEDDER={name!r}"
    require_extra("search", feature)
    if name.startswith(PREFIX) or is_folder(name):
        return Model2vecEmbedder(name if name == BUILT_IN else name.removeprefix(PREFIX))
    if A_CLASS.fullmatch(name):
        module, _, kind = name.partition(":")
        hint = (
            "Set ALITA_EMBEDDER to a class that can be imported and takes no argument, or to a model's name."
        )
        try:
            embedder: Embedder = getattr(import_module(module), kind)()
        except Exception as failure:  # a stranger's module may fail in any way while it is imported
            raise UsageError(
                f"The embedder {name!r} cannot be loaded: {type(failure).__name__}: {failure}.", hint=hint
            ) from failure
        if not isinstance(getattr(embedder, "name", None), str) or not callable(
            getattr(embedder, "embed", None)
        ):
            raise UsageError(f"The embedder {name!r} has no `name` or no `embed`.", hint=hint)
        return embedder
    if " " in name:
        raise UsageError(
            f"ALITA_EMBEDDER={choice!r} has an option that an embedder does not have.",
            hint="Write NAME, or NAME base_url=URL.",
        )
    require_extra("models", feature)
    from alita_mcp.models.litellm.embedder import LitellmEmbedder

    return LitellmEmbedder(name, base_url.strip() or None)
