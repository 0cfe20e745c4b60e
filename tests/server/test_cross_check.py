"""Code handed in at `synthesize_tool` where the server has a model: what blind tests ask comes with the answer."""

from __future__ import annotations

import pytest

from tests.models.openai_server import openai_server
from tests.server.in_memory import Build, called, connected, succeeded, text_of
from tests.toolsmith.authors import COUNT, GOOD, PLAIN, REQUEST, SIGNED, Script, suite_of

GIVEN = {"name": "digit_sum", "description": REQUEST}
QUESTION = 'for `{"number": -45}`: a test expects `9`; yours gives `-9`'


@pytest.mark.slow
async def test_questions_and_tests_by_models_are_told_to_clients(
    build: Build, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    with openai_server(Script(suites=[GOOD, suite_of((-45, 9), (31, 4))])) as (url, asked):
        own = {"model": "openai/scripted", "model_base_url": url}
        async with connected(build(settings=own), era) as client:
            refused = await called(client, "synthesize_tool", **GIVEN, code=COUNT)
            assert refused.is_error
            assert "no tests were sent" in text_of(refused)
            assert "Fix: Fix the code" in text_of(refused)
            made = await called(client, "synthesize_tool", **GIVEN, code=SIGNED)
            assert made.structured_content["questions"] == [QUESTION]
            assert f"Questions: {QUESTION}." in text_of(made)
            plain = {**GIVEN, "name": "cross_total", "code": PLAIN.replace("digit_sum", "cross_total")}
            told = await succeeded(client, "synthesize_tool", **plain)
            assert told["tests"] == "7/7, 7 written by models"
            assert "questions" not in told
    assert len(asked.requests) == 6, "two suites for each request"
