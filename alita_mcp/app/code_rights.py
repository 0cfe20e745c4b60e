"""Rights of code beyond computing: granted for one run, or by asking a person first."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import anyio

from alita_mcp.app.approvals import ask_for_approval
from alita_mcp.app.broker_factory import BrokerFactory
from alita_mcp.errors import InvalidArguments, ToolUnavailable
from alita_mcp.library.grants.code_approvals import AskedCode
from alita_mcp.library.grants.effective_grants import in_words
from alita_mcp.library.grants.hosts import ANY
from alita_mcp.library.library import Library
from alita_mcp.owners import ClientIdentity
from alita_mcp.progress import ReportStage
from alita_mcp.runs.code_run import CodeRequest
from alita_mcp.runs.execution import LIMITS
from alita_mcp.sandbox.broker.granted import GrantedBroker
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.jobs.person_questions import PendingQuestions
from alita_mcp.unseen import HIDDEN, code_listing
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
        self._approvals = library.code_approvals

    async def find_obstacle(
        self,
        request: CodeRequest,
        identity: ClientIdentity,
        person: PendingQuestions | None,
        on_stage: ReportStage,
    ) -> CodeWaits | None:
        """Finds out, and asks the person at the client, why code may not run yet; None when it may.

        Raises:
            InvalidArguments: it hides characters, asks for hosts without naming them, or is a step of a session.
            ToolUnavailable: it cannot be granted here.
        """
        # Case 1: it asks for nothing. Case 2: no person could read it as it is, or nobody could grant it.
        if request.grants.is_pure:
            return None
        if hidden := HIDDEN.search(request.code):
            line = request.code.count("\n", 0, hidden.start()) + 1
            raise InvalidArguments(
                f"Line {line} of the code holds the hidden character U+{ord(hidden.group()):04X}.",
                hint=f"Write it as the escape {hidden.group()!a}.",
            )
        if ANY in request.grants.network:
            raise InvalidArguments(
                "`needs` does not name its hosts.", hint="Name each host that the code reaches."
            )
        if self._settings.policy == "locked":
            raise ToolUnavailable(
                "ALITA_POLICY=locked: code gets no rights beyond computing.", hint="Run it without `needs`."
            )
        lacks = self._brokers.lacks(request.grants)
        if lacks:
            raise ToolUnavailable(f"The code cannot run here: it {'; '.join(lacks)}.")
        # Case 3: the policy grants it. Case 4: a person approved this very code before.
        if self._settings.policy == "auto":
            return None
        if request.session:  # what earlier steps left decides what it does, and no person sees that
            raise InvalidArguments(
                "A person approves the code that is shown, not what earlier steps of a session left.",
                hint="Run code with `needs` without `session`.",
            )
        asked = AskedCode(
            code=request.code,
            packages=request.packages,
            grants=request.grants,
            client=identity.client,
            owner=identity.owner,
        )
        if await anyio.to_thread.run_sync(self._approvals.is_approved, asked):
            return None
        # Case 5: the person at the client is asked, or one at the command decides later.
        number = await anyio.to_thread.run_sync(self._approvals.ask, asked)
        question = question_about(asked, number, self._settings.home.as_posix())
        refusal = ""
        if person is not None and question is not None:
            await on_stage("approval")
            refusal = await ask_for_approval(person, question)
            if not refusal:
                origin = {"from": "elicitation", **identity.journal_detail}
                await self._library.approve_code(number, asked.digest, origin)
                return None
        how = f"A person can approve it: `alita approve --code {number}`. Then call run_code again."
        return CodeWaits(grants=in_words(asked.grants), how=how, asked=refusal)

    def broker_for(
        self, request: CodeRequest, identity: ClientIdentity, workspace: Path | None = None
    ) -> GrantedBroker | None:
        """The broker that serves the rights of a client's code that may run; None for code that asks for none.

        `workspace` is its folder in place of the one in the settings.
        """
        if request.grants.is_pure:
            return None
        return self._brokers.broker_of(request.grants, LIMITS, CHAIN, workspace, identity)


def question_about(asked: AskedCode, number: str, home: str) -> str | None:
    """What a person is asked about code; None where it is too long to be read there."""
    if len(asked.code) > MAX_QUESTION:
        return None
    rights = "\n".join(f"  {line}" for line in in_words(asked.grants))
    lines = asked.code.count("\n") + 1
    # Between fences, for a client that takes the question for Markdown; no row of the listing can close them.
    listing = "\n".join(["```", *code_listing(asked.code), "```"])
    text = (
        f"Allow this code to run once with these rights? An agent wrote it; it was not verified.\n{rights}\n"
        f"Packages: {', '.join(asked.packages) or 'none'}. Library: {home}. Once approved, the same code may run "
        f"again, with any arguments (`alita revoke --code {number}` ends that). All {lines:,} lines of it:\n\n{listing}"
    )
    return text if len(text) <= MAX_QUESTION else None
