"""Approvals at a client: asks the person there about a version that waits for grants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alita_mcp.app.learning import ClientIdentity
from alita_mcp.errors import AlitaError, ModelError, UsageError
from alita_mcp.library.grants.approving import last_approved_version, question_about
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
_SAID = {
    Decision.DECLINED: "the person at this client declined it",
    Decision.CANCELLED: "the person at this client was asked and did not decide",
}


class Approvals:
    """Asks the person at a client about each version that waits, once for each client."""

    def __init__(
        self, settings: Settings, library: Library, jobs: Jobs, toolsmith: Toolsmith, alita: str
    ) -> None:
        """`alita`: how people call the command here."""
        self._settings = settings
        self._library = library
        self._jobs = jobs
        self._toolsmith = toolsmith
        self._alita = alita
        self._asked: dict[tuple[str, str], SynthesisJob] = {}

    async def begin(
        self, waiting: NeedsApproval, person: PendingQuestions, identity: ClientIdentity
    ) -> SynthesisJob | None:
        """The job that asks and then approves or not; None where no person can be asked, or nothing is left to ask.

        A question that is open already, or was answered at this client, is that job: none is asked twice.
        """
        if waiting.asked or self._settings.policy != "ask":
            return None
        try:
            stored = await self._library.read(waiting.tool, waiting.version)
        except AlitaError:
            return None
        seen = self._library.entry(waiting.tool).manifest.version
        before = await last_approved_version(self._library, waiting.tool)
        question = question_about(stored, before, self._alita)
        if question is None:
            return None
        granted = self._library.effective_grants.of(stored.manifest) is not None
        key = (identity.key, stored.manifest.digest)
        known = self._asked.get(key) if identity.key else None
        if known is not None and not (granted and known.finished):
            return None if known.failure else known

        async def work(enter: ReportStage) -> Outcome:
            await enter("approval")
            said = "" if granted else await self._decided(stored, person, question, seen, identity)
            return await self._standing(waiting, stored, said)

        try:
            job = self._jobs.start(work, person=person, parked=True)
        except UsageError:
            return None  # too many questions are open; the command is there for all
        if identity.key:
            self._remember(key, job)
        return job

    async def _decided(
        self,
        stored: StoredVersion,
        person: PendingQuestions,
        question: str,
        seen: int,
        identity: ClientIdentity,
    ) -> str:
        """Asks, and approves the shown digest and no other; returns why it is not approved, empty where it is."""
        manifest = stored.manifest
        try:
            decision = await person.ask_person(question)
        except ModelError as unanswered:
            said = f"the person at this client was asked without an answer ({unanswered.message.rstrip('.')})"
        else:
            if decision is Decision.APPROVED:
                return await self._approve(stored, seen, identity)
            said = _SAID[decision]
        detail = {"why": said, "client": identity.client}
        await self._library.record("not approved", manifest.name, detail, manifest.version)
        return said

    async def _approve(self, stored: StoredVersion, seen: int, identity: ClientIdentity) -> str:
        name, digest = stored.manifest.name, stored.manifest.digest
        origin = {"from": "elicitation", "client": identity.client}
        try:
            await self._library.approve(name, digest, seen=seen, origin=origin)
        except AlitaError as changed:
            return f"it was approved at this client, too late: {changed.message.rstrip('.')}"
        return ""

    async def _standing(self, waiting: NeedsApproval, stored: StoredVersion, said: str = "") -> Outcome:
        """The outcome as things stand now, with what the waiting one told of other tools."""
        if self._library.effective_grants.of(stored.manifest) is None:
            return waiting.model_copy(update={"asked": said})
        outcome = await self._toolsmith.outcome_of(stored.manifest, stored.report)
        if not isinstance(outcome, Created):
            return outcome
        told = {"similar": waiting.similar, "differs": waiting.differs, "breaks": waiting.breaks}
        return outcome.model_copy(update=told)

    def _remember(self, key: tuple[str, str], job: SynthesisJob) -> None:
        self._asked[key] = job
        if len(self._asked) > MAX_REMEMBERED:
            del self._asked[next(iter(self._asked))]
