"""The one way in which the steps of making a function of runs give up."""

from __future__ import annotations

from alita_mcp.errors import AlitaError
from alita_mcp.mining.values import NotGeneral


class NoFunctionError(AlitaError):
    """Runs amount to no function by their syntax alone; `generalise` answers it as `NotGeneral`."""

    def __init__(self, why: str, *, model_could: bool = True) -> None:
        super().__init__(why)
        self.verdict = NotGeneral(why=why, model_could=model_could)
