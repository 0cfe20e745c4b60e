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

from alita_mcp.sandbox.wasm.worker.engine import Instances, new_engine

NICENESS = 5
"""A third of what others get on a busy machine: less would let those wait for minutes who wait for it."""
_PAGE = 1 << 16
_MOST_PAGES = 1 << 14


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


def keep_compiled(aside: Path, compiled: bytes, base_bytes: int) -> None:
    """Gives a compiled file, which was written aside as `KEY-….partial`, the name that says what it is."""
    sha256 = hashlib.sha256(compiled).hexdigest()
    aside.rename(aside.with_name(f"{aside.stem.partition('-')[0]}-{base_bytes}-{sha256}.cwasm"))


def _find_base_bytes(compiled: Path) -> int:
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
    """Entry point: takes the component, its digest and a path `KEY-….partial`; leaves the compiled file beside it."""
    component, sha256, aside = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    follow_parent()
    try:
        content = component.read_bytes()
        if hashlib.sha256(content).hexdigest() != sha256:
            sys.exit(f"{component} is not the file that its record describes")
        compiled = bytes(Component(new_engine(compiles=True), content).serialize())
        write_private(aside, compiled)
        keep_compiled(aside, compiled, _find_base_bytes(aside))
    except (OSError, WasmtimeError) as problem:
        sys.exit(str(problem))
