"""Environment gate: resolves declared packages to hash-locked wheels and builds them once."""

from __future__ import annotations

from alita_mcp.errors import PackagesRejected
from alita_mcp.progress import ReportStage
from alita_mcp.sandbox.interface import Environment, Sandbox
from alita_mcp.values import Check, Draft, Lock
from alita_mcp.verification.findings import fail_check, pass_check


async def environment_gate(
    draft: Draft, sandbox: Sandbox, on_stage: ReportStage
) -> tuple[list[Check], Lock | None, Environment | None]:
    """The lock and the environment of a draft with packages, or the check that says why it has none.

    Raises:
        SandboxRefused: this sandbox runs no packages.
        SandboxError: the sandbox or the package index failed.
    """

    async def progress(line: str) -> None:
        await on_stage(f"environment: {line}")

    try:
        lock = await sandbox.resolve(draft.packages, progress)
        environment = await sandbox.prepare(lock, progress)
    except PackagesRejected as rejected:
        fix = (
            rejected.hint
            or "Use packages with wheels for this Python, other versions, or the standard library."
        )
        return [fail_check("environment", rejected.message, fix)], None, None
    message = f"{len(lock.requirements)} packages locked with hashes"
    return [pass_check("environment", message)], lock, environment
