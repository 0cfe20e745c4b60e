"""A published tool is revised over the protocol: a complaint, and what the answers say."""

from __future__ import annotations

import json

import pytest

from tests.models.openai_server import openai_server
from tests.server.in_memory import Build, called, connected, succeeded, text_of
from tests.toolsmith.authors import PLAIN
from tests.toolsmith.revisers import COMPLAINT, FAILING, FLAT, NEGATIVE, OWN, Reviser

pytestmark = pytest.mark.slow


async def test_a_complaint_is_mended_and_the_next_call_gives_the_right_result(
    build: Build, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    script = Reviser(revision=PLAIN, suites=[NEGATIVE], repairs=lambda _: PLAIN)
    described = {"name": "digit_sum", "description": "Adds up the digits."}
    with openai_server(script) as (url, _):
        own = {"model": "openai/scripted", "model_base_url": url}
        async with connected(build(settings=own), era) as client:
            tests = [*OWN, {"arguments": {"number": -12}, "expected": 0}]
            await succeeded(client, "synthesize_tool", **described, code=FLAT, tests=tests)
            asked = {"name": "digit_sum", "update": True, "description": COMPLAINT, "tests": FAILING}
            refused = await called(client, "synthesize_tool", **asked)
            assert refused.is_error
            assert 'breaks: [{"number": -12}]' in text_of(refused)
            named = json.dumps(refused.structured_content["breaks"])
            answer = await succeeded(client, "synthesize_tool", **asked, breaks=named)
            assert (answer["status"], answer["version"]) == ("created", 2)
            ran = await succeeded(client, "run_tool", name="digit_sum", arguments={"number": -45}, version=2)
            assert ran["result"] == 9
            nameless = await called(client, "synthesize_tool", update=True, description=COMPLAINT)
            assert nameless.structured_content["reason"] == "update: the request names no tool."
