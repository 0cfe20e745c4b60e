"""The last check of an answer: what a model says about its sources counts only where it stands there."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from alita_mcp.agent.actions.observations import Observation
from alita_mcp.agent.answers.answer_check import check_answer
from alita_mcp.agent.interface import Program
from alita_mcp.agent.values import Claim
from alita_mcp.errors import BudgetSpent, ModelError
from alita_mcp.models.scripted import ScriptedModel

LONG = "The committee, which had met in the spring of that year, decided that the mill was to be sold to the town"
READ = Observation(
    "o1",
    "text",
    f"{'a' * 3_000} In spring the committee decided: the mill is sold to the town. {'b' * 9_000}",
)


def judged(*claims: tuple[str, str, str]) -> str:
    return json.dumps({"claims": [{"claim": a, "reference": b, "quote": c} for a, b, c in claims]})


async def test_a_judge_sees_the_part_of_a_long_observation_that_the_answer_is_about() -> None:
    claim = "in the spring the committee decided that the mill was to be sold to the town"
    judge = ScriptedModel([judged((claim, "o1", "the mill is sold to the town"))])
    claims = await check_answer("What became of the mill?", LONG, (), [READ], judge)
    assert [claim.reference for claim in claims] == ["o1"]
    shown_to_judge = judge.asked[0][1].content
    assert "the mill is sold" in shown_to_judge


async def test_a_judge_sees_task_claims_and_quotations_in_4_000_characters() -> None:
    given = (Claim(claim="it was sold in spring", reference="o1", quote="in spring the committee decided"),)
    judge, data = (
        ScriptedModel([judged()] * 2),
        [replace(READ, reference=f"o{place}") for place in range(1, 40)],
    )
    await check_answer(f"What became of the mill? {'x' * 9_000}", LONG * 20, given * 30, data, judge)
    shown_to_judge = judge.asked[0][1].content
    assert len(shown_to_judge) <= 4_000
    for part in (
        "What became of the mill?",
        "it was sold in spring",
        "in spring the committee decided",
        "mill is sold",
    ):
        assert part in shown_to_judge


NONE = "In which year was the mill sold? Answer UNKNOWN if the text does not say it."
QUOTED = Claim(claim="no year is given", reference="o1", quote="In spring the committee decided")
INVENTED = Claim(claim="no year is given", reference="o1", quote="the year is not given")


@pytest.mark.parametrize(
    ("task", "answer", "claim", "accepted"),
    [
        (NONE, "UNKNOWN", QUOTED, True),
        (NONE, "unknown.", QUOTED, True),
        ("Who? Say 'cannot be determined' if it is not told.", "cannot be determined", QUOTED, True),
        ("List its owners, or write none.", "none", QUOTED, True),
        (NONE, "UNKNOWN", INVENTED, False),
        ("In which year was the mill sold?", "UNKNOWN", QUOTED, False),
        (NONE, "1871", QUOTED, False),
    ],
)  # fmt: skip
async def test_a_refusal_that_the_task_offers_rests_on_what_was_observed(
    task: str, answer: str, claim: Claim, accepted: bool
) -> None:
    claims = await check_answer(task, answer, (claim,), [READ], ScriptedModel([judged()]))
    assert all(each.reference for each in claims) is accepted


async def test_a_word_found_by_chance_is_no_refusal() -> None:
    chance = replace(READ, text="None of the gulls was unknown.")
    claims = await check_answer(NONE, "UNKNOWN", (), [chance], ScriptedModel([judged()]))
    assert claims[-1].reference == ""


async def test_a_judges_own_invention_is_not_believed() -> None:
    judge = ScriptedModel([judged(("sold", "o1", "the mill was given away"), ("x", "o9", "x"))])
    claims = await check_answer("What became of the mill?", LONG, (), [READ], judge)
    assert not any(claim.reference for claim in claims)


async def test_claims_that_leave_out_what_the_answer_says_do_not_cover_it() -> None:
    given = (Claim(claim="sold to the town", reference="o1", quote="sold to the town"),)
    answer = "It was sold for 5,000 pounds in the spring of that year, they say, to the town itself"
    claims = await check_answer("What became of the mill?", answer, given, [READ], ScriptedModel([judged()]))
    assert claims[-1].reference == ""


async def test_yes_rests_on_a_quotation_alone() -> None:
    given = (Claim(claim="yes", reference="o1", quote="the mill is sold"),)
    assert (await check_answer("What became of the mill?", "yes", given, [READ], ScriptedModel([])))[
        0
    ].reference == "o1"


async def test_a_judge_that_does_not_answer_leaves_claims_open() -> None:
    claims = await check_answer("What became of the mill?", LONG, (), [READ], ScriptedModel([]))
    assert [claim.reference for claim in claims] == [""]


async def test_a_judge_that_may_not_be_asked_ends_the_run() -> None:
    class Spent(ScriptedModel):
        async def complete(self, *_messages: object, **_options: object) -> object:  # type: ignore[override]
            raise BudgetSpent("The budget of this task is spent: 1 tokens.")

    with pytest.raises(BudgetSpent):
        await check_answer("What became of the mill?", LONG, (), [READ], Spent([]))
    assert issubclass(BudgetSpent, ModelError)


async def test_an_error_supports_nothing() -> None:
    failed = Observation("o1", "42", "42", is_data=False)
    claims = (Claim(claim="42", reference="o1", quote="42"),)
    assert (await check_answer("What became of the mill?", "42", claims, [failed], ScriptedModel([])))[
        0
    ].reference == ""


async def test_large_observations_are_searched_too() -> None:
    large = Observation("o1", "text", f"{'7 ' * 200_000} and 4711")
    assert (await check_answer("What became of the mill?", "4711", (), [large], ScriptedModel([])))[
        0
    ].reference == "o1"


async def test_a_refusal_rests_on_a_program_s_result_not_on_a_word_of_its_long_output() -> None:
    def printed(text: str) -> Observation:
        return Observation("o1", {"result": text}, text, program=Program(code="x"))

    for text, accepted in (
        ("UNKNOWN", True),
        (f"{'sold 1871; ' * 20} owner unknown; {'sold; ' * 20}", False),
    ):
        claims = await check_answer(NONE, "UNKNOWN", (), [printed(text)], ScriptedModel([judged()]))
        assert bool(claims[-1].reference) is accepted
