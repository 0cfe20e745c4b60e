"""Choice of the sandbox that runs the tools: the first back end that proves its isolation; never a bare process."""

from __future__ import annotations

from copy import copy
from importlib import import_module

import anyio

from alita_mcp.errors import SandboxError, SandboxUnavailable
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
from alita_mcp.sandbox.preparation import Preparable, Preparation
from alita_mcp.settings import Settings
from alita_mcp.values import Lock

BACK_ENDS = {
    "docker": "alita_mcp.sandbox.docker.sandbox:DockerSandbox",
    "bubblewrap": "alita_mcp.sandbox.bubblewrap.sandbox:BubblewrapSandbox",
    "wasm": "alita_mcp.sandbox.wasm.sandbox:WasmSandbox",
}
"""Import strings of the back ends, best first; the order in which `auto` tries them."""
UNCHOSEN = "unchosen"


def expected_kind(sandbox: Sandbox) -> str:
    """Kind of sandbox that calls will run in, or `UNCHOSEN`; starts nothing."""
    return sandbox.expected_kind if isinstance(sandbox, LazySandbox) else sandbox.kind


async def silent(_line: str) -> None:
    """Progress callback that does nothing."""


async def open_sandbox(settings: Settings, progress: Progress = silent) -> Sandbox:
    """Opens the back end that the settings name, or for `auto` the first whose probe isolates; reports slow steps.

    Raises:
        SandboxUnavailable: none isolates here; the message says why, the hint what to install.
    """
    reports = []
    for name in BACK_ENDS if settings.sandbox == "auto" else [settings.sandbox]:
        sandbox, report = await _proved(name, settings, progress)
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


async def probe_all(settings: Settings, progress: Progress = silent) -> tuple[ProbeReport, ...]:
    """Probes each back end, whichever one is set; for `doctor`."""
    names = list(BACK_ENDS)
    if settings.sandbox not in {"auto", *names}:
        names.insert(0, settings.sandbox)
    reports: dict[str, ProbeReport] = {}

    async def probe(name: str) -> None:
        sandbox, reports[name] = await _proved(name, settings, progress)
        if sandbox is not None:
            await sandbox.aclose()

    async with anyio.create_task_group() as tasks:
        for name in names:
            tasks.start_soon(probe, name)
    return tuple(reports[name] for name in names)


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


class _Choice:
    """Attempt to choose a back end for all waiting callers; cancelled when the last of them leaves."""

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.ended = anyio.Event()
        self.failure: Exception | None = None
        self._waiting = 0

    async def wait(self) -> None:
        """Returns when it ended; raises what it failed with."""
        self._waiting += 1
        try:
            await self.ended.wait()
        finally:
            self._waiting -= 1
            if not self._waiting:
                self.scope.cancel()
        if self.failure is not None:
            raise copy(self.failure) from self.failure  # each caller adds to its own


class LazySandbox:
    """Sandbox that is chosen when it is first needed, once.

    When a chosen back end stops working its calls fail; another one is never slipped in.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._chosen: Sandbox | None = None
        self._closed = False
        self.preparation = Preparation()
        """How far the preparation is that the first callers wait for."""
        self._choosing = anyio.Lock()
        self._choice: _Choice | None = None
        self._is_tended = False
        self._wanted = anyio.Event()

    @property
    def kind(self) -> str:
        """The chosen back end's kind, `unchosen` before the first use."""
        return self._chosen.kind if self._chosen else UNCHOSEN

    @property
    def expected_kind(self) -> str:
        """Kind that calls will run in: known before the first use where the settings name a back end of ours."""
        named = self._settings.sandbox
        return self._chosen.kind if self._chosen else named if named in BACK_ENDS else UNCHOSEN

    async def chosen(self) -> Sandbox:
        """The chosen back end; the first caller starts the choice, which goes on while any caller waits for it.

        Without a task that tends this object, the first caller chooses; when it is cancelled the next one begins again.

        Raises:
            SandboxUnavailable: none isolates here; the next call looks again.
            SandboxError: closed already.
        """
        if self._is_tended and self._chosen is None:
            if self._choice is None or self._choice.scope.cancel_called:
                self._choice = _Choice()
                self._wanted.set()
            await self._choice.wait()
        return await self._choose()

    async def _choose(self) -> Sandbox:
        async with self._choosing:
            if self._closed:
                raise SandboxError("The sandbox is closed.")
            if self._chosen is None:
                with self.preparation:
                    self._chosen = await open_sandbox(self._settings, self.preparation.tell)
                self._wanted.set()
            return self._chosen

    async def probe(self) -> ProbeReport:
        """The chosen back end's own."""
        return await (await self.chosen()).probe()

    async def abilities(self) -> Abilities:
        """The chosen back end's own."""
        return await (await self.chosen()).abilities()

    async def resolve(self, packages: tuple[str, ...], progress: Progress) -> Lock:
        """The chosen back end's own."""
        return await (await self.chosen()).resolve(packages, progress)

    async def prepare(self, lock: Lock, progress: Progress) -> Environment:
        """The chosen back end's own."""
        return await (await self.chosen()).prepare(lock, progress)

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        """The chosen back end's own."""
        return await (await self.chosen()).run(job, broker)

    async def tend(self) -> None:
        """Chooses for all callers, then the chosen back end's own."""
        self._is_tended = True
        try:
            while self._chosen is None:
                await self._wanted.wait()
                self._wanted = anyio.Event()
                await self._choose_for(self._choice)
        finally:
            self._is_tended = False
            if self._choice is not None:
                self._choice.ended.set()
        await self._chosen.tend()

    async def _choose_for(self, choice: _Choice | None) -> None:
        if choice is None:
            return
        try:
            with choice.scope:
                await self._choose()
        except Exception as failure:  # noqa: BLE001 - the callers that wait raise it
            choice.failure = failure
        finally:
            choice.ended.set()
            if self._choice is choice:
                self._choice = None

    async def aclose(self) -> None:
        """Closes the back end if one was chosen."""
        with anyio.CancelScope(shield=True):
            async with self._choosing:
                self._closed = True
                if self._chosen is not None:
                    await self._chosen.aclose()


async def _proved(name: str, settings: Settings, progress: Progress) -> tuple[Sandbox | None, ProbeReport]:
    """The opened back end and its report; None, and nothing left open, when it does not isolate."""
    try:
        sandbox = load_sandbox(name, settings)
    except SandboxError as problem:
        return None, _failed(name, problem)
    isolates = False
    try:
        if isinstance(sandbox, Preparable):
            await sandbox.ready(progress)
        report = await sandbox.probe()
        isolates = report.isolates
    except SandboxError as problem:
        report = _failed(name, problem)
    finally:
        if not isolates:
            with anyio.CancelScope(shield=True):
                await sandbox.aclose()
    return (sandbox if isolates else None), report


def _failed(name: str, problem: SandboxError) -> ProbeReport:
    return ProbeReport(
        kind=name, probes=(Probe(name="starts", passed=False, detail=problem.message),), hint=problem.hint
    )


def _reason(report: ProbeReport) -> str:
    failed = [probe for probe in report.probes if not probe.passed]
    details = {probe.name: probe.detail.replace(report.hint, "").rstrip(" .") or "no" for probe in failed}
    told = ", ".join(f"{name}: {detail}" for name, detail in details.items()) or "nothing was proved"
    return f"{report.kind} ({told})"
