"""MeteredModel: a model of one role on a budget; calls are counted, and none goes on after its time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import anyio

from alita_mcp.models.budget import Meter
from alita_mcp.models.choices import Role
from alita_mcp.models.interface import Completion, LanguageModel, Message, ToolsRefused


class MeteredModel:
    """Model that asks another one on a meter's account, a bounded number of questions at once."""

    def __init__(
        self, model: LanguageModel, role: Role, meter: Meter, at_once: anyio.CapacityLimiter
    ) -> None:
        self.name = model.name
        self._model = model
        self._role = role
        self._meter = meter
        self._at_once = at_once

    async def complete(self, messages: Sequence[Message], **options: Any) -> Completion:
        """One completion.

        Raises:
            BudgetSpent: the work may not ask any more, or ran out of time while it waited.
            ToolsRefused: the model takes no tools; it counts as no call.
            ModelError: the model did not answer.
        """
        with anyio.move_on_after(self._meter.seconds_left):
            async with self._at_once:
                self._meter.begin(self._role)
                started = time.monotonic()
                try:
                    answer = await self._model.complete(messages, **options)
                except ToolsRefused:
                    self._meter.refused(self._role)
                    raise
                finally:
                    self._meter.waited(self._role, time.monotonic() - started)
            self._meter.note(self._role, answer)
            return answer
        raise self._meter.out_of_time()
