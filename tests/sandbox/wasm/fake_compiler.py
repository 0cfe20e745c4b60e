"""A compiler that does what its component tells it: each is a JSON object. Run as the real one is."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from importlib import import_module
from pathlib import Path

from alita_mcp.sandbox.wasm.worker.compile import follow_parent, keep_compiled, write_private

MODULE = "tests.sandbox.wasm.fake_compiler"


def main() -> None:
    component, _sha256, aside = sys.argv[1:]
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
    content = b"native code " * 1000
    try:
        write_private(Path(aside), content)
        keep_compiled(Path(aside), how.get("named_for", "").encode() or content)
    except OSError as problem:
        sys.exit(str(problem))
