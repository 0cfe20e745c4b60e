"""Rights of code beyond computing: grants them for one run, or asks a person first."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import anyio

from alita_mcp.app.broker_factory import BrokerFactory
from alita_mcp.app.learning import ClientIdentity
from alita_mcp.errors import InvalidArguments, ModelError, ToolUnavailable
from alita_mcp.library.grants.code_approvals import AskedCode, CodeApprovals
from alita_mcp.library.grants.effective_grants import in_words
from alita_mcp.library.grants.hosts import ANY
from alita_mcp.library.library import Library
from alita_mcp.progress import ReportStage
from alita_mcp.runs.code_run import CodeRequest
from alita_mcp.runs.execution import LIMITS
from alita_mcp.sandbox.broker.granted import GrantedBroker
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.jobs.person_questions import Decision, PendingQuestions
from alita_mcp.values import Value

CHAIN = ("run_code",)
"""What stands first in the chain of tools that code calls."""
MAX_QUESTION = 4_000
"""Characters; longer code is approved by the command, where all of it can be read."""


class CodeWaits(Value):
    """Outcome: nothing ran, a person decides first."""

    status: Literal["needs_approval"] = "needs_approval"
    grants: tuple[str, ...]
    """What it asks for, each right in a few words."""
    how: str
    asked: str = ""
    """Result of asking the person at this client; empty where no question was put there."""


class CodeRights:
    """Decides by policy, by what a person approved before, and by asking the person at the client."""

    def __init__(self, settings: Settings, library: Library, brokers: BrokerFactory) -> None:
        self._settings = settings
        self._library = library
        self._brokers = brokers
        self._approvals = CodeApprovals(settings.home)

    async def waits(
        self,
        request: CodeRequest,
        identity: ClientIdentity,
        person: PendingQuestions | None,
        on_stage: ReportStage,
    ) -> CodeWaits | None:
        """Why code may not run yet; None when it may.

        Raises:
            InvalidArguments: it asks for hosts without naming them.
            ToolUnavailable: it cannot be granted here.
        """
        if request.grants.is_pure:
            return None
        self._refuse_impossible(request)
        if self._settings.policy == "auto":
            return None
        asked = AskedCode(
            code=request.code, packages=request.packages, grants=request.grants, client=identity.client
        )
        if await anyio.to_thread.run_sync(self._approvals.is_approved, asked):
            return None
        number = await anyio.to_thread.run_sync(self._approvals.ask, asked)
        said = await self._said_at_client(asked, number, person, on_stage)
        if said is None:
            await anyio.to_thread.run_sync(self._approvals.approve, number, asked.digest)
            origin = {"from": "elicitation", "client": identity.client, "digest": asked.digest}
            await self._library.record("code approved", None, origin)
            return None
        words, how = in_words(asked.grants), f"A person can approve it: `alita approve --code {number}`."
        return CodeWaits(grants=words, how=f"{how} Then call run_code again.", asked=said)

    def broker(self, request: CodeRequest, workspace: Path | None = None) -> GrantedBroker | None:
        """The broker that serves the rights of code that may run; None for code that asks for none.

        `workspace` is its folder in place of the one that the settings name.
        """
        if request.grants.is_pure:
            return None
        return self._brokers.broker_of(request.grants, LIMITS, CHAIN, workspace)

    def _refuse_impossible(self, request: CodeRequest) -> None:
        if ANY in request.grants.network:
            raise InvalidArguments(
                "needs: hosts have to be named.", hint="Name each host that the code reaches."
            )
        if self._settings.policy == "locked":
            raise ToolUnavailable(
                "Code is granted nothing beyond computing here: ALITA_POLICY is locked.",
                hint="Run it without needs.",
            )
        lacks = self._brokers.lacks(request.grants)
        if lacks:
            raise ToolUnavailable(f"The code cannot run here: {'; '.join(lacks)}.")

    async def _said_at_client(
        self, asked: AskedCode, number: str, person: PendingQuestions | None, on_stage: ReportStage
    ) -> str | None:
        """What the person at the client said instead of yes; None for a yes, empty where no question was put."""
        question = question_about(asked, number, self._settings.home.as_posix())
        if person is None or question is None:
            return ""
        await on_stage("approval")
        try:
            decision = await person.ask_person(question)
        except ModelError as unanswered:
            return f"the person at this client was asked without an answer ({unanswered.message.rstrip('.')})"
        if decision is Decision.APPROVED:
            return None
        return (
            f"the person at this client {'declined' if decision is Decision.DECLINED else 'did not decide'}"
        )


def question_about(asked: AskedCode, number: str, home: str) -> str | None:
    """What a person is asked about code; None where it is too long to be read there."""
    asked_lines = "\n".join(f"  {line}" for line in in_words(asked.grants))
    shown = "".join(
        each if each.isprintable() or each in "\n\t" else "\N{REPLACEMENT CHARACTER}" for each in asked.code
    )
    text = (
        f"May this code run once with what it asks for? An agent wrote it, and nobody proved it.\n{asked_lines}\n"
        f"Packages: {', '.join(asked.packages) or 'none'}. Library: {home}. Approved, it may run again word for word "
        f"(`alita revoke --code {number}` ends that).\n\n{shown}"
    )
    return text if len(text) <= MAX_QUESTION else None
