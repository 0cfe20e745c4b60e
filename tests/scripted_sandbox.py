"""Scripted sandbox: results come from a function, every job is recorded, no code runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from alita_mcp.sandbox.abilities import Abilities
from alita_mcp.sandbox.code_on_call import RUN_VARIANT
from alita_mcp.sandbox.interface import Broker, Environment, Job, Probe, ProbeReport, Progress, RunResult
from alita_mcp.values import Lock

Answers = Callable[[Job], RunResult]


class ScriptedSandbox:
    """Sandbox that takes each job's result from a script and records the job in `jobs`; it executes no code.

    A script is about the programs that it was asked about as such. A variant of one, brought along by a call,
    crashes; the very same code is answered like any other call.

    Packages "resolve" to locks with a zero hash and environments that exist nowhere, so that flows which need
    packages can be driven too.
    """

    def __init__(self, answer: Answers, kind: str = "scripted", abilities: Abilities | None = None) -> None:
        self._abilities = abilities or Abilities(offers=("Nothing runs here: answers come from a script.",))
        self.jobs: list[Job] = []
        self.closed = False
        self._answer = answer
        self._kind = kind

    @property
    def kind(self) -> str:
        """The word given at construction."""
        return self._kind

    async def probe(self) -> ProbeReport:
        """Report of a sandbox that isolates: nothing runs."""
        return ProbeReport(kind=self._kind, probes=(Probe(name="runs nothing", passed=True),))

    async def abilities(self) -> Abilities:
        """Abilities given at construction; by default nothing is missing."""
        return self._abilities

    async def resolve(self, packages: tuple[str, ...], progress: Progress) -> Lock:
        """Lock that names each package with version 0 and a zero hash."""
        await progress(f"resolving {', '.join(packages)}")
        return Lock(
            requirements=tuple(sorted(f"{package}==0 --hash=sha256:{'0' * 64}" for package in packages)),
            python="scripted",
        )

    async def prepare(self, lock: Lock, progress: Progress) -> Environment:
        """Environment that exists in name only."""
        await progress(f"installing {len(lock.requirements)} packages")
        return Environment(digest="scripted", location="nowhere")

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        """The script's result for a job."""
        variants = brought_along(job)
        if variants is None:
            self.jobs.append(job)
            return self._answer(job)
        if all(job.code != variant.code for job in self.jobs for variant in variants):
            return RunResult(status="crashed", message="the script is about another program")
        results = [self._answer(variant) for variant in variants]
        return results_of(results) if isinstance(job.arguments["arguments"], list) else results[0]

    async def tend(self) -> None:
        """Does nothing."""

    async def aclose(self) -> None:
        """Records that it was closed."""
        self.closed = True


def brought_along(job: Job) -> list[Job] | None:
    """Calls that a job of `code_on_call` stands for, several for one on many inputs; None for a plain job."""
    if job.function != RUN_VARIANT or job.arguments.keys() != {"code", "function", "arguments"}:
        return None
    given = job.arguments["arguments"]
    inputs = given if isinstance(given, list) else [given]
    return [job.model_copy(update={**job.arguments, "arguments": each}) for each in inputs]


def results_of(results: Sequence[RunResult]) -> RunResult:
    """Result of a job on many inputs, composed of the results of each alone."""
    ended = next((each for each in results if each.status not in {"ok", "error"}), None)
    values = []
    for each in results:
        kinds = [name.rpartition(".")[2] for name in each.error_kinds or [each.error_type]]
        values.append([each.value] if each.ok else {"raised": kinds})
    return ended or RunResult(status="ok", value=values)
