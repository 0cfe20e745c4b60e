"""A cold server answers before anything heavy is loaded; `make bench NAME=start` measures how soon."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.processes import PATIENCE_S, environment

pytestmark = pytest.mark.process

HEAVY = {
    "docker", "hypothesis", "keyring", "lancedb", "litellm", "numpy", "openai", "pandas", "pyarrow", "wasmtime",
    "pytest", "requests", "rich", "tiktoken", "trafilatura",
}  # fmt: skip
"""What takes long to import and no first answer needs; starlette and uvicorn come with the SDK."""

OPENED = """
import json, sys
import anyio
from alita_mcp.library.opening import open_library
from alita_mcp.settings import read_settings

async def main():
    async with open_library(read_settings()) as library:
        await library.reindex()

anyio.run(main)
print(json.dumps(sorted(sys.modules)))
"""

IMPORTED = """
import json, sys
import alita_mcp.server.transports.entry, alita_mcp.server.transports.lines, alita_mcp.app
from alita_mcp.server.build import build_server
from alita_mcp.settings import read_settings
build_server(read_settings())
print(json.dumps(sorted(sys.modules)))
"""

SEARCHED = """
import json, sys
import anyio
from alita_mcp.library.opening import open_library
from alita_mcp.settings import read_settings

async def main():
    async with open_library(read_settings()) as library:
        for need in ("count the words of a text", "turn a title into a slug"):
            await library.search(need, 5)
        await library.reindex()
        if library._finder.vectors is not None:
            await library._finder.vectors.ready()
        await library.search("count the words of a text", 5)

anyio.run(main)
print(json.dumps(sorted(sys.modules)))
"""
VECTORS = {"lancedb", "numpy", "pyarrow"}
"""What only search by meaning needs: two thirds of what a server with it holds in memory."""


def modules_after(program: str, home: Path, **settings: str) -> set[str]:
    """Top-level modules that a program has loaded; it prints their names and ends without a traceback."""
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(home=home, **settings),
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert b"panicked" not in ran.stderr  # a line of the log is no harm: a busy machine may answer by words
    assert b"Traceback" not in ran.stderr
    return {name.partition(".")[0] for name in json.loads(ran.stdout)}


def test_nothing_heavy_is_loaded_before_the_first_answer(tmp_path: Path) -> None:
    loaded = modules_after(IMPORTED, tmp_path)
    assert "alita_mcp" in loaded
    assert loaded & HEAVY == set()


def test_search_by_words_loads_nothing_that_only_vectors_need(tmp_path: Path) -> None:
    assert modules_after(SEARCHED, tmp_path) & HEAVY == set()


@pytest.mark.extra("search")
def test_search_by_meaning_is_loaded_at_the_first_search_and_ends_without_a_panic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ALITA_EMBEDDER")
    assert modules_after(OPENED, tmp_path) & HEAVY == set()
    assert modules_after(SEARCHED, tmp_path) >= VECTORS
    # The vectors are complete now: the next process reads them without LanceDB.
    assert modules_after(SEARCHED, tmp_path) & VECTORS == {"numpy"}


def test_the_entry_loads_nothing_but_the_standard_library_before_it_takes_stdout(tmp_path: Path) -> None:
    program = (
        "import json, sys; import alita_mcp.server.transports.entry; print(json.dumps(sorted(sys.modules)))"
    )
    bare = modules_after("import json, sys; print(json.dumps(sorted(sys.modules)))", tmp_path)
    added = modules_after(program, tmp_path) - bare
    assert added - sys.stdlib_module_names == {"alita_mcp"}


def test_a_list_of_tools_waits_for_nothing_that_makes_tools_runs_code_or_works_on_tasks(
    tmp_path: Path,
) -> None:
    program = IMPORTED.replace(", alita_mcp.app", ", alita_mcp.app.app").replace(
        "sorted(sys.modules)", 'sorted(m.replace(".", "/") for m in sys.modules)'
    )
    loaded = modules_after(program, tmp_path)
    late = (
        "agent", "app/code_runner", "app/task_runner", "toolsmith/toolsmith", "verification/verify", "web",
    )  # fmt: skip
    assert "alita_mcp/app/calls" in loaded
    assert not [name for name in loaded if name.startswith(tuple(f"alita_mcp/{part}" for part in late))]
    assert not {"jinja2", "packaging", "pygments", "tomlkit", "tree_sitter"} & loaded
