"""The manager agent's loop with a scripted model: calls, side by side and by reference, and how a task ends."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from alita_mcp.agent.actions.abilities import ActionResult
from alita_mcp.errors import ModelError
from alita_mcp.models.interface import Completion, Message, ToolCall
from tests.agent.world import PlainAbilities, call, calls, finish, world

DOUBLE = PlainAbilities(tools={"double": lambda number: number * 2})


async def test_a_tool_is_found_called_and_its_result_is_the_answer() -> None:
    made = world(
        [call("search_capabilities", query="double"), call("double", number=21), finish("42")],
        PlainAbilities(tools={"double": lambda number: number * 2}),
    )
    solution = await made.solve()
    assert (solution.answer, solution.solved, solution.stopped) == ("42", True, "")
    assert solution.tools_used == ("double",)
    assert [step.tool for step in solution.steps] == ["search_capabilities", "double"]
    assert [claim.reference for claim in solution.claims] == ["o2"]
    assert made.runs.kinds[0] == "started"
    assert made.runs.kinds[-1] == "finished"


async def test_a_found_tool_is_offered_with_its_schema_from_the_next_turn_on() -> None:
    made = world([call("search_capabilities", query="double"), call("double", number=1), finish("2")], DOUBLE)
    await made.solve()
    offered = [[tool.name for tool in options["tools"]] for options in made.model.options]
    assert "double" not in offered[0]
    assert "double" in offered[1]


async def test_calls_of_one_turn_run_side_by_side() -> None:
    begun, both = [], anyio.Event()

    async def meet(code: str, _arguments: dict[str, Any]) -> ActionResult:
        begun.append(code)
        if len(begun) == 2:
            both.set()
        with anyio.fail_after(5):
            await both.wait()
        return ActionResult(ok=True, value={"result": 7})

    made = world(
        [
            calls(("run_code", {"code": "1", "reason": ""}), ("run_code", {"code": "2", "reason": ""})),
            finish("7"),
        ],
        PlainAbilities(code=meet),
    )
    assert (await made.solve()).solved
    assert begun == ["1", "2"]


async def test_results_are_numbered_in_the_order_of_the_calls() -> None:
    second = anyio.Event()

    async def overtaken(code: str, _arguments: dict[str, Any]) -> ActionResult:
        if code == "first":
            with anyio.fail_after(5):
                await second.wait()
        second.set()
        return ActionResult(ok=True, value=code)

    asked = (("run_code", {"code": code, "reason": ""}) for code in ("first", "second"))
    made = world([calls(*asked), finish("first")], PlainAbilities(code=overtaken))
    solution = await made.solve()
    assert [(step.number, step.reference) for step in solution.steps] == [(1, "o1"), (2, "o2")]
    assert "first" in solution.steps[0].observation


async def test_the_rest_of_a_long_file_is_named() -> None:
    made = world(
        [call("read_file", name="a.txt"), finish("x", solved=False)],
        PlainAbilities(texts={"a.txt": "word " * 3_000}),
    )
    assert '{"$ref": "o1/text"}' in (await made.solve()).steps[0].observation


async def test_a_large_value_is_shown_in_part_and_passed_on_whole_by_reference() -> None:
    rows = [{"a": number, "text": "x" * 50} for number in range(3_000)]
    abilities = PlainAbilities(tools={"rows": lambda: rows, "count": len, "last": lambda row: row["a"]})
    abilities.tools = {"rows": lambda: rows, "count": lambda rows: len(rows), "last": lambda row: row["a"]}  # noqa: PLW0108
    made = world(
        [
            call("rows"),
            call("count", rows={"$ref": "o1"}),
            call("last", row={"$ref": "o1/2999"}),
            finish("3000"),
        ],
        abilities,
    )
    solution = await made.solve()
    assert abilities.asked[1] == ("count", {"rows": rows})
    assert abilities.asked[2] == ("last", {"row": rows[-1]})
    assert solution.answer == "3000"
    assert len(made.shown()) < 20_000


async def test_a_file_is_passed_on_by_its_name() -> None:
    abilities = PlainAbilities(tools={"size": len}, texts={"a.csv": "x,y\n1,2\n"})
    abilities.tools = {"size": lambda text: len(text)}  # noqa: PLW0108
    made = world(
        [call("size", text={"$file": "a.csv"}), call("size", text={"$file": "b"}), finish("8")], abilities
    )
    solution = await made.solve()
    assert solution.answer == "8"
    assert "There is no file 'b'" in solution.steps[1].observation


async def test_a_tool_that_does_not_exist_is_answered_with_the_nearest() -> None:
    made = world([call("doubel", number=1), finish("no", solved=False)], DOUBLE)
    solution = await made.solve()
    assert not solution.solved
    assert "Did you mean double?" in solution.steps[0].observation
    assert not solution.steps[0].ok


async def test_malformed_arguments_are_answered_with_what_is_wanted() -> None:
    broken = Completion(
        text="", model="scripted", calls=(ToolCall(id="a", name="run_code", unreadable='{"code": "1'),)
    )
    made = world([broken, call("run_code", code=7), finish("no", solved=False)])
    solution = await made.solve()
    assert "not a JSON object" in solution.steps[0].observation
    assert "code is missing" in solution.steps[1].observation


async def test_an_answer_that_nothing_says_is_sent_back_and_then_not_solved() -> None:
    made = world(
        [
            call("double", number=1),
            finish("99"),
            '{"claims": []}',
            finish("98"),
            '{"claims": []}',
            finish("97"),
            '{"claims": []}',
        ],
        DOUBLE,
    )
    solution = await made.solve()
    assert (solution.answer, solution.solved) == ("97", False)
    assert solution.claims[-1].reference == ""
    assert "nothing that was observed says this: 99" in made.shown(3)


OFFERED = "How many rows has the second sheet? Answer UNKNOWN if there is none."


async def test_a_refusal_that_the_task_offers_is_an_answer() -> None:
    claims = [{"claim": "there is one sheet", "reference": "o1", "quote": "one sheet"}]
    abilities = PlainAbilities(texts={"a.txt": "It has one sheet."})
    script = [call("read_file", name="a.txt"), finish("UNKNOWN", solved=False, claims=claims)]
    solution = await world(script, abilities, task=OFFERED).solve()
    assert (solution.answer, solution.solved) == ("UNKNOWN", True)
    solution = await world(script, abilities, task="How many rows has the second sheet?").solve()
    assert (solution.answer, solution.solved) == ("UNKNOWN", False)


def second(code: str) -> str:
    return json.dumps({"code": code})


SUM = call("run_code", code="sum(range(4))", reason="once")


@pytest.mark.parametrize(
    ("later", "checked"),
    [
        ([second("1 + 2 + 3")], "o1 and o2 agree"),
        ([second("")], "computed once, by o1"),
        ([second("1 / 0")], "computed once, by o1"),
        ([second("7"), finish("6")], "o1; o2 gave something else"),
        ([second("7"), call("run_code", code="6 * 1", reason="again"), finish("6")], "o1 and o3 agree"),
    ],
)
async def test_a_computed_answer_is_checked_by_a_second_program(later: list[Any], checked: str) -> None:
    def run(code: str, _arguments: dict[str, Any]) -> ActionResult:
        return ActionResult(
            ok="/ 0" not in code, value={"result": eval(code.replace("/ 0", ""))}
        )  # tests' own code

    made = world([SUM, finish("6"), *later], PlainAbilities(code=run), task="What is 0 + 1 + 2 + 3?")
    solution = await made.solve()
    assert (solution.answer, solution.solved, checked in solution.checked) == ("6", True, True), (
        solution.checked
    )
    asked = made.model.asked[2][1].content
    assert "What is 0 + 1 + 2 + 3?" in asked
    assert "range(4)" not in asked
    assert len(asked) <= 4_000


async def test_a_second_program_of_the_same_run_costs_no_other_one() -> None:
    other = call("run_code", code="1 + 2 + 3", reason="by another way")
    made = world([SUM, other, finish("6")])
    solution = await made.solve()
    assert (solution.checked, solution.calls) == ("o1 and o2 agree", 3)


async def test_text_without_a_call_is_an_answer() -> None:
    made = world([call("double", number=3), "6"], DOUBLE)
    solution = await made.solve()
    assert (solution.answer, solution.solved) == ("6", True)


async def test_a_model_that_says_nothing_is_stopped() -> None:
    made = world(["", "", ""])
    solution = await made.solve()
    assert (solution.solved, solution.stopped) == (False, "model")


async def test_an_answer_beside_other_calls_waits_for_what_they_give() -> None:
    made = world(
        [calls(("double", {"number": 1}), ("finish", {"answer": "5", "solved": True})), finish("2")], DOUBLE
    )
    solution = await made.solve()
    assert solution.answer == "2"


async def test_steps_are_a_budget_and_after_the_last_one_the_model_may_answer() -> None:
    def script(messages: Sequence[Message]) -> Completion:
        if "(0 steps)" in messages[-1].content:
            return finish("10")
        return call("double", number=sum(message.role == "assistant" for message in messages))

    made = world(script, DOUBLE, steps=6)
    solution = await made.solve()
    assert (solution.solved, solution.answer, len(solution.steps)) == (True, "10", 6)
    assert [tool.name for tool in made.model.options[-1]["tools"]] == ["finish"]

    made = world(lambda messages: call("double", number=len(messages)), DOUBLE, steps=6)
    solution = await made.solve()
    assert (solution.stopped, len(solution.steps), len(made.model.options)) == ("steps", 6, 7)

    made = world(script, DOUBLE, steps=6)
    await made.solve()
    assert "Little of the budget is left" in made.shown()


async def test_money_is_a_budget() -> None:
    def script(messages: Sequence[Message]) -> Completion:
        return call("double", number=len(messages)).model_copy(update={"cost_usd": 0.3})

    solution = await world(script, DOUBLE, usd=1.0).solve()
    assert solution.stopped == "money"
    assert solution.cost == pytest.approx(1.2)


async def test_seconds_end_a_run_that_waits() -> None:
    async def hangs(_code: str, _arguments: dict[str, Any]) -> ActionResult:
        await anyio.sleep_forever()
        raise AssertionError

    made = world([call("run_code", code="1", reason="")], PlainAbilities(code=hangs), seconds=0.3)
    solution = await made.solve()
    assert solution.stopped == "seconds"
    assert made.runs.kinds[-1] == "finished"


async def test_a_cancelled_run_notes_how_far_it_came() -> None:
    began = anyio.Event()

    async def hangs(_code: str, _arguments: dict[str, Any]) -> ActionResult:
        began.set()
        await anyio.sleep_forever()
        raise AssertionError

    made = world([call("run_code", code="1", reason="")], PlainAbilities(code=hangs))
    async with anyio.create_task_group() as group:
        group.start_soon(made.solve)
        await began.wait()
        group.cancel_scope.cancel()
    ended = await made.runs.solution("")
    assert ended is not None
    assert ended.stopped == "cancelled"


async def test_without_any_answer_of_a_model_the_error_is_told() -> None:
    made = world([])
    with pytest.raises(ModelError, match="ended"):
        await made.solve()
    assert made.runs.kinds[-1] == "finished"


async def test_the_same_call_is_not_made_for_ever() -> None:
    script = [call("double", number=1)] * 4 + [finish("2")]
    abilities = PlainAbilities(tools=DOUBLE.tools)
    solution = await world(script, abilities).solve()
    assert sum(name == "double" for name, _ in abilities.asked) == 2
    assert "made 2 times already" in solution.steps[2].observation


async def test_a_tool_is_built_and_called() -> None:
    abilities = PlainAbilities()
    made = world(
        [
            call("build_tool", description="adds", name="add_up", reason="it will be needed again"),
            call("add_up", a=1, b=2),
            finish("3"),
        ],
        abilities,
    )
    solution = await made.solve()
    assert (solution.tools_made, solution.tools_used) == (("add_up",), ("add_up",))
    assert solution.steps[0].reason == "it will be needed again"


async def test_a_person_is_asked_and_the_answer_counts() -> None:
    async def ask(question: str) -> str | None:
        return "the second one" if "Which" in question else None

    made = world([call("ask_person", question="Which one?"), finish("the second one")], ask=ask)
    solution = await made.solve()
    assert solution.solved
    assert "question" in made.runs.kinds


async def test_where_nobody_answers_the_plainest_meaning_is_taken() -> None:
    async def ask(_question: str) -> str | None:
        return None

    made = world([call("ask_person", question="Which?"), finish("?", solved=False)], ask=ask)
    assert "Nobody answered" in (await made.solve()).steps[0].observation
