"""`alita demo`: plays and prints the whole life of a tool, in a temporary folder."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Literal

from alita_mcp.cli.output import Printer


def demo(*, sandbox: Literal["wasm", "bubblewrap", "docker", "auto"] = "wasm", output: Printer) -> None:
    """Watch a tool being made, proved, used and found again.

    Args:
        sandbox: Where tools run; wasm works everywhere.

    Examples:
        alita demo
        alita demo --sandbox docker
    """
    import anyio

    from alita_mcp.cli.demo.steps import Scene, expect, play
    from alita_mcp.settings import read_settings

    started, scene = time.monotonic(), Scene(to_stderr=output.as_json)
    with tempfile.TemporaryDirectory(prefix="alita-demo-") as folder:
        anyio.run(play, Path(folder).resolve(), read_settings(), sandbox, scene)
    expect(not Path(folder).exists(), f"{folder} is still there")
    seconds = round(time.monotonic() - started, 1)
    output.print_result({"ok": True, "seconds": seconds, "sandbox": sandbox, "steps": scene.steps}, "")
    end = f"All {len(scene.steps)} steps held, in {seconds} s; the folder that they were played in is gone."
    scene.print_line(end, "bold green")
