"""Without any extra: what needs one is not here, and says which command adds it; all else works."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.errors import UsageError
from alita_mcp.extras import EXTRAS, find_extra_problem
from alita_mcp.library.opening import open_library
from alita_mcp.research.reading.readers import read_file
from alita_mcp.sandbox.interface import RunResult
from alita_mcp.settings import Settings
from tests.scripted_sandbox import ScriptedSandbox
from tests.server.in_memory import Build, connected, names_of, refused, succeeded

pytestmark = pytest.mark.skipif(
    any(find_extra_problem(extra) is None for extra in EXTRAS),
    reason="tests/test_core_install.py runs this where no extra is installed",
)
AGENTS = {"solve_task", "research_web"}


@pytest.fixture
def with_model() -> dict[str, Any]:
    return {"model": "openai/x", "search": "github"}


async def test_a_model_without_its_packages_is_no_model(
    build: Build, era: str, with_model: dict[str, Any]
) -> None:
    sandbox = ScriptedSandbox(lambda _job: RunResult(status="ok", value="x"), kind="bubblewrap")
    async with connected(build(sandbox=sandbox, settings=with_model), era) as client:
        names = await names_of(client)
        found = await succeeded(client, "search_capabilities", query="summarise this article")
        called = await refused(client, "summarize_text", text="x")
        read = await refused(client, "research_web", query="owls")
        asked = await succeeded(client, "synthesize_tool", description="adds two numbers")
    assert not AGENTS & {*names}
    assert found["results"][0]["call"] == "not here"
    assert "[models]'`" in found["results"][0]["reason"]
    assert "needs a model: run `" in called
    assert "research_web needs the extra 'web'" in read
    assert "[web]'" in read
    assert asked["status"] == "needs_code"


async def test_the_embedder_yields_to_words_with_one_line(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        async with open_library(settings.model_copy(update={"embedder": "model2vec/x"})) as library:
            found = await library.search("compute an arithmetic expression", 3)
    assert found.results[0].name == "calculate"
    (line,) = (record.getMessage() for record in caplog.records if "extra" in record.getMessage())
    assert "ALITA_EMBEDDER='model2vec/x' needs the extra 'search'" in line


@pytest.mark.process
@pytest.mark.parametrize(
    ("name", "body", "kind"),
    [("a.pdf", b"%PDF-1.7", "a PDF file"), ("a.html", b"<html>x", "HTML")],
)
async def test_a_file_that_needs_the_extra_says_so(tmp_path: Path, name: str, body: bytes, kind: str) -> None:
    (tmp_path / name).write_bytes(body)
    with pytest.raises(UsageError, match=f"Reading {kind} needs the extra 'web'") as refusal:
        await read_file(tmp_path / name, name)
    assert "[web]'" in refusal.value.hint
