"""A process of its own that builds an environment and tells how far it is. Arguments: kind, home, index, packages."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio

from alita_mcp.sandbox.choose import load_sandbox
from alita_mcp.settings import Settings


async def build(kind: str, home: Path, index: str, packages: tuple[str, ...]) -> None:
    sandbox = load_sandbox(kind, Settings(home=home, package_index=index))

    async def tell(line: str) -> None:
        print(line, flush=True)

    environment = await sandbox.prepare(await sandbox.resolve(packages, tell), tell)
    print("built", environment.location, flush=True)
    await sandbox.aclose()


if __name__ == "__main__":
    anyio.run(build, sys.argv[1], Path(sys.argv[2]), sys.argv[3], tuple(sys.argv[4:]))
