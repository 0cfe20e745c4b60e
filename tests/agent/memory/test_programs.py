"""Programs that are kept: what becomes a parameter, which tasks find them, and the tools that are proposed."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.agent.interface import FinishedRun, Program
from alita_mcp.agent.memory.likeness import task_similarity
from alita_mcp.agent.memory.programs import KeptProgram, learn, parametrise, propose_tool
from alita_mcp.agent.memory.store import ALIKE_FROM
from tests.agent.memory.labelled import LIKE, UNLIKE
from tests.agent.memory.remembered import CODE, SUM, summed


def learnt(finished: FinishedRun, *known: KeptProgram, files: dict[str, str] | None = None) -> KeptProgram:
    return learn(finished, known, files or {})


def test_what_the_task_says_becomes_a_parameter_and_the_rest_of_the_program_stays_as_it_is() -> None:
    program = parametrise(SUM, Program(code=CODE, arguments={"digits": 2}))
    assert program.code == CODE.replace('"sales.csv"', "file_name").replace('"amount"', "column")
    assert program.arguments == {"file_name": "sales.csv", "column": "amount", "digits": 2}


@pytest.mark.parametrize(
    ("task", "code"),
    [
        ("Count the 2 rows.", "2 + 2"),  # too common a number
        ("What is the sum?", "{'sum': 1}"),  # a key of the result
        ("Greet Ada.", "name = 'x'\nf'Ada {name}'"),
        ("Is the sky blue in the evening?", "'the' in 'in'"),  # no words of a meaning
        ("Greet Ada.", "from __future__ import annotations\n'Ada'"),
        ("Greet Ada.", "'''Ada\n'''; 'Ada"),  # no program
    ],
)
def test_what_may_mean_something_else_is_no_parameter(task: str, code: str) -> None:
    assert parametrise(task, Program(code=code)) == Program(code=code)


def test_a_parameter_takes_no_name_of_the_program_and_equal_values_are_one() -> None:
    code = "file_name = 1\ncity = 'Ådal'\n['Ådal', 'a.csv', city, 17]"
    program = parametrise("Ådal in a.csv, 17 times", Program(code=code))
    names = {"city_value": "Ådal", "file_name_value": "a.csv", "number": 17}
    assert program.arguments == names
    assert eval(program.code.split("\n")[-1], {**names, "city": "Ådal"}) == ["Ådal", "a.csv", "Ådal", 17]


def test_a_task_in_other_words_finds_its_program_and_an_unlike_one_mostly_none() -> None:
    programs = []
    for kind in LIKE:
        code = f"[{', '.join(map(repr, kind.arguments.values()))}]"
        programs.append(learnt(summed(task=kind.task, code=code, arguments=kind.arguments)))

    def best(task: str) -> int | None:
        score, place = max((each.similarity(task), place) for place, each in enumerate(programs))
        return place if score >= ALIKE_FROM else None

    found = [(best(task), place) for place, kind in enumerate(LIKE) for task in kind.rewordings]
    own, wrong = (
        sum(one == other for one, other in found),
        sum(one not in (None, other) for one, other in found),
    )
    unlike = sum(best(task) is not None for task in UNLIKE)
    assert (own >= 16, wrong, unlike <= 4) == (True, 0, True), (own, wrong, unlike)


@given(st.text(max_size=80), st.text(max_size=80))
def test_similarity_is_a_share_and_the_same_both_ways(one: str, other: str) -> None:
    assert 0.0 <= task_similarity(one, other) <= 1.0
    assert task_similarity(one, other) == pytest.approx(task_similarity(other, one), abs=1e-3)


@pytest.mark.parametrize(
    "hostile", ["a.", "1,", "'", "A b ", "https://", "1.1.", "-", "A", "«", "\ud800 x.csv "]
)
def test_hostile_tasks_are_read_at_once(hostile: str) -> None:
    task = hostile * (20_000 // len(hostile))
    assert task_similarity(task, SUM) < ALIKE_FROM
    assert parametrise(task, Program(code=CODE)).code


def again(task: str, first: KeptProgram, result: Any = 3, **arguments: Any) -> FinishedRun:
    """A second run that calls the program by its name."""
    return summed("r2", task, code=first.code, arguments=arguments, result=result)


def test_a_program_that_is_called_again_or_written_again_is_one_program_with_both_runs() -> None:
    first = learnt(summed())
    called = learnt(again("Add up price in orders.csv", first, file_name="orders.csv", column="price"), first)
    written = re.sub("#.*", "", CODE.replace("sales", "orders").replace("amount", "price"))
    retyped = learnt(summed("r2", "Add up price in orders.csv", code=written), first)
    for kept in (called, retyped):
        assert kept.key == first.key
        assert [run.arguments["column"] for run in kept.runs] == ["amount", "price"]
    assert len(learnt(summed("r3"), called).runs) == 2  # the same values once
    assert learnt(summed(code="import re\n" + CODE), first).key != first.key


def test_after_a_second_task_a_tool_is_proposed_with_both_runs_as_examples() -> None:
    files = {"sales.csv": "amount\n5\n7\n", "orders.csv": "price\n3\n"}
    first = learnt(summed(), files=files)
    assert propose_tool(first) is None
    second = again(
        "Add up the sum of price in orders.csv", first, {"sum": 3.0}, file_name="orders.csv", column="price"
    )
    tool = propose_tool(learnt(second, first, files=files))
    assert tool is not None
    assert tool.name == "answer_sum"
    names: dict[str, Any] = {}
    exec(tool.code.replace("open(", "_open("), names)
    texts: dict[str, Any] = {}
    names["_open"] = lambda name, mode="r": Written(texts, name, mode)
    for example in tool.examples:
        assert names[tool.name](**example["arguments"])["sum"] in (12, 3)
    assert [example["arguments"]["column"] for example in tool.examples] == ["amount", "price"]


class Written(list[str]):
    """A file in memory."""

    def __init__(self, texts: dict[str, str], name: str, mode: str) -> None:
        super().__init__(texts.get(name, "").splitlines() if mode == "r" else ())
        self.write = lambda text: texts.__setitem__(name, text)

    def __enter__(self) -> Written:
        return self

    def __exit__(self, *_: object) -> None: ...


@pytest.mark.parametrize(
    "code", ["from alita_tools import add\nadd(17)", "print(open('large.csv').read(), 17)", "x = 17"]
)
def test_no_tool_is_proposed_that_could_not_run_by_itself(code: str) -> None:
    first = learnt(summed(task="Try 17.", code=code), files={"large.csv": "x" * 5_000})
    assert (
        propose_tool(learnt(again("Try 18.", first, **first.runs[0].arguments | {"number": 18}), first))
        is None
    )
