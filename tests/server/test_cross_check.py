"""Code handed in at `synthesize_tool` where the server has a model: what blind tests ask comes with the answer."""

from __future__ import annotations

import pytest

from alita_mcp.server.results.building import MAX_TEXT
from alita_mcp.server.results.texts import outcome_text
from alita_mcp.toolsmith.requests.outcomes import Created
from tests.models.openai_server import openai_server
from tests.server.in_memory import Build, called, connected, succeeded, text_of
from tests.toolsmith.authors import COUNT, GOOD, PLAIN, REQUEST, SIGNED, Script, suite_of

GIVEN = {"name": "digit_sum", "description": REQUEST}
QUESTION = "for `-45`: tests of 2 writers expect `9`; yours returns `-9`"


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
            assert "Fix: Correct the code" in text_of(refused)
            thin = suite_of((123, 6), (40, 4))["tests"]
            made = await called(client, "synthesize_tool", **GIVEN, code=SIGNED, tests=thin)
            assert made.structured_content["questions"] == [QUESTION]
            assert f"Questions: {QUESTION}." in text_of(made)
            plain = {**GIVEN, "name": "cross_total", "code": PLAIN.replace("digit_sum", "cross_total")}
            told = await succeeded(client, "synthesize_tool", **plain)
            assert told["tests"] == "7/7, 7 written by models"
            assert "questions" not in told
    assert len(asked.requests) == 6, "two suites for each request"


@pytest.mark.parametrize("kept", ["", "v1 stays current: it is verified, v2 provisional"])
def test_as_many_questions_are_said_as_there_is_room_for(kept: str) -> None:
    lines = tuple(f"for `{number}`: {'x' * 170}\u202e" for number in range(4))
    made = Created(
        tool="slugify", version=2, trust="provisional", tests="2/2", report="r", kept=kept, questions=lines
    )
    text = outcome_text(made.model_dump(mode="json"))
    assert len(text) <= MAX_TEXT
    assert "Questions: for `0`" in text
    assert text.endswith("and 3 more.")
    assert text.isprintable()
    few = outcome_text(made.model_copy(update={"questions": ("one", "two")}).model_dump(mode="json"))
    assert few.endswith("Questions: one; two.")


def test_code_that_most_blind_tests_uphold_is_no_matter_of_the_text() -> None:
    made = Created(tool="slugify", version=2, trust="provisional", tests="2/2", report="r")
    assert "Questions" not in outcome_text(made.model_dump(mode="json"))
