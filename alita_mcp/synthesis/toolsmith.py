"""The toolsmith: a request in, a published version or the reason why not out."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from contextlib import aclosing

from pydantic import ValidationError

from alita_mcp.errors import NameTaken, ToolNotFound, ToolUnavailable
from alita_mcp.library.files import manifest_of
from alita_mcp.library.library import Library
from alita_mcp.library.permits import how_to_grant, in_words
from alita_mcp.models.seam import LanguageModel
from alita_mcp.sandbox.seam import Sandbox
from alita_mcp.settings import Settings
from alita_mcp.synthesis.duplicates import find_same_behaviour
from alita_mcp.synthesis.grants import grants_of, unfit_grants
from alita_mcp.synthesis.outcomes import Created, Exists, NeedsApproval, Outcome, Rejected, rejection
from alita_mcp.synthesis.request import EXAMPLE_SHAPE, SynthesisRequest
from alita_mcp.synthesis.template import ask_for_code
from alita_mcp.synthesis.writer import Writer
from alita_mcp.values import (
    META_TOOLS,
    TOOL_NAME,
    AcceptedVersion,
    CatalogueEntry,
    Draft,
    Manifest,
    VerificationReport,
)
from alita_mcp.verification.verify import verify

OnStage = Callable[[str], Awaitable[None]]
Admit = Callable[[Manifest], tuple[str, ...]]


class Toolsmith:
    """Brings drafts through the gates and into the library."""

    def __init__(
        self,
        library: Library,
        sandbox: Sandbox,
        settings: Settings,
        admit: Admit,
        model: LanguageModel | None = None,
    ) -> None:
        self._library = library
        self._sandbox = sandbox
        self._settings = settings
        self._admit = admit
        self._model = model

    async def make(self, request: SynthesisRequest, on_stage: OnStage) -> Outcome:
        """One synthesis from start to end; a failing sandbox is raised, a failing draft is an answer."""
        if self._settings.policy == "locked":
            return Rejected(
                stage="policy",
                reason="This server takes no new tools: ALITA_POLICY is locked.",
                fix="Use the tools that search_capabilities finds.",
            )
        if request.code.strip():
            return await self._make_from_code(request, on_stage)
        if self._model is not None and request.description.strip():
            return await self._make_with(Writer(self._model), request, on_stage)
        await on_stage("search")
        text = f"{request.name} {request.description}".strip()
        return ask_for_code(request, await self._library.similar(text))

    async def _make_with(self, writer: Writer, wish: SynthesisRequest, on_stage: OnStage) -> Outcome:
        """Lets a model write the tool; the same gates, and at most two repairs of the code."""
        await on_stage("write")
        outcome: Outcome | None = None
        async with aclosing(writer.requests(wish)) as written:
            async for request in written:
                outcome = await self._make_from_code(request, on_stage)
                writer.rejected = outcome if isinstance(outcome, Rejected) else None
                await on_stage("repair" if writer.rejected else "done")
        if outcome is None:
            raise AssertionError("a writer gives at least one request or raises")
        return outcome

    async def _make_from_code(self, request: SynthesisRequest, on_stage: OnStage) -> Outcome:
        draft = draft_of(request)
        if isinstance(draft, Rejected):
            return draft
        standing = self._standing(draft, update=request.update)
        if isinstance(standing, Exists | Rejected):
            return standing
        return await self._prove_and_publish(draft, standing, on_stage)

    def _standing(self, draft: Draft, *, update: bool) -> int | Exists | Rejected:
        """The version that the draft would follow (0: a new name), or why it may not be published."""
        try:
            entry: CatalogueEntry | None = self._library.entry(draft.name)
        except ToolNotFound:
            entry = None
        except ToolUnavailable as gone:
            return Rejected(stage="policy", reason=gone.message, fix=gone.hint or "Choose another name.")
        if entry is None:
            if not update:
                return 0
            return Rejected(
                stage="policy",
                reason=f"There is no tool {draft.name!r} to update.",
                fix="Leave out update, or name the tool that is to get a new version.",
            )
        if update:
            return max(entry.versions)
        return Exists(
            tool=entry.name,
            version=entry.manifest.version,
            why="a tool of this name exists; send update=true for a new version, or choose another name",
        )

    async def _prove_and_publish(self, draft: Draft, follows: int, on_stage: OnStage) -> Outcome:
        if follows and await self._is_current(draft):
            return Exists(tool=draft.name, version=follows, why="this is the current version, word for word")
        verdict = await verify(draft, self._sandbox, on_stage, self._library.read)
        failure = verdict.report.failure
        if failure is not None:
            return rejection(failure)
        if verdict.contract is None or verdict.lock is None:
            raise AssertionError("an accepted verdict carries contract and lock")
        if not follows:
            await on_stage("duplicates")
            names = await self._library.similar(f"{draft.name} {draft.description}")
            same = await find_same_behaviour(draft, verdict.contract, names, self._library, self._sandbox)
            if same is not None:
                return same
        accepted = AcceptedVersion(
            draft=draft, contract=verdict.contract, lock=verdict.lock, report=verdict.report
        )
        return await self._publish(accepted, follows, on_stage)

    async def _is_current(self, draft: Draft) -> bool:
        try:
            return (await self._library.read(draft.name)).draft == draft
        except ToolUnavailable:
            return False  # quarantined: a new version is the way out

    async def _publish(self, accepted: AcceptedVersion, follows: int, on_stage: OnStage) -> Outcome:
        problems = self._admit(manifest_of(accepted, follows + 1))
        if problems:
            return Rejected(
                stage="schema",
                reason="Some clients could not list this tool: " + "; ".join(problems) + ".",
                fix="Change the signature or the description so that it fits.",
            )
        await on_stage("publish")
        name = accepted.draft.name
        try:
            manifest = await self._library.publish(accepted, expected_version=follows)
        except NameTaken:
            entry = self._library.entry(name)
            return Exists(
                tool=name, version=entry.manifest.version, why="another client published this name first"
            )
        return await self._answer(manifest, accepted.report)

    async def _answer(self, manifest: Manifest, report: VerificationReport) -> Outcome:
        """What a published version can do now: all that it asks for was granted, or a person is needed."""
        name = manifest.name
        if self._settings.policy == "auto" and not manifest.grants.is_pure:
            await self._library.approve(name)
        asked = in_words(manifest.grants)
        if self._library.permits.of(manifest) is None:
            how = how_to_grant(manifest)
            return NeedsApproval(tool=name, version=manifest.version, grants=asked, how=how)
        return Created(
            tool=name,
            version=manifest.version,
            trust=manifest.trust,
            tests=f"{report.examples_passed}/{report.examples_total}",
            permissions=asked,
            report=f"alita://tools/{name}/v{manifest.version}/report",
        )


def draft_of(request: SynthesisRequest) -> Draft | Rejected:
    """The draft that a request describes, or what it lacks."""
    lack = _lack_of(request)
    if lack is not None:
        return lack
    try:
        return Draft(
            name=request.name,
            description=request.description.strip(),
            code=request.code,
            examples=request.tests,
            use_when=request.use_when,
            packages=request.packages,
            grants=grants_of(request),
        )
    except ValidationError as invalid:
        problem = invalid.errors(include_url=False, include_context=False)[0]
        return Rejected(
            stage="schema",
            reason=f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}.",
            fix="Send the field as the input schema says.",
        )


def _lack_of(request: SynthesisRequest) -> Rejected | None:
    if not re.fullmatch(TOOL_NAME, request.name):
        return Rejected(
            stage="schema",
            reason=f"name: {request.name[:80]!r} is not a tool name.",
            fix="3 to 40 lower-case letters, digits and underscores, beginning with a letter: csv_to_json.",
        )
    if request.name in META_TOOLS:
        taken = f"name: {request.name!r} is one of the server's own tools."
        return Rejected(stage="schema", reason=taken, fix="Choose another name.")
    refused = unfit_grants(request)
    if refused is not None:
        return refused
    if not request.tests:
        return Rejected(
            stage="examples",
            reason="tests: there are none, so nothing would be proved.",
            fix="Give at least 3 with different results, one an edge or error case. " + EXAMPLE_SHAPE,
        )
    return None
