"""Location of the component: in the installed package, else in the build folder of these sources."""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path

import platformdirs

from alita_mcp.errors import SandboxUnavailable
from alita_mcp.sandbox.wasm.build import FILE, RECORD, BuildFailed, build, source_digest
from alita_mcp.values import Value

_HERE = Path(__file__).parent


class Component(Value):
    """A built component: its file and digest."""

    path: Path
    sha256: str


@cache
def build_folder() -> Path:
    """Folder of the build for these sources, outside of any package."""
    return Path(platformdirs.user_cache_dir("alita-mcp")) / "components" / source_digest()


def find_component() -> Component:
    """Finds the component that belongs to this code.

    Raises:
        SandboxUnavailable: it was not built.
    """
    # for a checkout alone the sources are read
    folder = _HERE if (_HERE / RECORD).is_file() else build_folder()
    if (folder / RECORD).is_file():
        digest = json.loads((folder / RECORD).read_text("utf-8"))["sha256"]
        return Component(path=folder / FILE, sha256=digest)
    raise SandboxUnavailable(
        "The component of the embedded sandbox was not built.",
        hint="Install a wheel of alita-mcp-server, or run `make component` in a checkout.",
    )


def main() -> None:
    """`python -m alita_mcp.sandbox.wasm.component`: builds this checkout's component, unless it is there."""
    folder = build_folder()
    if (folder / RECORD).is_file():
        return
    print("building Python for the embedded sandbox, once for its sources: about 20 s", file=sys.stderr)  # noqa: T201
    try:
        print(build(folder))  # noqa: T201 - a program for people
    except (BuildFailed, OSError) as problem:
        sys.exit(f"The component was not built: {problem}")


if __name__ == "__main__":
    main()
