"""What this machine has of the embedded sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from alita_mcp.errors import SandboxError

if TYPE_CHECKING:
    from alita_mcp.sandbox.wasm.compiled import CompiledFiles


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
