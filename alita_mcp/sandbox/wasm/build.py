"""Build of the WebAssembly component from the guest and its sources, by `componentize-py`.

Runs when a package is made, where nothing of ours is installed: it imports the standard library alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

FILE = "python.wasm"
RECORD = f"{FILE}.json"
PYTHON = "3.14"
"""What `componentize-py` brings."""
TOOLS = ("componentize-py==0.25.1", "tzdata==2026.6")
"""What it is built with; `pyproject.toml` names the same."""
_HERE = Path(__file__).parent
_SOURCES = (
    "wire/__init__.py", "wire/strict_json.py", "runner/__init__.py", "runner/tool/__init__.py",
    "runner/tool/calling.py", "runner/tool/failures.py", "runner/tool/grants.py", "runner/tool/pictures.py",
    "runner/tool/shapes.py", "runner/tool/workspace.py",
)  # fmt: skip
"""Sources of the sandbox package that go into it besides `guest/`."""
_PROGRAM = _HERE.parents[1] / "runs" / "program.py"
"""Makes the program that runs code once: it is compiled with the component, since each run imports it anew."""
_ENTRY = "from alita_mcp.sandbox.wasm.guest.entry import WitWorld\n"
_PACKAGES = ("alita_mcp", "alita_mcp/sandbox", "alita_mcp/sandbox/wasm")
_RUN = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from componentize_py import script; sys.exit(script())"
)
_MAX_COMPLAINTS = 4_000
_NO_TOOL = (
    "It has wheels for Linux with glibc, for macOS and for Windows on x86-64. Elsewhere install a wheel of "
    "alita-mcp-server, which holds the component."
)


class BuildFailed(Exception):
    """The component cannot be built here; the message says why."""


def sources() -> dict[str, Path]:
    """Source files of the component, by their names below `alita_mcp/sandbox`."""
    sandbox = _HERE.parent
    guest = [file for file in sorted((_HERE / "guest").rglob("*.*")) if file.suffix in {".py", ".wit"}]
    return {name: sandbox / name for name in _SOURCES} | {
        file.relative_to(sandbox).as_posix(): file for file in guest
    }


def source_digest() -> str:
    """Digest of the component's sources and of the pinned tools that build it."""
    digest = hashlib.sha256(json.dumps(TOOLS).encode())
    for name, file in sources().items():
        digest.update(f"{name}\0".encode() + file.read_bytes() + b"\0")
    digest.update(_program().encode())
    return digest.hexdigest()[:32]


def build(folder: Path) -> Path:
    """Builds the component into a folder, with a record of its digest; a finished one is left.

    The folder appears whole: two builds differ, so the component of one must not stand beside the record of another.

    Raises:
        BuildFailed: a tool is missing, has another version or fails.
        OSError: the folder cannot be written.
    """
    if (folder / RECORD).is_file():
        return folder / FILE
    for tool in TOOLS:
        name, _, pinned = tool.partition("==")
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            found = "no version"
        if found != pinned:
            raise BuildFailed(
                f"The embedded sandbox is built with {tool}, and {found} of it is installed. {_NO_TOOL}"
            )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="unfinished-") as work:
        made = Path(work) / "made"
        made.mkdir()
        _componentize(Path(work), made / FILE)
        digest = hashlib.sha256((made / FILE).read_bytes()).hexdigest()
        words = {"sha256": digest, "python": PYTHON, "tools": TOOLS, "sources": source_digest()}
        (made / RECORD).write_text(json.dumps(words, indent=1) + "\n", "utf-8")
        # moved to its place, unless another process was faster
        try:
            made.rename(folder)
        except OSError:
            if not (folder / RECORD).is_file():
                shutil.rmtree(folder, ignore_errors=True)  # it is no finished build
                made.rename(folder)
    return folder / FILE


def _componentize(work: Path, target: Path) -> None:
    """Runs the tool in a process that sees the staged files and nothing else of this machine."""
    # the files lie on the stage as the guest imports them
    stage = work / "stage"
    for name, file in sources().items():
        place = stage / "alita_mcp" / "sandbox" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place)
    for package in _PACKAGES:
        (stage / package / "__init__.py").touch()
    (stage / "alita_guest.py").write_text(_ENTRY, "utf-8")
    (stage / "alita_mcp" / "program.txt").write_text(_program(), "utf-8")
    shutil.copytree(_package_folder("tzdata"), stage / "tzdata")
    (work / "no-packages" / "lib" / "site-packages").mkdir(parents=True)
    variables = {
        # without it, the tool gives the packages of some Python of this machine to the guest
        "VIRTUAL_ENV": str(work / "no-packages"),
        **dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(work)),
        **{name: value for name, value in os.environ.items() if name.upper() == "SYSTEMROOT"},  # noqa: TID251 - Windows
    }
    command = (
        sys.executable, "-I", "-S", "-c", _RUN, str(_package_folder("componentize_py").parent), "--quiet",
        "--wit-path", str(stage / "alita_mcp" / "sandbox" / "wasm" / "guest" / "alita.wit"), "--world", "tool",
        "componentize", "--python-path", str(stage), "alita_guest", "--output", str(target),
    )  # fmt: skip
    done = subprocess.run(
        command, check=False, cwd=work, env=variables,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode or not target.is_file():
        said = done.stdout.decode("utf-8", "replace").strip()[-_MAX_COMPLAINTS:]
        raise BuildFailed(f"{TOOLS[0]} ended with status {done.returncode} and made no component:\n{said}")


def _program() -> str:
    """Loaded by its path: where a package is made, nothing of ours can be imported."""
    return str(runpy.run_path(str(_PROGRAM))["program"]())


def _package_folder(package: str) -> Path:
    """The folder of a package that is installed."""
    return Path(str(metadata.distribution(package).locate_file(package)))
