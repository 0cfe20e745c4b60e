"""A compiler that does what its component tells it: each is a JSON object. Run as the real one is."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import time
from importlib import import_module
from pathlib import Path

from alita_mcp.sandbox.wasm.compiled import key_for
from alita_mcp.sandbox.wasm.component import Component
from alita_mcp.sandbox.wasm.private import write_private
from alita_mcp.sandbox.wasm.worker.compile import follow_parent

MODULE = "tests.sandbox.wasm.fake_compiler"


def main() -> None:
    component, sha256, target = sys.argv[1:]
    key = key_for(Component(path=Path(component), sha256=sha256))
    how = json.loads(Path(component).read_text("utf-8"))
    follow_parent()
    with Path(component).with_name("runs").open("a", encoding="utf-8") as runs:
        runs.write(f"{os.getpid()} {os.nice(0)}\n")
    while "until" in how and not Path(how["until"]).exists():
        time.sleep(0.05)
    if how.get("ends") == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if "room" in how:
        resource = import_module("resource")  # not on Windows
        resource.setrlimit(resource.RLIMIT_FSIZE, (how["room"], how["room"]))
    content = b"native code " * how.get("twelves", 1000)
    try:
        write_private(Path(target), content)
    except OSError as problem:
        sys.exit(str(problem))
    made = {
        "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content), "base_bytes": 1 << 20,
        "engine": key.engine, "settings": key.settings, "cpu_seconds": 1.5,
    } | how.get("says", {})  # fmt: skip
    print(how.get("answer") or json.dumps(made))
