"""Values that a search returns: the tools, best first, and how sure it is that one fits."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from alita_mcp.library.rows import CatalogueEntry
from alita_mcp.values import Trust, Value

Fit = Literal["match", "possible", "none"]


class SearchHit(Value):
    """Tool that may serve the need."""

    name: str
    version: int
    signature: str
    """As in `slugify(text: str, max_length?: int) -> str`."""
    summary: str
    trust: Trust
    score: float
    """Calibrated probability that this is the tool asked for."""
    entry: CatalogueEntry = Field(exclude=True, repr=False)
    """The tool as it stood when it was found; no part of what travels."""


class SearchAnswer(Value):
    """What `search_capabilities` found."""

    fit: Fit
    """`match`: call the first result. `possible`: read them and judge. `none`: make a new tool."""
    total: int
    """How many tools there are to be found at all."""
    results: tuple[SearchHit, ...]
