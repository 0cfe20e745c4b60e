"""Judge of a module by examples, which runs in the sandbox only."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from alita_mcp.sandbox.choose import silent
from alita_mcp.sandbox.interface import Environment, Job, RunResult, Sandbox
from alita_mcp.values import Example, Lock
from alita_mcp.verification.comparison.compare import raised, same_result
from alita_mcp.verification.examples.trials import failure_in_words, run_jobs

SHOWN_CHARACTERS = 400
PROBE = "alita_bench_loads"


@dataclass(frozen=True)
class Module:
    """Code that can be called."""

    code: str
    function: str
    environment: Environment | None = None


async def installed(code: str, function: str, packages: tuple[str, ...], sandbox: Sandbox) -> Module:
    """The module with the packages it names.

    Raises:
        PackagesRejected: one of them cannot be had.
        SandboxRefused: this sandbox runs no packages.
        SandboxError: the sandbox failed.
    """
    lock = await sandbox.resolve(packages, silent) if packages else Lock()
    return await with_lock(code, function, lock, sandbox)


async def with_lock(code: str, function: str, lock: Lock, sandbox: Sandbox) -> Module:
    """The module with packages that were resolved before; errors as `installed`."""
    environment = await sandbox.prepare(lock, silent) if lock.requirements else None
    return Module(code, function, environment)


async def why_not_loaded(module: Module, sandbox: Sandbox) -> str:
    """Why the module cannot be imported, or does not hold its function; empty when it can be called.

    Raises:
        SandboxRefused: this sandbox does not offer what the code needs.
        SandboxError: the sandbox failed.
    """
    probe = f"\n\n\ndef {PROBE}() -> bool:\n    return callable({module.function})\n"
    result = await sandbox.run(
        Job(code=module.code + probe, function=PROBE, arguments={}, environment=module.environment)
    )
    if result.ok:
        return "" if result.value is True else f"{module.function} is no function"
    return failure_in_words(result)


async def differences(module: Module, examples: Sequence[Example], sandbox: Sandbox) -> list[str]:
    """For each example an empty text where it holds, else how the outcome differs; a time-out ends the rest.

    Raises:
        SandboxRefused: this sandbox does not offer what the code needs.
        SandboxError: the sandbox failed.
    """
    jobs = [
        Job(
            code=module.code,
            function=module.function,
            arguments=example.arguments,
            environment=module.environment,
        )
        for example in examples
    ]
    results = await run_jobs(sandbox, jobs)
    return [
        await _difference(example, result, sandbox) for example, result in zip(examples, results, strict=True)
    ]


async def _difference(example: Example, result: RunResult | None, sandbox: Sandbox) -> str:
    if result is not None and await _holds(example, result, sandbox):
        return ""
    if result is None:
        got = "was not run: another call took too long"
    else:
        got = f"gave {json.dumps(result.value)}" if result.ok else failure_in_words(result)
    return f"{json.dumps(example.as_json())}: {got}"[:SHOWN_CHARACTERS]


async def _holds(example: Example, result: RunResult, sandbox: Sandbox) -> bool:
    """Whether the outcome is the expected one; compared here, where no code of the tool can reach."""
    if example.raises is not None:
        return raised(example.raises, result)
    if not result.ok:
        return False
    if example.check is None:
        return same_result(example.expected, result.value, example.exact)
    code = f"def holds(result, arguments):\n    return bool(\n{example.check}\n    )\n"
    words = {"result": result.value, "arguments": example.arguments}
    verdict = await sandbox.run(Job(code=code, function="holds", arguments=words))
    return verdict.ok and verdict.value is True
