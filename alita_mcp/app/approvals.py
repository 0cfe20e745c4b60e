"""Approvals at a client: asks the person there about versions and code that ask for rights."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from alita_mcp.errors import AlitaError, ModelError, UsageError
from alita_mcp.library.grants.approving import last_approved_version, question_about
from alita_mcp.owners import ClientIdentity
from alita_mcp.progress import ReportStage
from alita_mcp.toolsmith.jobs.person_questions import Decision, PendingQuestions
from alita_mcp.toolsmith.requests.outcomes import Created, NeedsApproval, Outcome
from alita_mcp.values import StoredVersion

if TYPE_CHECKING:
    from alita_mcp.library.library import Library
    from alita_mcp.settings import Settings
    from alita_mcp.toolsmith.jobs.jobs import Jobs, SynthesisJob
    from alita_mcp.toolsmith.toolsmith import Toolsmith

MAX_REMEMBERED = 1_000


class Approvals:
    """Asks the person at a client about each version that waits, once for each client."""

    def __init__(
        self, settings: Settings, library: Library, jobs: Jobs, toolsmith: Callable[[], Toolsmith], alita: str
    ) -> None:
        """`alita`: how people call the command here."""
        self._settings, self._library, self._alita = settings, library, alita
        self._jobs, self._toolsmith = jobs, toolsmith
        self._asked: dict[tuple[str, str], SynthesisJob] = {}

    async def begin_asking(
        self, waiting: NeedsApproval, person: PendingQuestions, identity: ClientIdentity
    ) -> SynthesisJob | None:
        """Starts the job that asks and then approves or not; None where nothing can or need be asked.

        A question that is open already, or was answered at this client, is that job: none is asked twice.
        """
        # Case 1: the person answered already, or the policy lets nobody ask.
        if waiting.asked or self._settings.policy != "ask":
            return None
        await self._library.look_again()  # another server may have published it just now
        try:
            stored = await self._library.read(waiting.tool, waiting.version)
        except AlitaError:
            return None
        seen = self._library.entry(waiting.tool).manifest.version
        before = await last_approved_version(self._library, waiting.tool)
        question = question_about(stored, before, self._alita)
        if question is None:
            return None
        # Case 2: this client's person has the question, or had it. An approval that was taken back is asked again.
        granted = self._library.effective_grants.of(stored.manifest) is not None
        key = (identity.key, stored.manifest.digest)
        known = self._asked.get(key) if identity.key else None
        if known is not None and not (granted and known.finished):
            return None if known.failure else known

        # Case 3: a new question.
        async def work(enter: ReportStage) -> Outcome:
            await enter("approval")
            refusal = ""
            if not granted:
                refusal = await self._ask_and_approve(stored, person, question, seen, identity)
            if self._library.effective_grants.of(stored.manifest) is None:
                return waiting.model_copy(update={"asked": refusal})
            outcome = await self._toolsmith().outcome_of(stored.manifest, stored.report)
            if not isinstance(outcome, Created):
                return outcome
            return outcome.model_copy(update={"breaks": waiting.breaks})

        try:
            job = self._jobs.start(work, person=person, owner=identity.owner, parked=True)
        except UsageError:
            return None  # too many questions are open; the command is there for all
        if identity.key:
            self._asked[key] = job
            if len(self._asked) > MAX_REMEMBERED:
                del self._asked[next(iter(self._asked))]
        return job

    async def _ask_and_approve(
        self,
        stored: StoredVersion,
        person: PendingQuestions,
        question: str,
        seen: int,
        identity: ClientIdentity,
    ) -> str:
        """Asks, and approves the shown digest and no other; returns why it is not approved, empty where it is."""
        name, version = stored.manifest.name, stored.manifest.version
        refusal = await ask_for_approval(person, question)
        if refusal:
            await self._library.record(
                "not approved", name, {"why": refusal, **identity.journal_detail}, version
            )
            return refusal
        origin = {"from": "elicitation", **identity.journal_detail}
        try:
            await self._library.approve(name, stored.manifest.digest, seen=seen, origin=origin)
        except AlitaError as changed:
            return f"it was approved at this client, too late: {changed.message.rstrip('.')}"
        return ""


async def ask_for_approval(person: PendingQuestions, question: str) -> str:
    """Asks the person at a client; returns why they did not approve, empty where they did."""
    try:
        decision = await person.ask_person(question)
    except ModelError as unanswered:
        return f"the person at this client was asked without an answer ({unanswered.message.rstrip('.')})"
    return {
        Decision.APPROVED: "",
        Decision.DECLINED: "the person at this client declined it",
        Decision.CANCELLED: "the person at this client was asked and did not decide",
    }[decision]
