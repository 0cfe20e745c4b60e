"""A toolsmith whose models are served over HTTP by a script."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

import anyio

from alita_mcp.library.library import Library
from alita_mcp.toolsmith.requests.outcomes import Outcome, Rejected
from alita_mcp.toolsmith.requests.request import read_request
from alita_mcp.toolsmith.toolsmith import Toolsmith
from tests.toolsmith.authors import REQUEST, Script
from tests.toolsmith.kept_runs import KeptRuns

WAIT_S = 300


@dataclass
class Bench:
    """One toolsmith, its library and what its models were asked."""

    library: Library
    smith: Toolsmith
    script: Script
    stages: list[str] = field(default_factory=list)
    runs: KeptRuns = field(default_factory=KeptRuns)

    async def make(self, **changes: Any) -> Outcome:
        async def hear(stage: str) -> None:
            self.stages.append(stage)

        request = read_request({"description": REQUEST, **changes})
        assert not isinstance(request, Rejected), request
        with anyio.fail_after(WAIT_S):
            return await self.smith.make(request, hear)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was published, not even half."""
        tools = self.library.home / "generated_tools"
        return not list(self.library.tools.entries()) and not list(tools.glob("*"))


OpenBench = Callable[..., AbstractAsyncContextManager[Bench]]
