"""Process that writes a library with others: `python -m …writing_process HOME ROUNDS NUMBER`.

It publishes tools of its own, races the others for names that all want, words a tool and counts calls of one.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

import anyio

from alita_mcp.errors import NameTaken
from alita_mcp.library.clock import now
from alita_mcp.library.opening import open_library
from alita_mcp.settings import Settings
from alita_mcp.values import (
    AcceptedVersion,
    Draft,
    Example,
    Lock,
    ToolContract,
    VerificationReport,
)

SHARED = "shared_by_all"


def accepted(name: str, description: str) -> AcceptedVersion:
    """A minimal accepted version without parameters, to be written to the library."""
    examples = (Example(expected="x"),)
    return AcceptedVersion(
        draft=Draft(
            name=name, description=description, code=f"def {name}() -> str:\n    return 'x'\n", examples=examples
        ),
        contract=ToolContract(
            function=name,
            summary=description,
            input_schema={"type": "object", "properties": {}},
            output_schema={"type": "object", "properties": {"result": {"type": "string"}}},
            wraps_result=True,
            is_async=False,
        ),
        lock=Lock(),
        report=VerificationReport(
            trust="verified", checks=(), sandbox="none", examples_passed=1, examples_total=1, deterministic=True,
            created_at=now(),
        ),
    )  # fmt: skip


async def write(home: Path, rounds: int, number: int) -> None:
    """Writes the library after the start signal."""
    async with open_library(Settings(home=home), starters=lambda: None) as library:
        with suppress(NameTaken):
            await library.publish(accepted(SHARED, "Called by everybody."), expected_version=0)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.read()
        for at in range(rounds):
            own, wanted = f"own_{number}_{at}", f"wanted_by_all_{at}"
            await library.publish(accepted(own, f"Counts the sheep of {own}."), expected_version=0)
            try:
                await library.publish(accepted(wanted, f"Counts the sheep of {wanted}."), expected_version=0)
            except NameTaken:
                await library.refresh()
            await library.learn_wording(own, f"lamb {own}")
            library.calls.record(SHARED, 1, ok=True, status="ok", seconds=0.0, sandbox="none")
            await library.settle()
            await library.search(f"sheep of {own}", 5)


if __name__ == "__main__":
    anyio.run(write, Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
