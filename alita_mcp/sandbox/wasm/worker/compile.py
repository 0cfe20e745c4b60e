"""Compiler process of the component, for this machine; it takes half a gigabyte of memory.

The process ends with the one that started it, and steps back behind others.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
from importlib import metadata
from pathlib import Path
from typing import Any

from wasmtime import WasmtimeError
from wasmtime.component import Component

from alita_mcp.sandbox.wasm.private import write_private
from alita_mcp.sandbox.wasm.worker.engine import Instances, new_engine
from alita_mcp.sandbox.wasm.worker.features import SETTINGS

NICENESS = 5
"""A third of what others get on a busy machine: less would let those wait for minutes who wait for it."""
_PAGE = 1 << 16
_MOST_PAGES = 1 << 14


def compile_component(component: Path, sha256: str, target: Path) -> dict[str, Any]:
    """Compiles the component into a file; returns a record of its sources and engine.

    Raises:
        ValueError: the component is not the one of that digest.
        WasmtimeError: the engine refuses it.
        OSError: it cannot be read or written.
    """
    content = component.read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ValueError(f"{component} is not the file that its record describes")
    compiled = bytes(Component(new_engine(compiles=True), content).serialize())
    write_private(target, compiled)
    base_bytes, spent = _base_bytes(target), os.times()
    return {
        "sha256": hashlib.sha256(compiled).hexdigest(), "bytes": len(compiled), "base_bytes": base_bytes,
        "engine": metadata.version("wasmtime"), "settings": SETTINGS,
        "cpu_seconds": round(spent.user + spent.system, 2),
    }  # fmt: skip


def follow_parent() -> None:
    """Steps back behind other processes, and ends this one when its parent is gone."""

    def end_with_parent() -> None:
        while os.read(0, 1):  # not through `sys.stdin`, whose lock an ending interpreter waits for
            pass
        os._exit(1)

    if hasattr(os, "nice"):
        os.nice(NICENESS)
    threading.Thread(target=end_with_parent, daemon=True).start()


def _base_bytes(compiled: Path) -> int:
    """The least memory with which an instance can be made."""
    instances = Instances(compiled, lambda _name, _question: "")
    low, high = 0, _MOST_PAGES
    while high - low > 1:
        middle = (low + high) // 2
        try:
            instances.open_instance(middle * _PAGE, lambda _stream, _data: None)[0].close()
        except WasmtimeError:
            low = middle
        else:
            high = middle
    return high * _PAGE


def main() -> None:
    """Entry point: takes the component, its digest and the target; prints the record as JSON."""
    component, sha256, target = sys.argv[1:]
    follow_parent()
    try:
        made = compile_component(Path(component), sha256, Path(target))
    except (OSError, ValueError, WasmtimeError) as problem:
        sys.exit(str(problem))
    print(json.dumps(made))  # noqa: T201 - its answer
