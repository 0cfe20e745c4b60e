"""Comparison of a code run with a second run of it in another sandbox."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.abc import TaskGroup

from alita_mcp.errors import PackagesRejected, SandboxError, SandboxRefused
from alita_mcp.interpreter.code_run import CodeRun
from alita_mcp.library.background import background
from alita_mcp.library.packed_files import text_of
from alita_mcp.progress import ReportStage
from alita_mcp.sandbox.choose import open_sandbox
from alita_mcp.sandbox.interface import Progress, Sandbox
from alita_mcp.settings import Settings
from alita_mcp.values import Value
from alita_mcp.verification.comparison.compare import same_result
from alita_mcp.verification.comparison.difference import difference

SECOND_KIND = "wasm"
"""The back end that is at hand on every machine."""
OTHER_WORLD = {
    "hash_seed": 1_234_567,
    "random_seed": 7_654_321,
    "clock_offset_s": -200 * 86_400,
    "fresh": True,
}
SHOWN = 300
"""Characters of each of two values around their difference."""
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class Compared(Value):
    """Result of comparing two runs."""

    agree: bool
    elsewhere: str
    """Where it ran: another kind of sandbox, or what was changed."""
    difference: str = ""
    """Where they first differ, and what was there in the first run."""
    other: str = ""
    """What was there in the second run."""


class SecondSandbox:
    """Other kind of sandbox, opened when it is first needed."""

    def __init__(self, settings: Settings, tasks: TaskGroup) -> None:
        self._settings = settings
        self._tasks = tasks
        self._sandbox: Sandbox | None = None
        self._looked = False
        self._opening = anyio.Lock()

    async def beside(self, first: Sandbox, on_stage: ReportStage) -> Sandbox | None:
        """A sandbox of another kind than the first; None where there is none here."""
        if first.kind == SECOND_KIND:
            return None

        async def progress(line: str) -> None:
            await on_stage(f"sandbox: {line}")

        async with self._opening:
            if not self._looked:
                self._sandbox = await _open(self._settings, progress)
                self._looked = True
                if self._sandbox is not None:
                    self._tasks.start_soon(self._sandbox.tend)
            return self._sandbox

    async def aclose(self) -> None:
        """Closes it, where it was opened."""
        if self._sandbox is not None:
            await self._sandbox.aclose()


@asynccontextmanager
async def open_second_sandbox(settings: Settings) -> AsyncIterator[SecondSandbox]:
    """Manages a second sandbox for comparisons; opens nothing yet."""
    async with background() as tasks:
        second = SecondSandbox(settings, tasks)
        try:
            yield second
        finally:
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await second.aclose()


async def _open(settings: Settings, progress: Progress) -> Sandbox | None:
    try:
        return await open_sandbox(settings.model_copy(update={"sandbox": SECOND_KIND}), progress)
    except SandboxError:
        return None


async def compare(
    run: CodeRun, first: Sandbox, second: Sandbox | None, run_in: Callable[..., Awaitable[CodeRun]]
) -> Compared:
    """Runs code once more and describes how that differs from its first run.

    `run_in` runs it in a sandbox: the second, or the first again with another clock and other seeds.

    Raises:
        SandboxError: the sandbox failed, not the code.
    """
    if second is not None:
        try:
            return compared(run, await run_in(second), second.kind)
        except (PackagesRejected, SandboxRefused):  # packages that are not for this kind
            pass
    again = await run_in(first, OTHER_WORLD)
    seeds = "" if first.kind == SECOND_KIND else "hash seed, "  # there sets have one order
    return compared(run, again, f"another {seeds}clock and random seed")


def compared(one: CodeRun, other: CodeRun, elsewhere: str) -> Compared:
    """Describes how two runs of the same code differ: in their end, results, output and files."""
    for what, first, second in _parts(one, other):
        if not same_result(first, second):
            found = difference(first, second, SHOWN)
            where = found.where.replace("result", what, 1) if found.where else what
            return Compared(
                agree=False, elsewhere=elsewhere, difference=f"{where}: {found.expected}", other=found.got
            )
    return Compared(agree=True, elsewhere=elsewhere)


def _parts(one: CodeRun, other: CodeRun) -> list[tuple[str, Any, Any]]:
    if one.ok and other.ok:
        ends = [("result", _steady(one.result), _steady(other.result))]
    else:
        ends = [("how it ends", _end(one), _end(other))]
    return [
        *ends,
        ("stdout", _steady(one.stdout), _steady(other.stdout)),
        ("files", [file.name for file in one.files], [file.name for file in other.files]),
        *_contents(one, other),
    ]


def _contents(one: CodeRun, other: CodeRun) -> list[tuple[str, Any, Any]]:
    pairs = zip(one.files, other.files, strict=False)
    return [(f"file {first.name}", _said(first.data), _said(second.data)) for first, second in pairs]


def _said(data: bytes) -> str:
    text = text_of(data)
    return f"{len(data):,} bytes, SHA-256 {hashlib.sha256(data).hexdigest()}" if text is None else text


def _end(run: CodeRun) -> str:
    return "ok" if run.ok else run.error_type or run.status


def _steady(value: Any) -> Any:
    """A text without the addresses that a `repr` shows."""
    return _ADDRESS.sub(" at 0x…", value) if isinstance(value, str) else value
