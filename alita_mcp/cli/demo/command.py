"""`alita demo`: plays and prints the whole life of a tool, in a temporary folder."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from alita_mcp.cli.commands import Family
from alita_mcp.cli.output import Output
from alita_mcp.settings import Settings, read_settings


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

    from alita_mcp.cli.demo.scene import Scene, expect
    from alita_mcp.cli.demo.steps import STEPS, play

    settings = read_settings()
    once = anyio.run(_prepared, settings.model_copy(update={"sandbox": options.sandbox}), output)
    started, scene = time.monotonic(), Scene(steps=STEPS, to_stderr=output.as_json)
    with tempfile.TemporaryDirectory(prefix="alita-demo-") as folder:
        anyio.run(play, Path(folder).resolve(), settings, options.sandbox, scene)
    expect(not Path(folder).exists(), f"{folder} is still there")
    seconds = round(time.monotonic() - started, 1)
    if output.as_json:
        words = {"seconds": seconds, "prepared_s": once, "sandbox": options.sandbox, "steps": scene.steps}
        output.result({"ok": True, **words}, "")
    kept = f" but the Python that was prepared for this machine, once, in {once} s" if once else ""
    scene.ends(f"All {len(scene.steps)} steps held, in {seconds} s; nothing is left behind{kept}.")
    return 0


async def _prepared(settings: Settings, output: Output) -> float:
    """Seconds that were spent on what a machine does once, so that no step of the demo waits for it."""
    from alita_mcp.cli.setting_up.preparing import embedded, prepared

    if settings.sandbox not in ("auto", "wasm") or (await embedded())["compiled"]:
        return 0.0
    started = time.monotonic()
    with output.progress("demo") as on_stage:
        done = await prepared(settings, on_stage)
    return round(time.monotonic() - started, 1) if done["compiled_now"] else 0.0
