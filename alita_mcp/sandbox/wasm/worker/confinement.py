"""Takes rights away from the worker process for good, and tells what is left: the attestation that the host judges.

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
    """Drops what this system lets a process drop, while it has one thread; what is in force then, as plain JSON.

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
    """Puts the profile on this process; False where macOS does not take it."""
    error = ctypes.c_char_p()
    return sandbox_init(MAC_PROFILE.encode(), ctypes.c_uint64(0), ctypes.byref(error)) == 0


def engine_version() -> str:
    """As it stands beside the engine; `importlib.metadata` would load half a mail program for it."""
    packages = Path(wasmtime.__file__).parent.parent
    return next((found.stem.partition("-")[2] for found in packages.glob("wasmtime-*.dist-info")), "")
