"""Tries the claims about isolation on a back end, and reports instead of raising."""

from __future__ import annotations

import os
import secrets
import socket
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import anyio

from alita_mcp.errors import SandboxError, SandboxRefused, SandboxUnavailable
from alita_mcp.sandbox.conformance.claims import TRIALS, Trial
from alita_mcp.sandbox.interface import (
    EgressPolicy,
    EgressRefused,
    Job,
    Probe,
    ProbeReport,
    RunResult,
    Sandbox,
)
from alita_mcp.values import Value

PATIENCE_SECONDS = 120.0
"""How long one call may take in all, its sandbox's start included, before the back end counts as hanging."""
_LACKING = frozenset({"AttributeError", "ImportError", "ModuleNotFoundError"})
VerdictKind = Literal["passed", "refused", "failed"]


class Verdict(Value):
    """Verdict on one claim."""

    chapter: str
    claim: str
    outcome: VerdictKind
    """`refused`: the back end does not offer what the claim is about, so nothing can be too weak about it."""
    detail: str = ""
    seconds: float = 0.0


class ConformanceReport(Value):
    """Report with all verdicts, in the order of the claims."""

    kind: str
    verdicts: tuple[Verdict, ...]
    seconds: float = 0.0

    @property
    def conforms(self) -> bool:
        """True when claims were tried and none failed."""
        return bool(self.verdicts) and not self.failures

    @property
    def failures(self) -> tuple[Verdict, ...]:
        """Claims that do not hold."""
        return tuple(verdict for verdict in self.verdicts if verdict.outcome == "failed")


class _RecordingBroker:
    """Broker and egress policy that record what reaches them and refuse it: no claim has a grant."""

    def __init__(self) -> None:
        self.requests: list[str] = []

    @property
    def egress_policy(self) -> EgressPolicy | None:
        return self

    async def answer(self, service: str, _words: dict[str, Any]) -> Any:
        self.requests.append(service)
        raise PermissionError("the grant does not cover this")

    async def open(self, host: str, port: int) -> Any:
        self.requests.append(f"{host}:{port}")
        raise EgressRefused(403, f"{host}:{port} is not granted")


async def conform(
    sandbox: Sandbox, *, on_verdict: Callable[[Verdict], Awaitable[None]] | None = None
) -> ConformanceReport:
    """Tries all claims on a back end, isolation before limits; the sandbox is used, not closed.

    `on_verdict` is awaited with each verdict as it is found.

    Raises:
        SandboxUnavailable: the back end does not work here at all, so nothing can be said about it.
    """
    started = time.monotonic()
    verdicts: list[Verdict] = []
    with _canary() as canary:
        for trial in TRIALS:
            for verdict in await _judge(trial, sandbox, canary):
                verdicts.append(verdict)
                if on_verdict is not None:
                    await on_verdict(verdict)
    return ConformanceReport(
        kind=sandbox.kind, verdicts=tuple(verdicts), seconds=round(time.monotonic() - started, 3)
    )


async def probe(sandbox: Sandbox, hint: str) -> ProbeReport:
    """Runs the trials that decide whether a back end is used: one that shows that it starts, then the others at once.

    `hint` is how to make it work where it does not.
    """
    first, *others = (trial for trial in TRIALS if trial.is_probe)
    found: dict[int, list[Verdict]] = {}

    async def take(place: int, trial: Trial) -> None:
        found[place] = await _judge(trial, sandbox, canary)

    with _canary() as canary:
        try:
            await take(0, first)
        except SandboxUnavailable as problem:
            starts = Probe(name="starts", passed=False, detail=str(problem))
            return ProbeReport(kind=sandbox.kind, probes=(starts,), hint=problem.hint or hint)
        if found[0][0].outcome == "passed":
            async with anyio.create_task_group() as tasks:
                for place, trial in enumerate(others, 1):
                    tasks.start_soon(take, place, trial)
    probes = tuple(
        Probe(name=verdict.claim, passed=verdict.outcome != "failed", detail=verdict.detail)
        for place in sorted(found)
        for verdict in found[place]
    )
    works = all(probe.passed for probe in probes)
    return ProbeReport(kind=sandbox.kind, probes=probes, hint="" if works else hint)


@contextmanager
def _canary() -> Iterator[dict[str, Any]]:
    """Arguments of every program: what of this machine it reaches for."""
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as listener:
        file = Path(folder) / "canary"
        file.write_text(secrets.token_hex(16), "ascii")
        yield {"file": str(file), "address": list(listener.getsockname()), "pid": os.getpid()}


async def _judge(trial: Trial, sandbox: Sandbox, canary: dict[str, Any]) -> list[Verdict]:
    """Verdicts on the claims of a trial; one call after the other, until no claim is left that holds.

    Raises:
        SandboxUnavailable: the back end does not work, in the first trial of all.
    """
    started = time.monotonic()
    outcomes: dict[str, tuple[VerdictKind, str]] = dict.fromkeys(trial.claims, ("passed", ""))
    try:
        for _ in range(trial.times):
            broker = _RecordingBroker()
            job = Job(code=trial.code, function="f", arguments=canary, limits=trial.limits)
            with anyio.fail_after(PATIENCE_SECONDS):
                result = await sandbox.run(job, broker)
            # A program that found no such module or function is not one that was let through.
            lacks = result.status in {"error", "load_failed"} and result.error_type in _LACKING
            for claim, holds in trial.claims.items():
                if broker.requests:
                    outcomes[claim] = "failed", f"without a grant {broker.requests[0]} was asked for"
                elif outcomes[claim][0] == "passed" and not holds(result):
                    outcomes[claim] = ("refused" if lacks else "failed"), _describe(result)
    except SandboxRefused as refused:
        outcomes = dict.fromkeys(trial.claims, ("refused", str(refused)))
    except TimeoutError:
        hangs = f"the call did not end within {PATIENCE_SECONDS:g} s"
        outcomes = dict.fromkeys(trial.claims, ("failed", hangs))
    except Exception as problem:
        if isinstance(problem, SandboxUnavailable) and trial is TRIALS[0]:
            raise
        told = str(problem) if isinstance(problem, SandboxError) else f"it raised {problem!r}"
        outcomes = dict.fromkeys(trial.claims, ("failed", told))
    if trial.essential:
        outcomes = {
            claim: ("failed", f"no sandbox can do without it: {detail}")
            if outcome == "refused"
            else (outcome, detail)
            for claim, (outcome, detail) in outcomes.items()
        }
    return [
        Verdict(
            chapter=trial.chapter, claim=claim, outcome=outcome, detail=" ".join(detail.split())[:300],
            seconds=round(time.monotonic() - started, 3),
        )
        for claim, (outcome, detail) in outcomes.items()
    ]  # fmt: skip


def _describe(result: RunResult) -> str:
    value = result.value
    if isinstance(value, dict):  # of several findings those that are none say nothing
        value = {name: found for name, found in value.items() if found}
    told = f"{result.error_type}: {result.message}" if result.error_type else result.message
    return f"{result.status}: {told or repr(value)}"
