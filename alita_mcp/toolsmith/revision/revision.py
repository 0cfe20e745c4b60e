"""Revision of a published tool by models, from a complaint.

The new code is written from the old code, its examples and the complaint; one suite is written blind to both codes. It
is published as every update is: the examples of the version before must hold, but for those that the request gives up.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from pydantic import Field, JsonValue, field_validator

from alita_mcp.errors import ToolUnavailable
from alita_mcp.models.structured.asking import ask
from alita_mcp.toolsmith.requests.modes import REPAIR_TEMPERATURE, TESTER_TEMPERATURES, seed, temperature
from alita_mcp.toolsmith.requests.outcomes import Outcome, Rejected
from alita_mcp.toolsmith.requests.request import variation
from alita_mcp.toolsmith.requests.template import told_lacks
from alita_mcp.toolsmith.revision.proof import Proof
from alita_mcp.toolsmith.revision.published import Predecessor
from alita_mcp.toolsmith.specification.assumptions import MAX_RULE, MAX_RULES
from alita_mcp.toolsmith.specification.values import Suite, WrittenCode
from alita_mcp.toolsmith.updating import is_named
from alita_mcp.toolsmith.writing import prompts
from alita_mcp.toolsmith.writing.candidate_sampler import CandidateCode, side_by_side
from alita_mcp.toolsmith.writing.prompts import Brief
from alita_mcp.toolsmith.writing.work import Work
from alita_mcp.values import Example
from alita_mcp.verification.agreement.matrix import pooled, prepare, run_row
from alita_mcp.verification.code.contract import read_contract
from alita_mcp.verification.examples.suite import contradict
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal


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
        self._work, self._request, self._models = work, work.request, work.models
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
        await self._work.on_stage("update")
        base = await self._read_base()
        if isinstance(base, Rejected):
            return base
        brief = await self._brief(base)
        await self._work.on_stage("code")
        suite, (candidate, rules) = await side_by_side(
            partial(self._write_suite, base, brief), partial(self._write_code, base, brief)
        )
        proof = Proof(self._work, base, self._fitting(base, suite))
        return await proof.until_it_holds(candidate, rules)

    async def _read_base(self) -> Predecessor | Rejected:
        """What is known of the version, unless the request contradicts an example that it does not give up."""
        try:
            version = await self._work.context.library.read(self._request.name)
        except ToolUnavailable as damaged:
            fix = "Send the whole code with update=true, or roll back."
            return Rejected(stage="policy", reason=damaged.message, fix=fix)
        manifest, tests = version.manifest, self._request.tests
        prepared = await prepare(version.draft, self._rehearsal, self._work.on_stage)
        prepared, row = await run_row(prepared, tests, self._rehearsal)
        contract = read_contract(version.code, manifest.name, manifest.description)
        base = Predecessor(version, contract, prepared, row.checks if row else ())
        against = [
            old.arguments
            for old in base.examples_held(self._request)
            if any(is_named(old, test.arguments) and contradict(old, test) for test in tests)
        ]
        if not against:
            return base
        return Rejected(
            stage="examples",
            reason=f"tests: an example of {base.called} says otherwise for the same arguments.",
            case=against[0],
            fix="If the new result is meant, name the arguments of each in `breaks`, as listed here.",
            breaks=tuple(against),
        )

    async def _brief(self, base: Predecessor) -> Brief:
        """What the writer of tests is told: what the tool is for and what is wrong, no code, no example."""
        manifest = base.version.manifest
        varying = variation(self._request.varies or manifest.varies)
        said = f"{self._request.description.strip()}\n{varying}\n(said of a tool that is published for this request:)\n"
        said += base.request
        specification = base.specification()
        if specification is None:
            said = "\n".join((said, manifest.description, base.signature, *base.rules()))
        return Brief(
            request=said,
            specification=specification,
            sandbox=await told_lacks(self._work.context.sandbox),
            grants=manifest.grants,
        )

    async def _write_code(self, base: Predecessor, brief: Brief) -> tuple[CandidateCode, tuple[str, ...]]:
        """The first draft of the new code, and the rules that it changes."""
        tests = self._request.tests
        held: list[dict[str, JsonValue]] = [
            test.as_json() | ({"now": check.got} if check is not None and not check.passed else {})
            for test, check in zip(tests, base.own or (None,) * len(tests), strict=True)
        ]
        held += [old.as_json() for old in base.examples_held(self._request)]
        asked = prompts.revise(brief, base.version.code, self._request.description.strip(), held)
        answered = await ask(
            self._models.role("coder"), asked, RevisedCode, temperature=REPAIR_TEMPERATURE, seed=seed(1, 0)
        )
        written = WrittenCode(code=answered.value.code, packages=answered.value.packages)
        candidate = CandidateCode(index=0, written=written, asked=tuple(asked), text=answered.text)
        return candidate, answered.value.rules

    async def _write_suite(self, base: Predecessor, brief: Brief) -> Suite:
        """One suite, blind to code and to examples."""
        tester, heat = self._models.role("tester"), temperature(TESTER_TEMPERATURES, 0)
        asked, schema = prompts.write_tests(brief, 0), Suite.schema_for(base.contract)
        return (await ask(tester, asked, Suite, temperature=heat, seed=seed(1, 0), schema=schema)).value

    def _fitting(self, base: Predecessor, suite: Suite) -> tuple[Example, ...]:
        """The blind tests about which neither the request nor an example that must hold decides."""
        settled = [each.arguments for each in (*self._request.tests, *base.examples_held(self._request))]
        tests, _ = pooled([suite.fitting(base.contract)])
        return tuple(test for test in tests if not is_named(test, *settled))
