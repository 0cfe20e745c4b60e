"""`alita prepare`: does on this machine, before a first call, what that would wait for."""

from __future__ import annotations

from typing import Any

from alita_mcp.cli.application import open_app
from alita_mcp.cli.output import Output, Printer, finding_lines


async def prepare(*, output: Printer) -> None:
    """Make the sandbox and the starter tools ready for the first call.

    Examples:
        alita prepare
    """
    done, lines = await prepare_machine(output)
    output.print_result(done, "\n".join(lines))


async def prepare_machine(output: Output) -> tuple[dict[str, Any], list[str]]:
    """Makes the sandbox and the starter tools ready; returns what was done, and the same in words."""
    from alita_mcp.app.doctor import describe_embedded
    from alita_mcp.sandbox.wasm.embedded import find_embedded

    async with open_app() as app:
        with output.progress("prepare") as on_stage:
            await on_stage("sandbox")
            async with app.preparation.report(on_stage):
                found = await app.preparation.prove_starters(on_stage)
        kind = app.sandbox.kind
    embedded = await find_embedded()
    failed = {name: why for name, why in found.items() if why}
    done = {
        "sandbox": kind,
        "embedded": embedded,
        "proved_now": [name for name in found if name not in failed],
        "failed": failed,
    }
    lines = [f"Tools run in: {kind}"]
    if kind == "wasm":
        lines += finding_lines(describe_embedded(embedded))
    if proved := ", ".join(done["proved_now"]):
        lines.append(f"✓ starter tools: proved just now: {proved}")
    elif not failed:
        lines.append("✓ starter tools: proved before; nothing to do")
    lines += [f"✗ {why}" for why in failed.values()]
    return done, lines
