"""Tries every claim on a back end, one after the other, and reports instead of raising."""

from __future__ import annotations

import os
import secrets
import socket
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Literal

import anyio

from alita_mcp.errors import SandboxError, SandboxRefused, SandboxUnavailable
from alita_mcp.sandbox.conformance.claims import CLAIMS, Claim
from alita_mcp.sandbox.interface import EgressPolicy, EgressRefused, Job, RunResult, Sandbox
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
    """Tries each claim on a back end, isolation before limits; the sandbox is used, not closed.

    `on_verdict` is awaited with each verdict as it is found.

    Raises:
        SandboxUnavailable: the back end does not work here at all, so nothing can be said about it.
    """
    started = time.monotonic()
    verdicts: list[Verdict] = []
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as listener:
        file = Path(folder) / "canary"
        file.write_text(secrets.token_hex(16), "ascii")
        canary = {"file": str(file), "address": list(listener.getsockname()), "pid": os.getpid()}
        for claim in CLAIMS:
            verdicts.append(await _judge(claim, sandbox, canary, is_first=not verdicts))
            if on_verdict is not None:
                await on_verdict(verdicts[-1])
    return ConformanceReport(
        kind=sandbox.kind, verdicts=tuple(verdicts), seconds=round(time.monotonic() - started, 3)
    )


async def _judge(claim: Claim, sandbox: Sandbox, canary: dict[str, Any], *, is_first: bool) -> Verdict:
    started = time.monotonic()
    outcome: VerdictKind = "failed"
    try:
        outcome, detail = await _try(claim, sandbox, canary)
    except SandboxRefused as refused:
        outcome, detail = "refused", str(refused)
    except SandboxUnavailable as unavailable:
        if is_first:
            raise
        detail = str(unavailable)
    except TimeoutError:
        detail = f"the call did not end within {PATIENCE_SECONDS:g} s"
    except Exception as problem:  # noqa: BLE001 - a stranger's back end may raise anything, which is a finding
        detail = str(problem) if isinstance(problem, SandboxError) else f"it raised {problem!r}"
    if outcome == "refused" and claim.essential:
        outcome, detail = "failed", f"no sandbox can do without it: {detail}"
    return Verdict(
        chapter=claim.chapter, claim=claim.sentence, outcome=outcome, detail=" ".join(detail.split())[:300],
        seconds=round(time.monotonic() - started, 3),
    )  # fmt: skip


async def _try(claim: Claim, sandbox: Sandbox, canary: dict[str, Any]) -> tuple[VerdictKind, str]:
    for _ in range(claim.times):
        broker = _RecordingBroker()
        job = Job(code=claim.code, function="f", arguments=canary, limits=claim.limits)
        with anyio.fail_after(PATIENCE_SECONDS):
            result = await sandbox.run(job, broker)
        if broker.requests:
            return "failed", f"without a grant {broker.requests[0]} was asked for"
        if not claim.holds(result):
            # A program that found no such module or function is not one that was let through.
            lacks = result.status in {"error", "load_failed"} and result.error_type in _LACKING
            return ("refused" if lacks else "failed"), _describe(result)
    return "passed", ""


def _describe(result: RunResult) -> str:
    told = f"{result.error_type}: {result.message}" if result.error_type else result.message
    return f"{result.status}: {told or repr(result.value)}"
