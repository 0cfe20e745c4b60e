"""Choice of the sandbox that runs the tools: the first back end that proves its isolation; never a bare process."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Collection
from copy import copy
from importlib import import_module
from typing import Protocol, runtime_checkable

import anyio

from alita_mcp.errors import SandboxError, SandboxUnavailable
from alita_mcp.progress import SharedStage, ignore_stage
from alita_mcp.sandbox.abilities import Abilities
from alita_mcp.sandbox.interface import (
    Broker,
    Environment,
    Job,
    Probe,
    ProbeReport,
    Progress,
    RunResult,
    Sandbox,
)
from alita_mcp.settings import Settings
from alita_mcp.values import Lock

BACK_ENDS = {
    "docker": "alita_mcp.sandbox.docker.sandbox:DockerSandbox",
    "bubblewrap": "alita_mcp.sandbox.bubblewrap.sandbox:BubblewrapSandbox",
    "wasm": "alita_mcp.sandbox.wasm.sandbox:WasmSandbox",
}
"""Import strings of the back ends, best first; the order in which `auto` tries them."""
UNCHOSEN = "unchosen"


def kind_of_calls(sandbox: Sandbox) -> str:
    """Kind of sandbox that calls will run in, or `UNCHOSEN`; starts nothing."""
    return sandbox.kind_of_calls if isinstance(sandbox, LazySandbox) else sandbox.kind


def likely_kind(settings: Settings) -> str:
    """Kind of sandbox that calls will run in, as far as it can be told without starting one, else `UNCHOSEN`."""
    if settings.sandbox != "auto":
        return settings.sandbox
    return UNCHOSEN if shutil.which("docker") or shutil.which("bwrap") else "wasm"


async def open_sandbox(settings: Settings, progress: Progress = ignore_stage) -> Sandbox:
    """Opens the back end that the settings name, or for `auto` the first whose probe isolates; reports slow steps.

    Raises:
        SandboxUnavailable: none isolates here; the message says why, the hint what to install.
    """
    reports = []
    for name in BACK_ENDS if settings.sandbox == "auto" else [settings.sandbox]:
        sandbox, report = await _open_proved(name, settings, progress)
        if sandbox is not None:
            return sandbox
        reports.append(report)
    what = (
        "No sandbox isolates"
        if settings.sandbox == "auto"
        else f"The sandbox {settings.sandbox!r} does not work"
    )
    raise SandboxUnavailable(
        f"{what} here: {'; '.join(map(_reason, reports))}.",
        hint=" Or: ".join(report.hint for report in reports if report.hint),
    )


async def probe_all(
    settings: Settings, progress: Progress = ignore_stage, *, slow: Collection[str] = ()
) -> tuple[ProbeReport, ...]:
    """Probes each back end, first the one that is set; for `doctor`.

    Those in `slow`, which take minutes to prepare, are left out unless tools run in them.
    """
    named = [settings.sandbox] if settings.sandbox != "auto" else []
    others = [name for name in BACK_ENDS if name not in named]
    reports: dict[str, ProbeReport] = {}

    async def probe(name: str) -> None:
        sandbox, reports[name] = await _open_proved(name, settings, progress)
        if sandbox is not None:
            await sandbox.aclose()

    # 1. The one that is set. 2. The others, beside one another. 3. For `auto`, a slow one if none else isolates.
    for name in named:
        await probe(name)
    async with anyio.create_task_group() as tasks:
        for name in others:
            if name not in slow:
                tasks.start_soon(probe, name)
    if not named and not any(report.isolates for report in reports.values()):
        for name in others:
            if name in slow:
                await probe(name)
    return tuple(reports[name] for name in (*named, *others) if name in reports)


def load_sandbox(name: str, settings: Settings) -> Sandbox:
    """Loads the back end of that name or import string, without a proof of its isolation.

    Raises:
        SandboxUnavailable: there is no such back end, or it cannot be made.
    """
    module_name, _, class_name = BACK_ENDS.get(name, name).partition(":")
    try:
        make = getattr(import_module(module_name), class_name)
    except (ImportError, AttributeError, ValueError) as problem:
        raise SandboxUnavailable(
            f"{BACK_ENDS.get(name, name)} cannot be loaded: {problem}",
            hint="ALITA_SANDBOX takes auto, docker, bubblewrap, wasm or the import string module:Class.",
        ) from problem
    sandbox: Sandbox = make(settings)
    return sandbox


@runtime_checkable
class Preparable(Protocol):
    """Back end that has to be prepared once on a machine before it can prove anything."""

    async def ready(self, progress: Progress) -> object:
        """Prepares it; returns at once where that was done before.

        Raises:
            SandboxError: it cannot be prepared; the next call tries again.
        """


class SandboxWrapper(ABC):
    """Sandbox that passes on to another one all but calls and its own end."""

    @abstractmethod
    async def choose(self) -> Sandbox:
        """The sandbox behind this one."""

    async def probe(self) -> ProbeReport:
        """Probes the sandbox behind; see the interface."""
        return await (await self.choose()).probe()

    async def abilities(self) -> Abilities:
        """Abilities of code in the sandbox behind; see the interface."""
        return await (await self.choose()).abilities()

    async def resolve(self, packages: tuple[str, ...], progress: Progress) -> Lock:
        """Exact versions and hashes; see the interface."""
        return await (await self.choose()).resolve(packages, progress)

    async def prepare(self, lock: Lock, progress: Progress) -> Environment:
        """The environment for a lock; see the interface."""
        return await (await self.choose()).prepare(lock, progress)


class NestedSandbox(SandboxWrapper):
    """Sandbox whose calls run `depth` calls deeper; its owner tends and closes the sandbox behind."""

    def __init__(self, outer: Sandbox, depth: int) -> None:
        self._outer = outer
        self._depth = depth

    @property
    def kind(self) -> str:
        """Kind of the sandbox behind."""
        return self._outer.kind

    async def choose(self) -> Sandbox:
        """The sandbox behind."""
        return self._outer

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        """Runs one call at its depth; see the interface."""
        return await self._outer.run(job.model_copy(update={"depth": job.depth + self._depth}), broker)

    async def tend(self) -> None:
        """Does nothing."""

    async def aclose(self) -> None:
        """Does nothing."""


class LazySandbox(SandboxWrapper):
    """Sandbox that is chosen when it is first needed, once.

    When a chosen back end stops working its calls fail; another one is never slipped in.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._chosen: Sandbox | None = None
        self._is_chosen = anyio.Event()
        self._closed = False
        self._choosing = anyio.Lock()
        self._failures = 0
        self._failure = SandboxError("The sandbox was never chosen.")
        """The last one."""
        self.preparation = SharedStage()
        """How far the choice is that callers wait for."""

    @property
    def chosen(self) -> Sandbox | None:
        """The chosen back end, None before the first use."""
        return self._chosen

    @property
    def kind(self) -> str:
        """The chosen back end's kind, `unchosen` before the first use."""
        return self._chosen.kind if self._chosen else UNCHOSEN

    @property
    def kind_of_calls(self) -> str:
        """Kind that calls will run in: known before the first use where the settings name a back end of ours."""
        named = self._settings.sandbox
        return self._chosen.kind if self._chosen else named if named in BACK_ENDS else UNCHOSEN

    async def choose(self) -> Sandbox:
        """The chosen back end; the first caller chooses.

        Raises:
            SandboxUnavailable: none isolates here; the next call looks again.
            SandboxError: closed already.
        """
        failures = self._failures
        async with self._choosing:
            # 1. There is one, or this object is closed.
            # 2. While this caller waited the choice failed: it fails for all who waited, each gets its own exception.
            # 3. Nobody has chosen, or who began to was cancelled: this caller chooses.
            if self._closed:
                raise SandboxError("The sandbox is closed.")
            if self._chosen is None and self._failures > failures:
                raise copy(self._failure) from self._failure
            if self._chosen is None:
                try:
                    self._chosen = await open_sandbox(self._settings, self.preparation.report)
                except SandboxError as failure:
                    self._failures, self._failure = self._failures + 1, failure
                    raise
                finally:
                    await self.preparation.report("")
                self._is_chosen.set()
            return self._chosen

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        """Runs one call in the chosen back end; see the interface."""
        return await (await self.choose()).run(job, broker)

    async def tend(self) -> None:
        """Tends the chosen back end, once there is one, until cancelled."""
        await self._is_chosen.wait()
        await (await self.choose()).tend()

    async def aclose(self) -> None:
        """Closes the back end if one was chosen."""
        with anyio.CancelScope(shield=True):
            async with self._choosing:
                self._closed = True
                if self._chosen is not None:
                    await self._chosen.aclose()


async def _open_proved(
    name: str, settings: Settings, progress: Progress
) -> tuple[Sandbox | None, ProbeReport]:
    """The opened back end and its report; None, and nothing left open, when it does not isolate."""
    await progress(f"trying the sandbox {name}")
    try:
        sandbox = load_sandbox(name, settings)
    except SandboxError as problem:
        return None, _failure_report(name, problem)
    isolates = False
    try:
        if isinstance(sandbox, Preparable):
            await sandbox.ready(progress)
        report = await sandbox.probe()
        isolates = report.isolates
    except SandboxError as problem:
        report = _failure_report(name, problem)
    finally:
        if not isolates:
            with anyio.CancelScope(shield=True):
                await sandbox.aclose()
    return (sandbox if isolates else None), report


def _failure_report(name: str, problem: SandboxError) -> ProbeReport:
    starts = Probe(name="starts", passed=False, detail=problem.message)
    return ProbeReport(kind=name, probes=(starts,), hint=problem.hint)


def _reason(report: ProbeReport) -> str:
    """The failed probes in words, without the hint, which is shown beside them."""
    failed = [probe for probe in report.probes if not probe.passed]
    details = {probe.name: probe.detail.rstrip(" .") or "no" for probe in failed}
    words = ", ".join(f"{name}: {detail}" for name, detail in details.items()) or "nothing was proven"
    return f"{report.kind} ({words})"
