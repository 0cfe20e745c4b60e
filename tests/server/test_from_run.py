"""From runs of code to a verified tool, as clients of both protocol eras do it."""

from __future__ import annotations

import json

import pytest
from mcp import Client

from tests.server.in_memory import called, succeeded, text_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("embedded")]

CODE = "prices = {prices}\npercent = {percent}\ntotal = sum(prices)\ntotal - total * percent // 100\n"
OWN = [
    {"arguments": {"prices": [40, 2], "percent": 50}, "expected": 21},
    {"arguments": {"prices": [], "percent": 5}, "expected": 0},
    {"arguments": {"prices": [1, 1, 1], "percent": 100}, "expected": 0},
    {"arguments": {"prices": [99], "percent": 7}, "expected": 93},
]
SEEN = (([10, 20, 30], 10, 54), ([5, 5], 50, 5), ([100], 3, 97))


async def test_code_that_ran_becomes_a_tool_that_its_client_confirms(client: Client) -> None:
    ran = [
        await succeeded(client, "run_code", code=CODE.format(prices=prices, percent=percent))
        for prices, percent, _ in SEEN
    ]
    assert [each["result"] for each in ran] == [total for *_, total in SEEN]
    ids = [each["run"] for each in ran]
    answer = await called(client, "synthesize_tool", from_run=json.dumps(ids), name="discounted_total")
    made = answer.structured_content
    assert (made["status"], made["trust"], made["tests"]) == ("created", "provisional", "3/3")
    assert "Send the same name with tests of your own" in made["to_raise_trust"]

    raised = await succeeded(client, "synthesize_tool", from_run=ids, name="discounted_total", tests=OWN)
    assert (raised["status"], raised["trust_before"], raised["trust"]) == (
        "exists",
        "provisional",
        "verified",
    )
    told = await succeeded(
        client, "run_tool", name="discounted_total", arguments={"prices": [200], "percent": 25}
    )
    assert told == {"result": 150}
    card = await called(client, "inspect_tool", name="discounted_total")
    assert "made of: 3 runs of code" in text_of(card)
    assert not any(each in text_of(card) for each in ids)


async def test_one_id_may_stand_alone_and_an_unknown_one_is_told(client: Client) -> None:
    ran = await succeeded(client, "run_code", code="sum(numbers)", arguments={"numbers": [1, 2]})
    alone = await called(client, "synthesize_tool", from_run=ran["run"], name="sum_numbers")
    assert alone.is_error
    assert alone.structured_content["stage"] == "examples"
    assert "made of 1 runs" in text_of(alone)
    unknown = await called(client, "synthesize_tool", from_run="0" * 32, name="sum_numbers")
    assert unknown.is_error
    assert "There is no run" in text_of(unknown)
    both = await called(client, "synthesize_tool", from_run=[ran["run"]], code="def f() -> int: return 1")
    assert "exclude one another" in text_of(both)
    broken = await called(client, "synthesize_tool", from_run='["a"')
    assert "is not an array, nor the text of one" in text_of(broken)
