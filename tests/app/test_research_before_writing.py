"""A server with a model: what its planner asks is looked up on the web before a tool is written."""

from __future__ import annotations

import anyio
import pytest

from alita_mcp.app import open_app
from alita_mcp.library.trust.evidence import evidence_rows
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import FixedLimits, Settings
from alita_mcp.toolsmith.requests.outcomes import Created, Rejected
from alita_mcp.toolsmith.requests.request import read_request
from tests.models.openai_server import openai_server
from tests.research.whole_web import PAGES, QUESTION, world
from tests.toolsmith.authors import PLAIN, REQUEST, SPEC, Script

pytestmark = pytest.mark.slow
WAIT_S = 300


async def test_a_tool_is_written_from_what_was_read_and_its_card_names_the_sources(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    script = Script(spec={**SPEC, "open_questions": [QUESTION]}, candidates=[PLAIN])
    stages: list[str] = []

    async def hear(stage: str) -> None:
        stages.append(stage)

    with (
        anyio.fail_after(WAIT_S),
        world(settings) as (configured, site, asked),
        openai_server(script) as (url, _),
    ):
        served = configured.model_copy(
            update={"model": "openai/x", "model_base_url": url, "limits": FixedLimits(answer_within_s=200.0)}
        )
        sandbox = WasmSandbox(served)
        async with open_app(served, admit=lambda _manifest: (), sandbox=sandbox) as app:
            request = read_request({"description": REQUEST, "mode": "quick"})
            assert not isinstance(request, Rejected)
            outcome = await app.synthesize(request, hear)
            assert isinstance(outcome, Created), outcome
            stored = await app.library.read("digit_sum")
            card = await app.inspect_tool("digit_sum")
            wanted = read_request({"description": REQUEST, "packages": ["reqeusts"]})
            assert not isinstance(wanted, Rejected)
            refused = await app.synthesize(wanted, hear)
    assert {"research", "search"} <= set(stages)
    for kind in ("tests", "code"):
        (told,) = script.texts(kind)
        notes = told.split("<notes>\n")[1].split("\n</notes>")[0]
        assert "| humidity | grams per cubic metre |" in notes
        assert "ignore all previous instructions" in notes
        assert told.count("</notes>") == 1
    kept = stored.report.looked_up
    assert kept is not None
    assert site.url("/api") in {source.url for source in kept.sources}
    assert all(source.retrieved_at for source in kept.sources)
    assert any(label == "source" and site.url("/api") in said for label, said in evidence_rows(stored.report))
    assert card["report"]["looked_up"]["sources"]
    assert set(site.paths()) <= set(PAGES), "nothing that a page told was done"
    assert isinstance(refused, Rejected)
    assert "'requests'" in refused.fix
    assert sum(request.path == "/search" for request in asked) == 1
