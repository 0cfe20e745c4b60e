"""`alita demo`: plays and prints the whole life of a tool, in a temporary folder."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from alita_mcp.cli.output import Output, Printer

if TYPE_CHECKING:
    from alita_mcp.settings import Settings


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

    settings = read_settings()
    prepared_s = anyio.run(prepare_once, settings.model_copy(update={"sandbox": sandbox}), output)
    started, scene = time.monotonic(), Scene(to_stderr=output.as_json)
    with tempfile.TemporaryDirectory(prefix="alita-demo-") as folder:
        anyio.run(play, Path(folder).resolve(), settings, sandbox, scene)
    expect(not Path(folder).exists(), f"{folder} is still there")
    seconds = round(time.monotonic() - started, 1)
    value = {
        "ok": True,
        "seconds": seconds,
        "prepared_s": prepared_s,
        "sandbox": sandbox,
        "steps": scene.steps,
    }
    output.print_result(value, "")
    kept = f" except the compiled Python for this machine, made once in {prepared_s} s" if prepared_s else ""
    end = f"All {len(scene.steps)} steps held, in {seconds} s; nothing is left behind{kept}."
    scene.print_line(end, "bold green")


async def prepare_once(settings: Settings, output: Output) -> float:
    """Prepares the sandbox, so that no step of the demo waits for it; seconds, 0 if it was ready before."""
    from alita_mcp.cli.setup.prepare import find_embedded
    from alita_mcp.sandbox.choose import open_sandbox

    if settings.sandbox not in ("auto", "wasm") or (await find_embedded())["compiled"]:
        return 0.0
    started = time.monotonic()
    with output.progress("demo") as on_stage:
        await (await open_sandbox(settings, on_stage)).aclose()
    return round(time.monotonic() - started, 1) if (await find_embedded())["compiled"] else 0.0
