"""Base class of all values: frozen pydantic models that refuse unknown fields."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A frozen value; unknown fields are refused. What models read of one is a field's description: quick to load."""

    model_config = ConfigDict(frozen=True, extra="forbid")
