"""`alita prepare`: chooses the sandbox and makes it ready on this machine, before a tool needs it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from alita_mcp.cli.commands import Family
from alita_mcp.cli.output import Output
from alita_mcp.errors import SandboxError
from alita_mcp.progress import ReportStage
from alita_mcp.settings import Settings, read_settings

if TYPE_CHECKING:
    from alita_mcp.sandbox.wasm.compiled import CompiledFiles


def add_commands(family: Family) -> None:
    """Declares `prepare`."""
    family.add("prepare", prepare, "make the sandbox ready on this machine before a tool needs it")


async def prepare(_options: argparse.Namespace, output: Output) -> int:
    """Says which sandbox tools will run in, and what was done for it."""
    with output.progress("prepare") as on_stage:
        done = await prepared(read_settings(), on_stage)
    lines = [f"Tools run in: {done['sandbox']}"]
    if done["sandbox"] == "wasm":
        lines.append(embedded_line(done["embedded"]))
        lines.append(
            "  compiled just now" if done["compiled_now"] else "  compiled before; nothing was to be done"
        )
    else:
        lines.append("  nothing was to be compiled")
    output.result(done, "\n".join(lines))
    return 0


async def prepared(
    settings: Settings, on_stage: ReportStage, files: CompiledFiles | None = None
) -> dict[str, Any]:
    """The sandbox that the settings lead to, ready for use by any process, and what was done for it.

    Raises:
        SandboxUnavailable: none works here.
    """
    from alita_mcp.sandbox.choose import open_sandbox

    await on_stage("sandbox")
    before = await embedded(files)
    sandbox = await open_sandbox(settings, on_stage)
    await sandbox.aclose()
    after = await embedded(files)
    return {
        "sandbox": sandbox.kind,
        "compiled_now": after["compiled"] and before.get("path") != after["path"],
        "embedded": after,
    }


async def embedded(files: CompiledFiles | None = None) -> dict[str, Any]:
    """What there is of the embedded sandbox on this machine."""
    from alita_mcp.sandbox.wasm.compiled import CompiledFiles, key_for
    from alita_mcp.sandbox.wasm.component import find_component

    files = files or CompiledFiles()
    found: dict[str, Any] = {"compiled": False, "folder": str(files.folder)}
    try:
        component = find_component()
        key = key_for(component)
        found |= {"component": component.sha256, "engine": f"wasmtime {key.engine}"}
        compiled = await files.find(component)
    except SandboxError as problem:
        return {**found, "problem": str(problem)}
    if compiled is None:
        return found
    record = compiled.record
    return {
        **found, "compiled": True, "path": str(compiled.path), "bytes": record.bytes, "sha256": record.sha256,
        "seconds": record.seconds, "cpu_seconds": record.cpu_seconds,
    }  # fmt: skip


def embedded_line(found: dict[str, Any]) -> str:
    """The same in a line for a person."""
    if "problem" in found:
        return f"✗ embedded Python: {found['problem']}"
    made = f"component {found['component'][:12]} for {found['engine']}"
    if not found["compiled"]:
        return f"  embedded Python: not compiled yet ({made}); `alita prepare` does it"
    size, wall, spent = f"{found['bytes'] / 1e6:.0f} MB", found["seconds"], found["cpu_seconds"]
    cost = f"{size}, made in {wall:g} s ({spent:g} s of processor time)"
    return f"✓ embedded Python: {made}, {cost}, at {found['path']}"
