"""Rights of a task's code: it may read the files of the task, and nothing else beyond computing."""

from __future__ import annotations

from pathlib import Path

from alita_mcp.app.broker_factory import BrokerFactory
from alita_mcp.app.learning import ClientIdentity
from alita_mcp.app.runs.rights import CHAIN, CodeWaits
from alita_mcp.errors import ToolUnavailable
from alita_mcp.interpreter.code_run import CodeRequest
from alita_mcp.interpreter.running import LIMITS
from alita_mcp.progress import ReportStage
from alita_mcp.sandbox.broker.granted import GrantedBroker
from alita_mcp.synthesis.jobs.person_questions import PendingQuestions
from alita_mcp.values import Grants

FILES = Grants(workspace="read")


class TaskRights:
    """Grants the files of one run to its code: the person who gave them to the task did so by that."""

    def __init__(self, brokers: BrokerFactory, folder: Path) -> None:
        self._brokers = brokers
        self._folder = folder

    async def waits(
        self,
        request: CodeRequest,
        identity: ClientIdentity,
        person: PendingQuestions | None,
        on_stage: ReportStage,
    ) -> CodeWaits | None:
        """None: it may run.

        Raises:
            ToolUnavailable: it asks for more than the files of the task.
        """
        del identity, person, on_stage
        if not request.grants.is_pure and request.grants != FILES:
            raise ToolUnavailable("Code of a task reads its files and computes; it is granted nothing else.")
        return None

    def broker(self, request: CodeRequest) -> GrantedBroker | None:
        """Answers for the files; None for code that has none."""
        if request.grants.is_pure:
            return None
        return self._brokers.broker_of(FILES, LIMITS, CHAIN, self._folder)
