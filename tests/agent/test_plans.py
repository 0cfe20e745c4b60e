from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from alita_mcp.agent.planning.plans import (
    MAX_PLANS,
    MAX_STEPS,
    PLANS_SHAPE,
    Plan,
    PlansAnswer,
    PlanStep,
    plans_from,
)
from alita_mcp.models.interface import Completion
from alita_mcp.models.structured.typed_answers import Unreadable, parse_answer


def read_plans(text: str, tools: tuple[str, ...] = ("get_page",)) -> tuple[Plan, ...]:
    return plans_from(parse_answer(Completion(text=text, model="scripted"), PlansAnswer), tools)


def answer(*steps: dict[str, object], estimate: object = 0.5) -> str:
    return json.dumps({"plans": [{"steps": steps, "estimate": estimate}]})


def step(need: str, tool: str = "", after: tuple[int, ...] = ()) -> PlanStep:
    return PlanStep(need=need, way="reuse" if tool else "run_once", tool=tool, after=after)


def test_the_shape_that_a_prompt_shows_is_one_that_is_read() -> None:
    shown = PLANS_SHAPE.partition("\n")[0].replace("reuse|compose|run_once|build|research", "Run-once")
    (plan,) = read_plans(f"Here you are:\n```json\n{shown}\n```")
    assert plan.steps[0].way == "run_once"
    assert plan.estimate == 0.7


def test_tools_that_do_not_exist_are_marked() -> None:
    (plan,) = read_plans(
        answer(
            {"need": "a", "way": "reuse", "tool": "get_page"},
            {"need": "b", "way": "reuse", "tool": "do_all"},
            {"need": "c", "way": "build", "tool": None},
        )
    )
    assert [each.known for each in plan.steps] == [True, False, True]


def test_a_step_waits_for_earlier_ones_only() -> None:
    (plan,) = read_plans(
        answer(
            {"need": "first", "way": "run_once", "after": [1, 2, 99, 0, -1]},
            {"need": "second", "way": "run_once", "after": 1},
            {"need": "last", "way": "run_once", "after": [2, 1, 2]},
        )
    )
    assert [each.after for each in plan.steps] == [(), (0,), (0, 1)]


def test_more_plans_and_steps_than_fit_are_cut() -> None:
    steps = [{"need": f"n{at}", "way": "build"} for at in range(MAX_STEPS + 3)]
    plans = [{"steps": [{"need": f"p{at}", "way": "build"}, *steps]} for at in range(MAX_PLANS + 2)]
    found = read_plans(json.dumps({"plans": plans}))
    assert len(found) == MAX_PLANS
    assert {len(plan.steps) for plan in found} == {MAX_STEPS}
    assert "4 steps after the first 12 were dropped" in found[0].note


def test_the_same_plan_twice_counts_once() -> None:
    one = {"steps": [{"need": "Read  it", "way": "research"}]}
    other = {"steps": [{"need": "read it", "way": "research"}], "estimate": 1}
    assert len(read_plans(json.dumps({"plans": [one, other]}))) == 1


@pytest.mark.parametrize(
    ("said", "meant"),
    [(0.7, 0.7), ("70 %", 0.7), (70, 0.7), ("0,7", 0.7), (-3, 0.0), (1e9, 1.0), ("high", 0.5), (None, 0.5),
     ("nan", 0.5), ([], 0.5), ("1%", 0.01), (10**400, 0.5)],
)  # fmt: skip
def test_estimates_are_read_however_they_are_written(said: object, meant: float) -> None:
    (plan,) = read_plans(answer({"need": "a", "way": "build"}, estimate=said))
    assert plan.estimate == pytest.approx(meant)


@pytest.mark.parametrize(
    "text",
    [
        '{"plans": []}',
        '{"plans": [{"steps": []}]}',
        '{"plans": 3}',
        "no plan",
        answer({"need": " ", "way": "build"}),
        answer({"need": "a", "way": "guess"}),
        answer({"need": ["a"], "way": "build"}),
        answer({"need": "a", "way": None}),
    ],
)
def test_what_is_no_plan_is_asked_for_again(text: str) -> None:
    with pytest.raises(Unreadable):
        read_plans(text)


words = st.sampled_from(["", " ", "get_page", "a" * 900, "\x00\ud800", "reuse", "95 %", "{", "é\u202e\n\n b"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=8,
)
hostile_step = st.fixed_dictionaries(
    {"need": words | json_values, "way": st.sampled_from(["reuse", "Build", "research"])},
    optional={
        "tool": json_values,
        "reason": json_values,
        "after": json_values | st.lists(st.integers(-2, 20)),
    },
)


@pytest.mark.slow
@given(
    st.lists(
        st.fixed_dictionaries(
            {"steps": st.lists(hostile_step, max_size=15)},
            optional={"estimate": json_values, "x": json_values},
        ),
        max_size=10,
    )
)
@settings(deadline=None)
def test_whatever_a_model_writes_gives_sound_plans_or_is_refused(plans: list[object]) -> None:
    try:
        found = read_plans(json.dumps({"plans": plans}))
    except Unreadable:
        return
    assert 0 < len(found) <= MAX_PLANS
    for plan in found:
        assert Plan.model_validate(plan.model_dump()) == plan


def test_a_plan_that_waits_for_a_later_step_is_refused() -> None:
    with pytest.raises(ValidationError, match="earlier steps"):
        Plan(steps=(step("a", after=(1,)), step("b")))
