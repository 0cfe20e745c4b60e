"""The first call on a machine waits for what is done once there, and hears how far it is; a server begins early."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import anyio
import platformdirs
import psutil
import pytest
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client

from alita_mcp.app import open_app
from alita_mcp.library.opening import open_library
from alita_mcp.sandbox.wasm.compiled import COMPILER, LOCK
from alita_mcp.server.build import build_server
from alita_mcp.server.tools.admission import admit
from alita_mcp.settings import Settings
from tests.sandbox.wasm import slow_to_prepare
from tests.server.in_memory import PATIENCE_S, connected, text_of
from tests.server.processes import ENTRY, Peer, environment, gone, started

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="the fake compiler uses POSIX limits"),
]
CONVERT = {"value": 1, "from_unit": "km", "to_unit": "m"}
LINE = re.compile(r"preparing Python for this machine, once: (\d+) of about (\d+) s")


class Heard:
    """What a client heard of its call; the compiler goes on once it was told of a second that passed."""

    def __init__(self, go: Path) -> None:
        self._go = go
        self.steps: list[float] = []
        self.lines: list[str] = []

    async def take(self, progress: float, _total: float | None, message: str | None) -> None:
        self.steps.append(progress)
        self.lines.append(message or "")
        if (told := LINE.fullmatch(self.lines[-1])) and int(told[1]):
            self._go.touch()


@pytest.fixture
def slow(settings: Settings, tmp_path: Path) -> Settings:
    slow_to_prepare.set_up(tmp_path / "slow", json.dumps({"until": str(tmp_path / "go")}))
    return settings.model_copy(update={"sandbox": slow_to_prepare.NAME})


@pytest.fixture
def heard(tmp_path: Path) -> Heard:
    return Heard(tmp_path / "go")


@asynccontextmanager
async def client_of(settings: Settings, era: str) -> AsyncIterator[object]:
    server = build_server(settings, open_app=partial(open_app, settings, admit=admit))
    async with connected(server, era) as client:
        yield client


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("calculate", {"expression": "6 * 7"}),
        (
            "synthesize_tool",
            {
                "name": "answer", "description": "Gives the answer to everything that was ever asked.",
                "code": "def answer() -> int:\n    return 42\n",
                "tests": [{"arguments": {}, "expected": 42}] * 3,
            },
        ),
    ],
)  # fmt: skip
async def test_a_call_that_comes_first_waits_and_hears_how_far_it_is(
    slow: Settings, heard: Heard, era: str, tool: str, arguments: dict[str, object]
) -> None:
    async with client_of(slow, era) as client:
        result = await client.call_tool(tool, arguments, progress_callback=heard.take)
        assert [line for line in heard.lines if LINE.fullmatch(line)], text_of(result)
        assert heard.steps == sorted(set(heard.steps))
        heard.lines.clear()
        await client.call_tool("calculate", {"expression": "7 * 6"}, progress_callback=heard.take)
        assert not [line for line in heard.lines if LINE.fullmatch(line)]


async def test_a_failed_preparation_is_the_answer_and_is_tried_again(
    slow: Settings, heard: Heard, tmp_path: Path
) -> None:
    slow_to_prepare.set_up(tmp_path / "slow", json.dumps({"ends": "killed"}))
    async with client_of(slow, "legacy") as client:
        refused = await client.call_tool("calculate", {"expression": "6 * 7"})
        assert refused.is_error
        assert "could not be prepared" in text_of(refused)
        slow_to_prepare.set_up(tmp_path / "slow", "{}")
        again = await client.call_tool("calculate", {"expression": "6 * 7"})
        assert "could not be prepared" not in text_of(again)


STARTERS = {"business_days", "calculate", "convert_units", "csv_query", "csv_to_records", "text_statistics"}


async def until_proved(home: Path, kind: str) -> None:
    """Waits until each starter tool that can be called has passed its gates in that kind of sandbox."""
    async with open_library(Settings(home=home)) as library:
        with anyio.fail_after(PATIENCE_S):
            while any(  # noqa: ASYNC110 - another process proves them
                kind not in library.entry(name).sandboxes for name in STARTERS
            ):
                await anyio.sleep(0.1)


@pytest.mark.process
@pytest.mark.both_eras
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("docker", marks=pytest.mark.docker),
        pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
        "wasm",
    ],
)
async def test_a_first_call_hears_of_its_proof_and_the_server_goes_on_with_the_others(
    request: pytest.FixtureRequest, tmp_path: Path, era: str, kind: str
) -> None:
    if kind != "wasm":
        request.getfixturevalue("docker_engine" if kind == "docker" else kind)
    heard: list[str] = []

    async def hear(_progress: float, _total: float | None, message: str | None) -> None:
        heard.append(message or "")

    env = environment(home=tmp_path / "home", sandbox=kind, prepare="true")
    server = StdioServerParameters(command=ENTRY[0], args=[*ENTRY[1:]], env=env)
    async with connected(stdio_client(server), era) as client:
        result = await client.call_tool("calculate", {"expression": "6 * 7"}, progress_callback=hear)
        assert not result.is_error, text_of(result)
        lines = [line for line in heard if re.fullmatch(rf"proving calculate for {kind}, \d+ of \d+", line)]
        assert bool(lines) == (kind != "wasm")  # the shipped evidence is of the embedded sandbox
        assert len(set(lines)) == len(lines)
        await until_proved(tmp_path / "home", kind)
        heard.clear()
        again = await client.call_tool("convert_units", CONVERT, progress_callback=hear)
        assert not again.is_error, text_of(again)
        assert heard == []


def _words(peer: Peer) -> Iterator[str]:
    for process in peer.descendants():
        with suppress(psutil.Error):  # one that ends meanwhile has no command line
            yield from process.cmdline()


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="XDG_CACHE_HOME names the folder for caches on Linux")
async def test_a_new_server_compiles_unasked_and_its_compiler_goes_with_it_however_it_ends(
    tmp_path: Path,
) -> None:
    cache = tmp_path / "cache" / "alita-mcp"
    cache.mkdir(parents=True)
    (cache / "components").symlink_to(Path(platformdirs.user_cache_dir("alita-mcp")) / "components")
    fresh = environment(home=tmp_path / "home", sandbox="wasm", prepare="true") | {
        "XDG_CACHE_HOME": str(cache.parent)
    }
    async with started(ENTRY, fresh, tmp_path) as peer:
        await peer.initialize()
        with anyio.fail_after(PATIENCE_S):
            while not any(COMPILER in word for word in _words(peer)):  # noqa: ASYNC110 - another process starts it
                await anyio.sleep(0.02)
        everything = peer.descendants()
        assert (cache / "compiled" / LOCK).exists()
        peer.process.kill()
        await peer.ended()
        await gone(everything)
        assert "Traceback" not in peer.stderr
    assert not list((cache / "compiled").glob("*.cwasm"))
