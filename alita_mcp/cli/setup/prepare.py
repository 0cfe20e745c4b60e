"""`alita prepare`: chooses the sandbox and makes it ready on this machine, before a tool needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from alita_mcp.cli.output import Printer
from alita_mcp.errors import SandboxError

if TYPE_CHECKING:
    from alita_mcp.progress import ReportStage
    from alita_mcp.sandbox.wasm.compiled import CompiledFiles
    from alita_mcp.settings import Settings


async def prepare(*, output: Printer) -> None:
    """Choose the sandbox, and make it ready before a tool needs it.

    Examples:
        alita prepare
    """
    from alita_mcp.settings import read_settings

    with output.progress("prepare") as on_stage:
        done = await prepare_sandbox(read_settings(), on_stage)
    lines = [f"Tools run in: {done['sandbox']}"]
    if done["sandbox"] == "wasm":
        lines.append(describe_embedded(done["embedded"]))
        lines.append("  compiled just now" if done["compiled_now"] else "  compiled before; nothing to do")
    else:
        lines.append("  nothing to compile")
    output.print_result(done, "\n".join(lines))


async def prepare_sandbox(
    settings: Settings, on_stage: ReportStage, files: CompiledFiles | None = None
) -> dict[str, Any]:
    """Makes the sandbox of the settings ready for every process of this user; returns what was done.

    Raises:
        SandboxUnavailable: none works here.
    """
    from alita_mcp.sandbox.choose import open_sandbox

    await on_stage("sandbox")
    before = await find_embedded(files)
    sandbox = await open_sandbox(settings, on_stage)
    await sandbox.aclose()
    after = await find_embedded(files)
    return {
        "sandbox": sandbox.kind,
        "compiled_now": after["compiled"] and before.get("path") != after["path"],
        "embedded": after,
    }


async def find_embedded(files: CompiledFiles | None = None) -> dict[str, Any]:
    """What this machine has of the embedded sandbox: component, engine, and the compiled file if there is one."""
    from alita_mcp.sandbox.wasm.compiled import CompiledFiles, engine_version
    from alita_mcp.sandbox.wasm.component import find_component

    files = files or CompiledFiles()
    found: dict[str, Any] = {"compiled": False, "folder": str(files.folder)}
    try:
        component = find_component()
        found |= {"component": component.sha256, "engine": f"wasmtime {engine_version()}"}
        compiled = await files.find(component)
    except SandboxError as problem:
        return {**found, "problem": str(problem)}
    if compiled is None:
        return found
    size = compiled.path.stat().st_size
    return {**found, "compiled": True, "path": str(compiled.path), "bytes": size}


def describe_embedded(found: dict[str, Any]) -> str:
    """What `find_embedded` found, in a line."""
    if "problem" in found:
        return f"✗ embedded Python: {found['problem']}"
    component = f"component {found['component'][:12]} for {found['engine']}"
    if not found["compiled"]:
        return f"  embedded Python: not compiled yet ({component}); `alita prepare` compiles it"
    return f"✓ embedded Python: {component}, {found['bytes'] / 1e6:.0f} MB, at {found['path']}"
