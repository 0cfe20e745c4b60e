"""Confinement of the worker process: drops rights for good and reports what is left, for the host's attestation.

The engine is what confines a tool. This is the second wall: for code that broke out of the engine.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import wasmtime

MAC_PROFILE = """(version 1)
(allow default)
(deny network*)
(deny file-write*)
(deny file-read-data)
(deny process-fork)
(deny process-exec*)
(deny mach-lookup)
"""
"""What a worker may no longer do on macOS; its pipes are open and its code is mapped."""


def confine(compiled: Path) -> dict[str, Any]:
    """Drops all rights that this system lets a process with one thread drop; returns what is in force, as JSON.

    Raises:
        OSError: Linux does not take the filter.
    """
    inherited = os.environ  # noqa: TID251 - what a process inherits is no setting
    system: str = sys.platform
    facts = {
        "engine": engine_version(),
        "compiled": compiled.name,
        "system": system,
        "variables": sorted(inherited),
    }
    inherited.clear()
    if system == "linux":
        return facts | {"linux": import_module("alita_mcp.sandbox.wasm.worker.linux").confine(compiled)}
    if system == "darwin":
        return facts | {"profile": enter_profile(ctypes.CDLL("/usr/lib/libsandbox.1.dylib").sandbox_init)}
    return facts


def enter_profile(sandbox_init: Callable[..., int]) -> bool:
    """Applies the sandbox profile to this process; False where macOS refuses it."""
    error = ctypes.c_char_p()
    return sandbox_init(MAC_PROFILE.encode(), ctypes.c_uint64(0), ctypes.byref(error)) == 0


def engine_version() -> str:
    """Version of the engine from its package; faster than `importlib.metadata`, which imports the `email` package."""
    packages = Path(wasmtime.__file__).parent.parent
    return next((found.stem.partition("-")[2] for found in packages.glob("wasmtime-*.dist-info")), "")
