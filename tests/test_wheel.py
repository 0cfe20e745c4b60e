"""What is in a wheel, and that a wheel alone is enough: packed from a source distribution, installed, called."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import anyio
import pytest

from alita_mcp.sandbox.wasm import build
from tests.sandbox.wasm.test_component import MAKES_SOME, PATIENCE_S, install
from tests.server.processes import Peer, environment, started

ROOT = Path(__file__).resolve().parents[1]
HOLDS = "alita_mcp/sandbox/wasm"
LONG_S = 10 * PATIENCE_S
"""Packing and compiling for real, on a machine that is busy."""
TOOL = {
    "name": "tell_python",
    "description": "Tells which Python runs it",
    "code": '''import sys
from fractions import Fraction
from zoneinfo import ZoneInfo


def tell_python(zone: str) -> list[str]:
    """Tells the version and the platform of Python, and a time zone.

    Args:
        zone: Name of a time zone.
    """
    return [f"{sys.version_info.major}.{sys.version_info.minor}", sys.platform, ZoneInfo(zone).key, str(Fraction(3, 6))]
''',
    "tests": [
        {"arguments": {"zone": name}, "expected": [build.PYTHON, "wasi", name, "1/2"]}
        for name in ("Europe/Berlin", "UTC", "Asia/Tokyo")
    ],
}


def hatch(
    root: Path, target: str, folder: Path, tools: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Builds a target of a source tree, with what is installed here or with other tools."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    variables = {**os.environ, "PYTHONPATH": str(tools or "")}
    return subprocess.run(
        command, cwd=root, env=variables, capture_output=True, text=True, check=False, timeout=LONG_S
    )


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree of a source distribution, as `pip` unpacks it."""
    folder = tmp_path_factory.mktemp("source")
    done = hatch(ROOT, "sdist", folder)
    assert done.returncode == 0, done.stderr
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extraction_filter = getattr(tarfile, "data_filter", None)  # since 3.11.4
        packed.extractall(folder)
    return next(each for each in folder.iterdir() if each.is_dir())


def judge(wheel: Path) -> bytes:
    """Judges what is in a wheel; gives its component."""
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        made = packed.read(f"{HOLDS}/{build.FILE}")
        record = json.loads(packed.read(f"{HOLDS}/{build.RECORD}"))
        (metadata,) = (packed.read(name).decode() for name in names if name.endswith(".dist-info/METADATA"))
    assert record == {
        "sha256": hashlib.sha256(made).hexdigest(), "python": build.PYTHON, "tools": list(build.TOOLS),
        "sources": build.source_digest(),
    }  # fmt: skip
    licences = {f"licenses/{file.name}" for file in (ROOT / "licenses").iterdir()} | {"LICENSE"}
    assert {
        line.partition(": ")[2] for line in metadata.splitlines() if line.startswith("License-File")
    } == licences
    assert all(any(name.endswith(f".dist-info/licenses/{each}") for name in names) for each in licences)
    assert "Requires-Dist: wasmtime" in metadata
    assert not any(
        "componentize" in line for line in metadata.splitlines() if line.startswith("Requires-Dist")
    )
    assert len(names) == len(set(names))
    assert not [name for name in names if "benchmarks" in name]
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= {
        Path(name).name for name in names if name.startswith("alita_mcp/models/embedding/static_minilm/")
    }
    return made


@pytest.mark.slow
def test_a_wheel_from_the_source_distribution_holds_the_component_its_record_and_the_licences(
    source: Path, tmp_path: Path
) -> None:
    done = hatch(source, "wheel", tmp_path / "dist", install(tmp_path / "tools", MAKES_SOME))
    assert done.returncode == 0, done.stderr
    (wheel,) = (tmp_path / "dist").iterdir()
    assert len(judge(wheel)) == 100_000
    assert not (source / HOLDS / build.FILE).exists()


def test_no_wheel_is_packed_where_the_component_cannot_be_built(source: Path, tmp_path: Path) -> None:
    tools = install(tmp_path / "tools", "def script():\n    print('no room left')\n    return 1")
    done = hatch(source, "wheel", tmp_path / "dist", tools)
    assert done.returncode == 1
    assert "componentize-py==0.25.1 ended with status 1 and made no component:\nno room left" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("dist/*.whl"))


@pytest.mark.slow
def test_an_editable_installation_builds_nothing(source: Path, tmp_path: Path) -> None:
    done = hatch(source, "wheel:editable", tmp_path / "dist", install(tmp_path / "tools", "1 / 0"))
    assert done.returncode == 0, done.stderr
    (wheel,) = (tmp_path / "dist").iterdir()
    with zipfile.ZipFile(wheel) as packed:
        assert not any(name.endswith(build.FILE) for name in packed.namelist())


@pytest.mark.exhaustive
@pytest.mark.process
@pytest.mark.timeout(3 * LONG_S)
async def test_a_wheel_in_an_environment_of_its_own_makes_and_calls_a_tool(
    source: Path, tmp_path: Path
) -> None:
    done = hatch(source, "wheel", tmp_path / "dist")
    assert done.returncode == 0, done.stderr
    (wheel,) = (tmp_path / "dist").iterdir()
    assert judge(wheel).startswith(b"\0asm")
    python = installed(wheel, tmp_path / "venv")
    caches = {name: str(tmp_path / "cache") for name in ("XDG_CACHE_HOME", "LOCALAPPDATA")}
    variables = environment(home=tmp_path / "home", sandbox="wasm") | caches | {"PYTHONPATH": ""}
    async with started((python, "-m", "alita_mcp.server.transports.entry"), variables, tmp_path) as peer:
        await peer.initialize()
        assert (await make(peer, TOOL))["status"] == "created"
        call = {"name": "tell_python", "arguments": {"zone": "Asia/Tokyo"}}
        answer = (await peer.request("tools/call", call))["result"]
        assert answer["structuredContent"]["result"] == [build.PYTHON, "wasi", "Asia/Tokyo", "1/2"], answer


async def make(peer: Peer, request: dict[str, Any]) -> dict[str, Any]:
    """Has a tool made; gives the structured answer once the work is done."""
    arguments = request
    with anyio.fail_after(LONG_S):
        while True:
            answer = await peer.request("tools/call", {"name": "synthesize_tool", "arguments": arguments})
            made: dict[str, Any] = answer["result"]["structuredContent"]
            if made["status"] != "working":
                return made
            arguments = {"job_id": made["job_id"]}


def installed(wheel: Path, folder: Path) -> str:
    """The Python of a new environment that holds the wheel, and what it depends on from the one that runs the tests."""
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "--quiet", "--python", sys.executable, str(folder)], check=True)
    python = str(folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
    command = [*uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", python, str(wheel)]
    subprocess.run(command, check=True)
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = subprocess.run(
        [python, "-c", where], capture_output=True, text=True, check=True
    ).stdout.strip()
    (Path(packages) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    seen = "import alita_mcp; print(alita_mcp.__file__)"
    found = subprocess.run(
        [python, "-c", seen], capture_output=True, text=True, check=True, env={}, cwd=folder
    )
    assert found.stdout.startswith(packages)
    return python
