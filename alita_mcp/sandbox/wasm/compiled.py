"""The component compiled for this machine, once for each version of the engine: in a private folder, then checked.

Whoever loads such a file trusts it as its own code; so nobody else may have been able to write it.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import platformdirs
from anyio import to_thread

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.seam import Progress
from alita_mcp.sandbox.wasm.component import Component
from alita_mcp.sandbox.wasm.process import command, environment
from alita_mcp.sandbox.wasm.worker.features import SETTINGS
from alita_mcp.values import Value

_MODULE = "alita_mcp.sandbox.wasm.worker.compile"


class Compiled(Value):
    """A compiled component that may be loaded."""

    path: Path
    base_bytes: int
    """What an instance takes before it does anything."""


def folder() -> Path:
    """Where compiled components are kept."""
    return Path(platformdirs.user_cache_dir("alita-mcp")) / "compiled"


def name_of(component: Component) -> str:
    """Names what it depends on: component, engine and its settings, machine."""
    parts = [component.sha256, metadata.version("wasmtime"), SETTINGS, sys.platform, platform.machine()]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


async def compile_once(component: Component, progress: Progress) -> Compiled:
    """The compiled component, made first where it is not there."""
    await progress("preparing Python for this machine, once")
    return await to_thread.run_sync(_compile, component)


def _compile(component: Component) -> Compiled:
    place = folder()
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    target = place / f"{name_of(component)}.cwasm"
    record = target.with_suffix(".json")
    if not record.is_file():
        aside = target.with_suffix(f".{os.getpid()}")
        words = command(_MODULE, str(component.path), str(aside))
        done = subprocess.run(
            words, env=environment(), capture_output=True, check=False, cwd=Path(os.sep).resolve()
        )
        if done.returncode:
            raise SandboxError(f"Compiling failed: {done.stderr.decode(errors='replace')[-500:]}")
        found = json.loads(done.stdout)
        aside.replace(target)
        record.write_text(json.dumps(found))
    return Compiled(path=target, base_bytes=int(json.loads(record.read_text())["base_bytes"]))
