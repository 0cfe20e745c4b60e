"""Where the component is: in the package that was installed, else where a build for these sources keeps it."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path

import platformdirs

from alita_mcp.errors import SandboxUnavailable
from alita_mcp.values import Value

FILE = "python.wasm"
PYTHON = "3.14"
"""What `componentize-py` brings."""
TOOLS = ("componentize-py==0.25.1", "tzdata==2026.6")
"""What it is built with; `pyproject.toml` names the same."""
_HERE = Path(__file__).parent
_SOURCES = (
    "strict_json.py", "runner/__init__.py", "runner/failures.py", "runner/grants.py", "runner/mirror.py",
    "runner/shapes.py", "runner/workspace.py",
)  # fmt: skip
"""What of the sandbox's room goes into it besides `guest/`."""


class Component(Value):
    """A built component."""

    path: Path
    sha256: str


def sources() -> dict[str, Path]:
    """Each file that goes into it, by its name below `alita_mcp/sandbox`."""
    room = _HERE.parent
    guest = sorted((_HERE / "guest").rglob("*.*"))
    guest = [file for file in guest if file.suffix in {".py", ".wit"}]
    return {name: room / name for name in _SOURCES} | {
        file.relative_to(room).as_posix(): file for file in guest
    }


@cache
def build_digest() -> str:
    """Names what is built from the sources as they are, by the tools as they are pinned."""
    digest = hashlib.sha256(json.dumps(TOOLS).encode())
    for name, file in sources().items():
        digest.update(f"{name}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()[:32]


def build_folder() -> Path:
    """Where builds are kept that are part of no package, by digest."""
    return Path(platformdirs.user_cache_dir("alita-mcp")) / "components" / build_digest()


def find_component() -> Component:
    """The component that belongs to this code.

    Raises:
        SandboxUnavailable: it was not built.
    """
    for folder in (_HERE, build_folder()):
        record = folder / f"{FILE}.json"
        if record.is_file():
            return Component(path=folder / FILE, sha256=json.loads(record.read_text("utf-8"))["sha256"])
    raise SandboxUnavailable(
        "The component of the embedded sandbox was not built.",
        hint="Install a wheel of alita-mcp-server, or run `make component` in a checkout.",
    )
