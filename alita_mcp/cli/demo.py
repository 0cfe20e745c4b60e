"""`alita demo`: the whole way of a tool, told while it happens, in a folder that is gone afterwards."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from alita_mcp.cli.commands import Family
from alita_mcp.cli.output import Output
from alita_mcp.settings import read_settings


def add_commands(family: Family) -> None:
    """Declares `demo`."""
    parser = family.add("demo", demo, "watch a tool being made, proved, used and found again")
    parser.add_argument(
        "--sandbox",
        default="wasm",
        choices=("wasm", "bubblewrap", "docker", "auto"),
        help="where tools run; wasm, the default, works everywhere",
    )


def demo(options: argparse.Namespace, output: Output) -> int:
    """Plays the demo; the exit status is not 0 if any step did not do what it says."""
    import anyio

    from alita_mcp.cli.demo_scene import Scene, expect
    from alita_mcp.cli.demo_steps import STEPS, play

    settings, started = read_settings(), time.monotonic()
    scene = Scene(steps=STEPS, to_stderr=output.as_json)
    with tempfile.TemporaryDirectory(prefix="alita-demo-") as folder:
        anyio.run(play, Path(folder).resolve(), settings, options.sandbox, scene)
    expect(not Path(folder).exists(), f"{folder} is still there")
    seconds = round(time.monotonic() - started, 1)
    if output.as_json:
        output.result({"ok": True, "seconds": seconds, "sandbox": options.sandbox, "steps": scene.steps}, "")
    scene.ends(f"All {len(scene.steps)} steps held, in {seconds} s; nothing is left behind.")
    return 0
