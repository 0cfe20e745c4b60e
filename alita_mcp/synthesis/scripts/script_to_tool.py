"""Tool from a plain script: models write a typed function that gives what the script prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from alita_mcp.models.structured.asking import ask
from alita_mcp.sandbox.interface import RunResult
from alita_mcp.synthesis.jobs.recorded import also_recorded
from alita_mcp.synthesis.pipeline import Pipeline, named
from alita_mcp.synthesis.requests.grants import grants_of
from alita_mcp.synthesis.requests.outcomes import Exists, Outcome, Rejected
from alita_mcp.synthesis.requests.template import told_lacks
from alita_mcp.synthesis.scripts.script_runs import (
    MAX_RUNS,
    Results,
    ScriptRun,
    ScriptSpecification,
    lacks_lines,
    run_script,
    says_the_same,
    wants_input,
)
from alita_mcp.synthesis.specification.values import Specification, fits
from alita_mcp.synthesis.writing import prompts
from alita_mcp.synthesis.writing.prompts import Brief
from alita_mcp.synthesis.writing.work import Work
from alita_mcp.values import Example
from alita_mcp.verification.examples.trials import failure_in_words
from alita_mcp.verification.findings import ContractError

_MEND = "Send a script that runs to its end, or a function with tests."


class ScriptToTool:
    """Makes one script a tool; its runs are examples that no writer of the function sees."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._context = work.context
        self._request = work.request
        self._models = work.models
        self._on_stage = work.on_stage

    async def make(self) -> Outcome:
        """The outcome; a script that does not run is refused before any model is asked.

        Raises:
            ModelError: the models did not write what is needed for a first attempt.
            SandboxError: the sandbox failed.
        """
        await self._on_stage("run")
        broken = await self._broken()
        if broken is not None:
            return broken
        lessons = await self._context.advice.lessons.recall(self._request.description)
        brief = Brief(
            request=self._request.description,
            lessons=lessons,
            script=self._request.code,
            sandbox=await told_lacks(self._context.sandbox),
            grants=grants_of(self._request),
        )
        await self._on_stage("spec")
        specification = await self._specified(brief)
        if isinstance(specification, Exists | Rejected):
            return specification
        await self._on_stage("run")
        ran = await self._observed(specification)
        examples = await self._examples(brief, specification, ran)
        if not examples:
            return Rejected(
                stage="examples",
                reason="no run of the script shows what the function should give",
                fix="Give tests of your own, or a script whose output follows from its input.",
            )
        tests, recorded = (*self._request.tests, *examples), also_recorded(self._request.recorded, examples)
        request = self._request.model_copy(update={"code": "", "tests": tests, "recorded": recorded})
        plain = Specification.model_validate(specification.model_dump())
        pipeline = Pipeline(replace(self._work, request=request))
        return await pipeline.attempts(brief.model_copy(update={"specification": plain}))

    async def _broken(self) -> Rejected | None:
        """The rejection of a script that fails for another reason than missing input."""
        try:
            result = await run_script(self._request.code, ScriptRun(), self._context.sandbox)
        except ContractError as wrong:
            return Rejected(stage="static", reason=wrong.check.message, fix=wrong.check.fix)
        if result.ok or wants_input(result):
            return None
        reason = f"the script {failure_in_words(result)}"
        return Rejected(stage="examples", reason=reason, trace=result.trace[-10:], fix=_MEND)

    async def _specified(self, brief: Brief) -> ScriptSpecification | Exists | Rejected:
        request = self._request
        planner = self._models.role("planner")
        asked = prompts.specify_script(brief, request.name)
        specification = (
            await ask(planner, asked, ScriptSpecification, temperature=0.2, lacks=Specification.lacks)
        ).value
        return named(specification, request, self._context.submission) or specification

    async def _observed(self, specification: ScriptSpecification) -> list[tuple[ScriptRun, RunResult]]:
        """The runs that the specification names, as far as they tell something about the function."""
        contract = specification.contract()
        observed = []
        for run in specification.runs[:MAX_RUNS]:
            if not fits(run.arguments, contract):
                continue
            result = await run_script(self._request.code, run, self._context.sandbox)
            if result.ok or (result.status == "error" and not lacks_lines(result)):
                observed.append((run, result))
        return observed

    async def _examples(
        self, brief: Brief, specification: ScriptSpecification, ran: Sequence[tuple[ScriptRun, RunResult]]
    ) -> tuple[Example, ...]:
        """Each run as an example; a result that a model reads from the output counts only if it says the same."""
        failing = [
            Example(arguments=run.arguments, raises=result.error_type.rsplit(".", 1)[-1])
            for run, result in ran
            if not result.ok
        ]
        shown = [(run, result) for run, result in ran if result.ok]
        if not shown:
            return ()
        printed = [(run.arguments, result.stdout) for run, result in shown]
        asked = prompts.read_output(brief, specification, printed)
        read = (await ask(self._models.role("tester"), asked, Results, temperature=0.0)).value.results
        found = [
            Example(arguments=run.arguments, expected=value)
            for (run, result), value in zip(shown, read, strict=False)
            if says_the_same(value, result.stdout)
        ]
        return (*found, *failing) if found else ()
