"""Properties gate: runs a tool on generated inputs and checks what must hold for each of them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import anyio
import anyio.to_thread

from alita_mcp.errors import SandboxRefused
from alita_mcp.sandbox.interface import RunResult
from alita_mcp.values import Check, Draft, Example, Limits, Schema, Stage
from alita_mcp.verification.comparison import bare_kinds_of
from alita_mcp.verification.examples.examples import Trial
from alita_mcp.verification.examples.trials import FIXES, RehearsedDraft, describe_failure, each_of, job_of
from alita_mcp.verification.findings import brief, call_facts, cut_value, fail_check, json_key, pass_check
from alita_mcp.verification.generated_inputs import draw_inputs
from alita_mcp.verification.json_schema import validate_result, wrap_result

INPUTS = 60
"""How many are drawn; fewer where the schema admits fewer."""
MAX_SECONDS = 10.0
MAX_REPORTED = 3
_LEAST_PATIENCE_S = 0.5
_SLOWEST_TIMES = 20
_ENOUGH_SLOW = 3
"""After so many inputs that took too long the others are not tried any more."""

_BEYOND = "Refuse such arguments with a declared error, or add an example of this size."
Arguments = dict[str, Any]
SLOW = frozenset({"timeout", "memory"})
_OF_SERVICES = {"OSError", "RuntimeError"}
"""Errors that the stand-ins of a rehearsal raise; the real services may not raise them."""


class Failure(NamedTuple):
    """One input and what it did; inputs with the same key failed in the same way."""

    arguments: Arguments
    result: RunResult
    key: tuple[str, str]
    message: str
    fix: str
    hard: bool


class ShownRange:
    """Range of the examples' arguments, within which the author specified the behaviour."""

    def __init__(self, examples: Collection[Example], schema: Schema) -> None:
        self._names = schema["properties"].keys()
        self._low: dict[str, float] = {}
        self._high: dict[str, float] = {}
        for example in examples:
            for path, size in _sizes("", example.arguments):
                self._low[path] = min(self._low.get(path, size), size)
                self._high[path] = max(self._high.get(path, size), size)

    def covers(self, arguments: dict[str, Any]) -> bool:
        """Whether each number, and the length of each text, list and object, is within the range."""
        return all(
            path in self._low and self._low[path] <= size <= self._high[path]
            for path, size in _sizes("", arguments)
        )


def _sizes(path: str, value: Any) -> list[tuple[str, float]]:
    match value:
        case bool() | None:
            return []
        case int() | float():
            return [(path, value)]
        case str():
            return [(path, len(value))]
        case list():
            return [(path, len(value)), *(size for part in value for size in _sizes(f"{path}[]", part))]
        case dict():
            inner = [size for name, part in value.items() for size in _sizes(f"{path}.{name}", part)]
            return inner if not path else [(path, len(value)), *inner]
    return []


def seed_of(draft: Draft) -> int:
    """Seed of a draft's generated inputs; the same in every sandbox and at every time."""
    digest = hashlib.sha256(draft.code.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:4], "big")


@dataclass(frozen=True)
class PropertiesFound:
    """Findings of the gate, and the number of inputs."""

    checks: list[Check]
    tried: int = 0
    seen: tuple[tuple[Arguments, RunResult], ...] = ()
    """Inputs that the tool answered, with a value or an error."""


async def properties_gate(subject: RehearsedDraft, trials: Sequence[Trial]) -> PropertiesFound:
    """Runs a draft on generated inputs; hard failures end the run, an undeclared error lowers the trust.

    Raises:
        SandboxError: the sandbox failed, which says nothing about the draft.
    """
    if not subject.contract.input_schema["properties"]:
        return PropertiesFound([pass_check("properties", "there is only one input")])
    draft, schema = subject.draft, subject.contract.input_schema
    inputs = await anyio.to_thread.run_sync(draw_inputs, schema, draft.examples, seed_of(draft), INPUTS)
    trial = _Trials(subject, trials)
    await trial.run_all(inputs)
    checks = await _report_failures(trial)
    if not trial.tried:
        message = "no generated input was tried: none was answered in time"
        fix = "Send it again, or make the tool faster."
        return PropertiesFound([fail_check("properties", message, fix, hard=False)])
    checks = checks or [pass_check("properties", f"{trial.tried} generated inputs")]
    return PropertiesFound(checks, trial.tried, tuple(trial.seen))


class _Trials:
    """Runs of one draft on generated inputs; remembers what each did."""

    def __init__(self, subject: RehearsedDraft, trials: Sequence[Trial]) -> None:
        self.failures: list[Failure] = []
        self.tried = 0
        self.seen: list[tuple[Arguments, RunResult]] = []
        self.refused = ""
        examples = [trial.example for trial in trials]
        self._shown = ShownRange(examples, subject.contract.input_schema)
        self.limits = subject.draft.limits
        self._subject = subject
        raises = [example.raises for example in subject.draft.examples if example.raises is not None]
        self._declared = {name.rpartition(".")[2] for name in (*subject.contract.raises, *raises)}
        slowest = max((trial.result.wall_seconds for trial in trials if trial.result), default=0.0)
        patience = max(_LEAST_PATIENCE_S, _SLOWEST_TIMES * slowest)
        self._patience = min(patience, self.limits.wall_seconds)

    async def run_all(self, inputs: Sequence[Arguments]) -> None:
        """Runs several at once, until all are done, time is up, or a few of them took too long."""
        enough = anyio.CancelScope()

        async def look(arguments: Arguments) -> None:
            failure = await self._failure_of(arguments)
            self.tried += 1
            self.failures += [failure] if failure else []
            if sum(each.key[0] in SLOW for each in self.failures) >= _ENOUGH_SLOW:
                enough.cancel()

        with enough:
            await each_of(inputs, look, MAX_SECONDS)

    async def _failure_of(self, arguments: Arguments) -> Failure | None:
        """The failure of an input; None where there is none."""
        limits, failure = self.limits, None
        try:
            with anyio.move_on_after(self._patience) as late:
                failure = await self.run_once(arguments, limits)
            if late.cancelled_caught:  # the sandbox's own clock does not count the wait for a worker
                bounds = {"wall_seconds": self._patience, "cpu_seconds": self._patience}
                failure = await self.run_once(arguments, limits.model_copy(update=bounds))
        except SandboxRefused as refused:
            self.refused = self.refused or refused.message
        return failure

    async def run_once(self, arguments: Arguments, limits: Limits) -> Failure | None:
        """The failure of one input under these limits; None where there is none."""
        subject = self._subject
        job = job_of(subject.draft, Example(arguments=arguments, expected=None), subject.environment)
        result = await subject.rehearsal.run(job.model_copy(update={"limits": limits}))
        if result.status in ("ok", "error"):
            self.seen.append((arguments, result))
        # The call (1) gave a value, of the declared type or not, (2) raised an error, declared or not, or (3) did not
        # end properly.
        contract = subject.contract
        if result.ok:
            value = wrap_result(result.value, wraps_result=contract.wraps_result)
            misfit = validate_result(contract.output_schema, value)
            if misfit is None:
                return None
            what = f"the result does not fit the return annotation: {misfit}"
            fix = "Return what the annotation declares, raise a declared error, or correct the annotation."
            return Failure(arguments, result, ("schema", ""), what, fix, hard=True)
        if result.status == "error":
            name = result.error_type.rpartition(".")[2]
            kinds = bare_kinds_of(result)
            by_service = not subject.draft.grants.is_pure and kinds & _OF_SERVICES
            if kinds & self._declared or by_service:
                return None
            what = f"{describe_failure(result)}, which neither the docstring nor an example announces"
            fix = f"Handle it, or say `Raises: {name}` in the docstring and add an example with raises {name!r}."
            return Failure(arguments, result, ("error", name), what, fix, hard=False)
        what, is_beyond = (
            describe_failure(result),
            result.status in SLOW and not self._shown.covers(arguments),
        )
        fix = _BEYOND if is_beyond else FIXES[result.status]
        key = (result.status, "beyond" if is_beyond else "")
        return Failure(arguments, result, key, what, fix, hard=not is_beyond)


async def _report_failures(trial: _Trials) -> list[Check]:
    """One check for each kind of failure with its smallest input; the hard ones first."""
    checks = []
    if trial.refused:
        message = f"a generated input needs what this sandbox lacks: {trial.refused}"
        fix = "Do without the feature, or install Docker or bubblewrap."
        checks.append(fail_check("properties", message, fix, hard=False))
    sizes = {json_key(failure.arguments): failure for failure in trial.failures}
    by_size = sorted(sizes, key=lambda text: (len(text), text), reverse=True)
    smallest = {sizes[text].key: sizes[text] for text in by_size}
    worst = sorted(smallest.values(), key=lambda failure: (not failure.hard, failure.key))
    for each in worst[:MAX_REPORTED]:
        # a slow input is tried again under the tool's own limits before it ends the run
        failure: Failure | None = each
        if each.hard and each.key[0] in SLOW:
            failure = await trial.run_once(each.arguments, trial.limits)
        if failure:
            result = failure.result
            stage: Stage = "schema" if failure.key[0] == "schema" else "properties"
            message = f"with {brief(failure.arguments)}: {failure.message}"
            got = cut_value(result.value) if result.ok else describe_failure(result)
            facts = call_facts(failure.arguments, result)
            checks.append(fail_check(stage, message, failure.fix, hard=failure.hard, got=got, **facts))
            if failure.hard:
                break  # it ends the run: what else there is can wait
    return sorted(checks, key=lambda check: not check.hard)
