"""How search grows, measured small: over stdio, in this process, and with several processes that write at once."""

from __future__ import annotations

import argparse
import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from alita_mcp.errors import ModelError, UsageError
from alita_mcp.library.opening import open_library
from alita_mcp.settings import Settings
from benchmarks import retrieval
from benchmarks.retrieval import large_library, many_writers, needs, starting

pytestmark = pytest.mark.slow

TOOLS = [
    {
        "name": "getHTTPStatus_v2",
        "description": "Tell what an HTTP status means.",
        "params": [{"name": "code", "description": "the number"}],
    },
    {"name": "1-2-3", "description": "Count to three.\nAloud.", "examples": ["one two three"]},
    {"name": "sunrise", "description": "When the sun rises at a place."},
]
QUERIES = [{"id": "1", "query": "when does the sun rise", "tools": ["sunrise"]}]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for name, rows in (("tools", TOOLS), ("queries", QUERIES)):
        (tmp_path / name).write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return [f"--catalogue={tmp_path / 'tools'}", f"--queries={tmp_path / 'queries'}"]


def ran(*words: str) -> dict[str, Any]:
    parser = argparse.ArgumentParser()
    retrieval.add_arguments(parser)
    result = retrieval.run(parser.parse_args(words))
    assert json.loads(json.dumps(result)) == result
    assert retrieval.table(result).startswith("set")
    sets = result["sets"]
    assert isinstance(sets, dict)
    return sets


@pytest.mark.process
def test_each_size_is_measured_in_a_server_process_that_finds_what_another_one_publishes(
    files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "STARTS", 1)
    found = ran(*files, "--stdio", "--sizes", "5")
    assert list(found) == ["5"]
    for figures in found.values():
        of_process = {"list_cpu_s", "list_cpu_ratio", "list_mb", "searched_cpu_s", "searched_mb"}
        start = {"list_s", "list_ratio", "publish_ms", "call_ms"}
        search = {"p50_ms", "p99_ms", "ready_s", "fresh_s", "build_s", "disk_mb"}
        assert set(figures) - of_process == start | search
        assert sys.platform != "linux" or of_process < set(figures)
        assert all(figures[key] > 0 for key in figures)
        assert 0 < figures["p50_ms"] <= figures["p99_ms"]
        assert figures["fresh_s"] > 0
        assert figures["disk_mb"] > 0


@pytest.mark.skipif(sys.platform != "linux", reason="the figures are those of Linux")
def test_what_a_child_process_costs_is_told_of_it_alone() -> None:
    work = "x = bytearray(60_000_000)\nfor at in range(0, len(x), 4096): x[at] = 1\nsum(range(2_000_000))\n"
    before = starting.processes()
    program = f"{work}print('worked', flush=True)\ninput()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=-1, stdout=-1) as child:
        assert child.stdout
        child.stdout.readline()
        assert starting.processes() - before == {child.pid}
        cost = starting.cost_of(starting.processes() - before, "child")
        assert 60 < cost["child_mb"] < 120
        assert cost["child_cpu_s"] > 0
        child.communicate(b"\n")
    assert starting.processes() == before
    assert starting.cost_of(frozenset(), "nobody") == {}


def test_each_size_is_measured_in_this_process_too(files: list[str]) -> None:
    found = ran(*files, "--sizes", "4", "7,8")
    assert list(found) == ["4", "7", "8"]
    assert all(figures["p50_ms"] > 0 and figures["build_s"] > 0 for figures in found.values())


@pytest.mark.parametrize("where", [(), ("--stdio",)], ids=["here", "over stdio"])
def test_an_embedder_that_does_not_answer_is_told_of_at_once(
    files: list[str], where: tuple[str, ...]
) -> None:
    with pytest.raises(ModelError, match="nobodys:/model"):
        ran(*files, "--sizes=4", "--embedder=nobodys:/model", *where)


@pytest.mark.parametrize("option", ["--sizes", "--processes", "--rounds"])
@pytest.mark.parametrize("said", ["x", "1,", "", "1.5", "0", "-3", "²"])
def test_what_is_no_number_of_tools_or_processes_is_refused(
    option: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        ran(f"{option}={said}")
    assert option in capsys.readouterr().err


def test_sizes_need_the_words_of_real_tools() -> None:
    with pytest.raises(UsageError, match="--catalogue"):
        ran("--sizes=5", "--stdio")


async def test_a_large_library_has_as_many_callable_tools_as_asked_and_is_the_same_each_time(
    tmp_path: Path,
) -> None:
    tools = [needs.CatalogueTool.model_validate(row) for row in TOOLS]
    found = []
    for home in (tmp_path / "one", tmp_path / "other"):
        large_library.fill(home, tools, 40)
        async with open_library(Settings(home=home), starters=lambda: None) as library:
            found.append([entry.manifest for entry in library.tools.entries()])
    assert found[0] == found[1]
    assert len({manifest.name for manifest in found[0]}) == 40
    assert {manifest.summary for manifest in found[0]} >= {"Count to three."}


@pytest.mark.process
def test_processes_that_write_at_once_lose_and_repeat_nothing() -> None:
    figures = ran("--processes=3", "--rounds=2")["writers"]
    assert figures["tools"] == 3 * 2 + 2 + 1
    assert (figures["astray"], figures["lost_tools"], figures["lost_updates"]) == (0, 0, 0)


@pytest.mark.process
async def test_what_is_lost_or_written_twice_is_counted(tmp_path: Path) -> None:
    with anyio.fail_after(120):
        await anyio.to_thread.run_sync(many_writers.let_write, tmp_path, 1, 2)
        db = sqlite3.connect(tmp_path / "library.sqlite3")
        with db:
            db.execute("DELETE FROM wording WHERE name = 'own_0_1'")
            db.execute("UPDATE usage SET calls = 1")
        db.close()
        figures = await many_writers.inspected(tmp_path, 1, 3)
        assert figures["lost_tools"] == 3  # the words of one, and two that were never made
        assert figures["lost_updates"] == 2
        db = sqlite3.connect(tmp_path / "library.sqlite3")
        with db:
            db.execute("UPDATE document SET hash = '0' WHERE name = 'own_0_0'")
        db.close()
        assert (await many_writers.inspected(tmp_path, 1, 2))["astray"] == 1


@pytest.mark.process
async def test_a_writer_that_fails_is_an_error_and_no_figure(tmp_path: Path) -> None:
    (tmp_path / "library.sqlite3").write_text("no database at all, whatever its name says" * 10)
    with pytest.raises(RuntimeError, match="Writers failed"):
        await anyio.to_thread.run_sync(many_writers.let_write, tmp_path, 2, 1)
