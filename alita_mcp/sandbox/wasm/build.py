"""Builds the component: the guest and what it uses, staged and handed to `componentize-py`."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from alita_mcp.sandbox.wasm.component import FILE, PYTHON, TOOLS, build_folder, sources

_ENTRY = "from alita_mcp.sandbox.wasm.guest.entry import WitWorld\n"
_PACKAGES = ("alita_mcp", "alita_mcp/sandbox", "alita_mcp/sandbox/wasm")


def build(folder: Path) -> Path:
    """The component in a folder, with a record of its digest beside it; what is there already is left.

    Raises:
        OSError, subprocess.CalledProcessError: the tool is missing or fails.
    """
    target = folder / FILE
    record = folder / f"{FILE}.json"
    if record.is_file():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as work:
        stage, made = Path(work) / "stage", Path(work) / FILE
        _stage(stage)
        subprocess.run(_command(stage, made), check=True, cwd=work, env={})
        digest = hashlib.sha256(made.read_bytes()).hexdigest()
        made.replace(target)
    words = {"sha256": digest, "python": PYTHON, "tools": TOOLS}
    aside = folder / f"{FILE}.json.new"
    aside.write_text(json.dumps(words, indent=1) + "\n", "utf-8")
    aside.replace(record)
    return target


def _stage(stage: Path) -> None:
    """The files as the guest imports them; nothing else of this machine is seen by the build."""
    for name, file in sources().items():
        place = stage / "alita_mcp" / "sandbox" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place)
    for package in _PACKAGES:
        (stage / package / "__init__.py").touch()
    (stage / "alita_guest.py").write_text(_ENTRY, "utf-8")
    zones = find_spec("tzdata")
    if zones is None or zones.origin is None:
        raise FileNotFoundError("tzdata is not installed")
    shutil.copytree(Path(zones.origin).parent, stage / "tzdata")


def _command(stage: Path, made: Path) -> list[str]:
    program = Path(sysconfig.get_path("scripts")) / "componentize-py"
    wit = stage / "alita_mcp" / "sandbox" / "wasm" / "guest" / "alita.wit"
    return [
        str(program), "--quiet", "--wit-path", str(wit), "--world", "tool",
        "componentize", "--python-path", str(stage), "alita_guest", "--output", str(made),
    ]  # fmt: skip


def main() -> None:
    """`python -m alita_mcp.sandbox.wasm.build`: builds where this checkout's component is kept."""
    found = {name: metadata.version(name.partition("==")[0]) for name in TOOLS}
    wrong = [
        f"{name}, found {version}" for name, version in found.items() if not name.endswith(f"=={version}")
    ]
    if wrong:
        sys.exit(f"The component is built with {'; '.join(wrong)}.")
    print(build(build_folder()))  # noqa: T201 - a program for people


if __name__ == "__main__":
    main()
