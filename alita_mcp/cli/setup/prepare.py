"""`alita prepare`: does on this machine, before a first call, what that would wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from alita_mcp.cli.application import open_app
from alita_mcp.cli.output import Printer
from alita_mcp.errors import SandboxError

if TYPE_CHECKING:
    from alita_mcp.sandbox.wasm.compiled import CompiledFiles


async def prepare(*, output: Printer) -> None:
    """Make the sandbox and the starter tools ready for the first call.

    Examples:
        alita prepare
    """
    before = await find_embedded()
    async with open_app() as app:
        with output.progress("prepare") as on_stage:
            await on_stage("sandbox")
            async with app.preparation.report(on_stage):
                found = await app.preparation.prove_starters(on_stage)
        kind = app.sandbox.kind
    after = await find_embedded()
    failed = {name: why for name, why in found.items() if why}
    done = {
        "sandbox": kind,
        "compiled_now": after["compiled"] and before.get("path") != after["path"],
        "embedded": after,
        "proved_now": [name for name in found if name not in failed],
        "failed": failed,
    }
    lines = [f"Tools run in: {kind}"]
    if kind == "wasm":
        lines.append(describe_embedded(after))
        lines.append("  compiled just now" if done["compiled_now"] else "  compiled before; nothing to do")
    if proved := ", ".join(done["proved_now"]):
        lines.append(f"✓ starter tools: proved just now: {proved}")
    elif not failed:
        lines.append("✓ starter tools: proved before; nothing to do")
    lines += [f"✗ {why}" for why in failed.values()]
    output.print_result(done, "\n".join(lines))


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
