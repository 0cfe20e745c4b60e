"""Windows and macOS, as far as one can see them from here: simulated, and by what the lock holds for them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from packaging.utils import parse_wheel_filename

from alita_mcp.sandbox import owner
from alita_mcp.sandbox.bubblewrap import sandbox as bubblewrap
from alita_mcp.sandbox.interface import Job
from alita_mcp.sandbox.wasm import process
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.values import Limits
from tests import simulated_platform
from tests.server.processes import environment, started
from tests.test_wheel import LONG_S, TOOL, make

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = simulated_platform.__file__
ELSEWHERE = ("win32", "darwin")
PLATFORMS: dict[str, Callable[[str], bool]] = {
    "Linux x86_64": lambda tag: tag.startswith("manylinux") and tag.endswith("_x86_64"),
    "Linux aarch64": lambda tag: tag.startswith("manylinux") and tag.endswith("_aarch64"),
    "Linux x86_64, musl": lambda tag: tag.startswith("musllinux") and tag.endswith("_x86_64"),
    "macOS arm64": lambda tag: tag.startswith("macosx") and tag.endswith(("_arm64", "_universal2")),
    "macOS x86_64": lambda tag: tag.startswith("macosx") and tag.endswith(("_x86_64", "_universal2")),
    "Windows x86_64": lambda tag: tag == "win_amd64",
    "Windows arm64": lambda tag: tag == "win_arm64",
}
WITHOUT_WHEEL = {
    "Linux x86_64, musl": {"lancedb"},
    "macOS x86_64": {"cryptography", "lancedb"},
    "Windows arm64": {"cryptography", "fastuuid", "lancedb", "litellm", "pyarrow", "tiktoken"},
}
"""What cannot be installed there without building it; `docs/platforms.md` says the same."""
ELSEWHERE_ONLY = {"pywin32": "Windows"}


@pytest.mark.process
@pytest.mark.parametrize("platform", ELSEWHERE)
def test_every_module_can_be_imported_without_what_the_platform_lacks(platform: str) -> None:
    command = [sys.executable, PROGRAM, platform, "all"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=LONG_S)
    found = json.loads(done.stdout)
    assert found["failed"] == {}
    assert found["imported"] > 300


@pytest.mark.slow
@pytest.mark.parametrize(
    ("platform", "line"),
    [
        *(("win32", line) for line in (
            "import fcntl", "from resource import getrlimit", "import os; os.getuid", "from signal import SIGKILL",
            "import os.path, os; os.O_NOFOLLOW", "from time import clock_gettime", "from os import fork",
            "import os, sys; assert (sys.platform, os.name) == ('linux', 'posix')",
        )),
        ("darwin", "import os; os.pidfd_open"),
        ("darwin", "from time import pthread_getcpuclockid"),
        ("darwin", "import sys; assert sys.platform == 'linux'"),
    ],
)  # fmt: skip
def test_the_simulation_takes_away_what_the_platform_lacks(platform: str, line: str, tmp_path: Path) -> None:
    package = tmp_path / "alita_mcp"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "needs_linux.py").write_text(f"{line}\n")
    program = f"""
import sys
sys.path[:0] = {[str(tmp_path), str(ROOT)]!r}
from tests.simulated_platform import simulate
simulate({platform!r})
from alita_mcp import needs_linux
"""
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].startswith(
        (
            "AttributeError: module",
            "ModuleNotFoundError: No module",
            "ImportError: cannot import",
            "AssertionError",
        )
    )


@pytest.mark.process
@pytest.mark.parametrize("platform", ELSEWHERE)
async def test_a_worker_runs_calls_without_what_the_platform_lacks(
    platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests.simulated_platform import simulate
simulate({platform!r})
from alita_mcp.sandbox.wasm.worker.main import main
main()
"""
    command = [sys.executable, "-I", "-X", "utf8", "-c", code]
    monkeypatch.setattr(process, "module_command", lambda *_words: command)
    sandbox = WasmSandbox(Settings(home=tmp_path))
    code = "def count(end):\n    return [sum(range(end))]"
    try:
        for end in (3, 1_000):
            result = await sandbox.run(Job(code=code, function="count", arguments={"end": end}))
            assert (result.status, result.value) == ("ok", [sum(range(end))])
        forever = "def count():\n    while True:\n        pass"
        limits = Limits(wall_seconds=0.5)
        spent = await sandbox.run(Job(code=forever, function="count", arguments={}, limits=limits))
        assert spent.status == "timeout"
    finally:
        await sandbox.aclose()


@pytest.mark.exhaustive
@pytest.mark.process
@pytest.mark.timeout(3 * LONG_S)
@pytest.mark.parametrize("platform", ELSEWHERE)
async def test_a_server_makes_and_calls_a_tool_without_what_the_platform_lacks(
    platform: str, tmp_path: Path
) -> None:
    command = (sys.executable, PROGRAM, platform, "alita_mcp.server.transports.entry")
    async with started(command, environment(home=tmp_path / "home", sandbox="wasm"), tmp_path) as peer:
        await peer.initialize()
        assert (await make(peer, TOOL))["status"] == "created"
        call = {"name": "tell_python", "arguments": {"zone": "Asia/Tokyo"}}
        answer = (await peer.request("tools/call", call))["result"]
        assert answer["structuredContent"]["result"][1:3] == ["wasi", "Asia/Tokyo"], answer


def test_on_windows_a_process_is_never_asked_whether_it_lives_by_a_signal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(pid: int, number: int) -> None:
        raise AssertionError("on Windows signal 0 is Ctrl-C")

    mine = owner.ProcessOwner.this_process()
    assert not mine.is_gone()
    monkeypatch.setattr(owner, "os", simulated_platform.Without(os, "", name="nt", kill=refuse))
    assert not mine.is_gone()


@pytest.mark.parametrize("platform", ELSEWHERE)
async def test_bubblewrap_says_that_it_needs_linux(
    platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bubblewrap, "sys", simulated_platform.System(platform))
    sandbox = bubblewrap.BubblewrapSandbox(Settings(home=tmp_path))
    report = await sandbox.probe()
    await sandbox.aclose()
    assert [(probe.passed, probe.detail.partition(".")[0]) for probe in report.probes] == [
        (False, "bubblewrap runs on Linux only")
    ]


def locked() -> dict[str, dict[str, Any]]:
    """The packages that users get with every extra, with what the lock says of each."""
    packages = {each["name"]: each for each in tomllib.loads((ROOT / "uv.lock").read_text())["package"]}
    found: dict[str, dict[str, Any]] = {}
    extras = packages["alita-mcp-server"]["optional-dependencies"]
    waiting = ["alita-mcp-server", *(each["name"] for extra in extras.values() for each in extra)]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = packages[name]
            waiting += [each["name"] for each in packages[name].get("dependencies", ())]
    del found["alita-mcp-server"]
    return found


def platforms_of(package: dict[str, Any]) -> set[str]:
    """The platforms that wheels of a locked package are for."""
    names = [each["url"].rpartition("/")[2] for each in package.get("wheels", ())]
    return {tag.platform for name in names for tag in parse_wheel_filename(name)[3]}


@pytest.mark.slow
def test_the_lock_holds_a_wheel_of_every_package_for_every_platform_but_those_named() -> None:
    packages = {name: platforms_of(package) for name, package in locked().items()}
    assert len(packages) > 80
    lacking = {
        platform: {
            name
            for name, tags in packages.items()
            if "any" not in tags
            and not any(map(fits, tags))
            and platform.startswith(ELSEWHERE_ONLY.get(name, platform))
        }
        for platform, fits in PLATFORMS.items()
    }
    assert {platform: names for platform, names in lacking.items() if names} == WITHOUT_WHEEL


def test_the_embedded_sandbox_has_an_engine_for_every_platform() -> None:
    tags = platforms_of(locked()["wasmtime"])
    assert [platform for platform, fits in PLATFORMS.items() if not any(map(fits, tags))] == []


def test_the_document_names_every_platform_and_what_it_lacks() -> None:
    rows = [
        line for line in (ROOT / "docs" / "platforms.md").read_text().splitlines() if line.startswith("| ")
    ]
    for platform in PLATFORMS:
        (row,) = (row for row in rows if row.startswith(f"| {platform} |"))
        assert all(name in row for name in WITHOUT_WHEEL.get(platform, ()))
        assert ("no wheel" in row) == (platform in WITHOUT_WHEEL)
