"""Compilation of the component in a process of its own, with a time limit and progress."""

from __future__ import annotations

import json
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO

import anyio

from alita_mcp.errors import SandboxUnavailable
from alita_mcp.sandbox.interface import Progress
from alita_mcp.sandbox.wasm.component import Component
from alita_mcp.sandbox.wasm.process import MAX_COMPLAINTS, NO_WINDOW, NOWHERE, command, helper_process

MODULE = "alita_mcp.sandbox.wasm.worker.compile"
MOST_SECONDS = 600.0
CPU_SECONDS = 13.0
"""What compiling takes; measured on x86-64, there 12.8 to 14.2."""
NEEDED_BYTES = 100 << 20
"""Room for the compiled file, and as much again."""
TICK_SECONDS = 1.0
_HINT = "It takes 100 MB on the disk and 500 MB of memory for a moment; the next call tries again."
_FAR = "compiling.now"
_STEPS_BACK = getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0)
"""On Windows; elsewhere the process steps back by itself."""


async def compile_aside(
    component: Component, aside: Path, progress: Progress, module: str, most_seconds: float
) -> str:
    """Compiles the component into a new file in another process; returns the compiler's record.

    The process ends with this call, also where it is cancelled, and with this process.

    Raises:
        SandboxUnavailable: it failed, was killed or took too long.
        OSError: it cannot be started.
    """
    far = aside.with_name(_FAR)
    words = command(module, str(component.path), component.sha256, str(aside), str(far))
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as complaints:
        try:
            async with helper_process(
                words, stdout=said, stderr=complaints, cwd=NOWHERE, creationflags=_STEPS_BACK | NO_WINDOW
            ) as process:
                with anyio.fail_after(most_seconds):
                    while process.returncode is None:
                        await progress(line(aside.parent))
                        with anyio.move_on_after(TICK_SECONDS):
                            await process.wait()
        except TimeoutError as late:
            raise _failed(f"it took more than {most_seconds:g} s") from late
        finally:
            far.unlink(missing_ok=True)
        if process.returncode:
            told = _text(complaints).splitlines()
            raise _failed(told[-1] if told else f"its process was ended ({process.returncode})")
        return _text(said)


def line(folder: Path) -> str:
    """Progress of the compiler that works in a folder, as one line for a person."""
    seconds = cpu_seconds = 0.0
    with suppress(OSError, ValueError, KeyError, TypeError):
        words = json.loads((folder / _FAR).read_text("utf-8"))
        seconds, cpu_seconds = float(words["seconds"]), float(words["cpu_seconds"])
    total = seconds * CPU_SECONDS / cpu_seconds if cpu_seconds >= 1 else CPU_SECONDS
    return f"preparing Python for this machine, once: {seconds:.0f} of about {max(total, seconds):.0f} s"


def _failed(why: str) -> SandboxUnavailable:
    return SandboxUnavailable(f"Python could not be prepared for this machine: {why}.", hint=_HINT)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(MAX_COMPLAINTS).decode("utf-8", "replace").strip()
