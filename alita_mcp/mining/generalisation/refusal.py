"""Error of runs that amount to no function."""

from __future__ import annotations

from alita_mcp.errors import AlitaError
from alita_mcp.mining.values import NotGeneral


class NoFunctionError(AlitaError):
    """Error of runs that amount to no function by their syntax alone; `generalise` returns it as `NotGeneral`."""

    def __init__(self, why: str, *, writable: bool = True) -> None:
        super().__init__(why)
        self.verdict = NotGeneral(why=why, writable=writable)
