"""Revision of a published tool by models, from a complaint or overruled rules.

The new code is written from the old code, its examples and the complaint; one suite is written blind to both codes. It
is published as every update is: the examples of the version before must hold, but for those that the request gives up.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from pydantic import Field, JsonValue, field_validator

from alita_mcp.models.structured.asking import ask
from alita_mcp.synthesis.pipeline import Pipeline
from alita_mcp.synthesis.requests.modes import REPAIR_TEMPERATURE, TESTER_TEMPERATURES, seed, temperature
from alita_mcp.synthesis.requests.outcomes import Outcome, Rejected
from alita_mcp.synthesis.requests.request import variation
from alita_mcp.synthesis.requests.template import told_lacks
from alita_mcp.synthesis.revision.overruling import overruled, written_by_models
from alita_mcp.synthesis.revision.proof import Proof
from alita_mcp.synthesis.revision.published import (
    Predecessor,
    called,
    contract_of,
    described_anew,
    held_by,
    readable,
    signature_in,
    specification_of,
)
from alita_mcp.synthesis.specification.values import Suite, WrittenCode
from alita_mcp.synthesis.updating import is_named
from alita_mcp.synthesis.writing import prompts
from alita_mcp.synthesis.writing.candidate_sampler import CandidateCode, side_by_side
from alita_mcp.synthesis.writing.prompts import Brief
from alita_mcp.synthesis.writing.work import Work
from alita_mcp.values import Example, StoredVersion
from alita_mcp.verification.agreement.matrix import pooled, prepare, run_row
from alita_mcp.verification.examples.suite import contradict
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal

MAX_RULE = 500
MAX_RULES = 30


class RevisedCode(WrittenCode):
    """Module of the next version, with the rules that it changed."""

    rules: tuple[str, ...] = Field(default=(), max_length=MAX_RULES)

    @field_validator("rules", mode="before")
    @classmethod
    def _readable(cls, rules: Any) -> tuple[str, ...]:
        lines = rules if isinstance(rules, list | tuple) else ()
        return tuple(" ".join(line.split())[:MAX_RULE] for line in lines if isinstance(line, str))[:MAX_RULES]


class Revision:
    """One revision of a published tool."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._context = work.context
        self._request = work.request
        self._models = work.models
        self._on_stage = work.on_stage
        self._rehearsal = Rehearsal(work.context.sandbox, work.context.library.read)

    async def make(self) -> Outcome:
        """The outcome; the published version stands as it is unless the new one passes all gates.

        Raises:
            ModelError: the models did not write what is needed for a first attempt.
            SandboxError: the sandbox failed.
        """
        if not self._request.name:
            fix = "Send name with it, or leave update out."
            return Rejected(stage="schema", reason="update: the request names no tool.", fix=fix)
        await self._on_stage("update")
        version = await readable(self._context.library, self._request.name)
        if version is None:
            request = described_anew(self._request, self._context.library)
            return await Pipeline(replace(self._work, request=request)).make()
        base = await self._base(version)
        if isinstance(base, Rejected):
            return base
        brief = await self._brief(base)
        await self._on_stage("code")
        suite, (candidate, rules) = await side_by_side(
            partial(self._suite, base, brief), partial(self._written, base, brief)
        )
        proof = Proof(self._work, base, self._fitting(base, suite))
        return await proof.until_it_holds(candidate, rules)

    async def _base(self, version: StoredVersion) -> Predecessor | Rejected:
        """What is known of the version, unless the request contradicts an example that it does not give up."""
        named = called(version)
        rules = overruled(version.report.written_from, self._request.overrule, named)
        if isinstance(rules, Rejected):
            return rules
        against = [old for old in held_by(version, self._request) if self._contradicts(old)]
        if against:
            return Rejected(
                stage="examples",
                reason=f"tests: an example of {named} says otherwise for the same arguments.",
                case=against[0].arguments,
                fix="If the new result is meant, name the arguments of each in `breaks`, as listed here.",
                breaks=tuple(old.arguments for old in against),
            )
        prepared = await prepare(version.draft, self._rehearsal, self._on_stage)
        prepared, row = await run_row(prepared, self._request.tests, self._rehearsal)
        return Predecessor(version, contract_of(version), prepared, rules, row.checks if row else ())

    def _contradicts(self, old: Example) -> bool:
        return any(is_named(old, test.arguments) and contradict(old, test) for test in self._request.tests)

    async def _brief(self, base: Predecessor) -> Brief:
        """What the writer of tests is told: what the tool is for and what is wrong, no code, no example."""
        before = base.version.report.written_from
        request = before.request if before else base.version.manifest.description
        varying = variation(self._request.varies or base.version.manifest.varies)
        said = f"{self._complaint(base)}\n{varying}\n(said of a tool that is published for this request:)\n{request}"
        specification = specification_of(base.version, base.rules.all)
        if specification is None:
            manifest = base.version.manifest
            signature = signature_in(base.version.code, manifest.name)
            said = "\n".join((said, manifest.description, signature, *base.rules.all))
        return Brief(
            request=said,
            specification=specification,
            sandbox=await told_lacks(self._context.sandbox),
            grants=base.version.manifest.grants,
        )

    def _complaint(self, base: Predecessor) -> str:
        return "\n".join((*base.rules.changed, self._request.description)).strip()

    async def _written(self, base: Predecessor, brief: Brief) -> tuple[CandidateCode, tuple[str, ...]]:
        """The first draft of the new code, and the rules that it changes."""
        tests = self._request.tests
        held: list[dict[str, JsonValue]] = [
            test.as_json() | ({"now": check.got} if check is not None and not check.passed else {})
            for test, check in zip(tests, base.own or (None,) * len(tests), strict=True)
        ]
        held += [old.as_json() for old in held_by(base.version, self._request)]
        asked = prompts.revise(brief, base.version.code, self._complaint(base), held)
        answered = await ask(
            self._models.role("coder"), asked, RevisedCode, temperature=REPAIR_TEMPERATURE, seed=seed(1, 0)
        )
        written = WrittenCode(code=answered.value.code, packages=answered.value.packages)
        candidate = CandidateCode(index=0, written=written, asked=tuple(asked), text=answered.text)
        return candidate, answered.value.rules

    async def _suite(self, base: Predecessor, brief: Brief) -> Suite:
        """One suite, blind to code and to examples."""
        tester, heat = self._models.role("tester"), temperature(TESTER_TEMPERATURES, 0)
        asked, schema = prompts.write_tests(brief, 0), Suite.schema_for(base.contract)
        return (await ask(tester, asked, Suite, temperature=heat, seed=seed(1, 0), schema=schema)).value

    def _fitting(self, base: Predecessor, suite: Suite) -> tuple[Example, ...]:
        """The blind tests about which neither the request nor an example that must hold decides."""
        by_models = written_by_models(base.version) if self._request.overrule else ()
        settled = [
            *self._request.tests,
            *(old for old in held_by(base.version, self._request) if old not in by_models),
        ]
        tests, _ = pooled([suite.fitting(base.contract)])
        return tuple(test for test in tests if not is_named(test, *(each.arguments for each in settled)))
