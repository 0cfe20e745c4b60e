"""Compiler process of the component, for this machine; it takes half a gigabyte of memory.

The process ends with the one that started it, and steps back behind others.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from pathlib import Path

from wasmtime import WasmtimeError
from wasmtime.component import Component

from alita_mcp.sandbox.wasm.worker.engine import new_engine

NICENESS = 5
"""A third of what others get on a busy machine: less would let those wait for minutes who wait for it."""


def follow_parent() -> None:
    """Steps back behind other processes, and ends this one when its parent is gone."""

    def end_with_parent() -> None:
        while os.read(0, 1):  # not through `sys.stdin`, whose lock an ending interpreter waits for
            pass
        os._exit(1)

    if hasattr(os, "nice"):
        os.nice(NICENESS)
    threading.Thread(target=end_with_parent, daemon=True).start()


def write_private(target: Path, content: bytes) -> None:
    """Writes a new file that only the user may read, and syncs it to the disk."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(target, flags, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def keep_compiled(aside: Path, compiled: bytes) -> None:
    """Gives a compiled file, which was written aside as `KEY-….partial`, the name that says what it is."""
    sha256 = hashlib.sha256(compiled).hexdigest()
    aside.rename(aside.with_name(f"{aside.stem.partition('-')[0]}-{sha256}.cwasm"))


def main() -> None:
    """Entry point: takes the component, its digest and a path `KEY-….partial`; leaves the compiled file beside it."""
    component, sha256, aside = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    follow_parent()
    try:
        content = component.read_bytes()
        if hashlib.sha256(content).hexdigest() != sha256:
            sys.exit(f"{component} is not the file that its record describes")
        compiled = bytes(Component(new_engine(compiles=True), content).serialize())
        write_private(aside, compiled)
        keep_compiled(aside, compiled)
    except (OSError, WasmtimeError) as problem:
        sys.exit(str(problem))
