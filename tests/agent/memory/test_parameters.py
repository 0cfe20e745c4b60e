"""Parameters pulled out of a run: what becomes one, and what it is called."""

from __future__ import annotations

from typing import Any

import pytest

from alita_mcp.agent.interface import RecipeStep
from alita_mcp.agent.memory.wording.literals import literals
from alita_mcp.agent.memory.wording.parameters import PARAMETER, General, generalise, kind_of
from tests.tables import each_case


def pulled(task: str, *arguments: dict[str, Any]) -> General:
    return generalise(task, [RecipeStep(tool="a_tool", need="", arguments=each) for each in arguments])


def test_values_that_the_task_says_become_parameters() -> None:
    general = pulled(
        "What is the sum of amount in sales.csv for 2023?",
        {"path": "sales.csv", "column": "amount", "year": 2023, "digits": 2},
    )
    assert general.task == "What is the sum of {column} in {file} for {year}?"
    assert general.steps[0].arguments == {
        "path": "{file}",
        "column": "{column}",
        "year": "{year}",
        "digits": 2,
    }


def test_one_value_is_one_parameter_wherever_it_stands_and_another_has_another_name() -> None:
    general = pulled("Compare a.csv with A.csv and b.csv.", {"x": "a.csv", "y": "b.csv"}, {"z": "b.csv"})
    assert general.task == "Compare {file} with {file} and {file_2}."
    assert general.steps[1].arguments == {"z": "{file_2}"}


def test_a_name_that_the_task_itself_uses_in_braces_is_not_taken() -> None:
    general = pulled("Put {file} and sales.csv together.", {"path": "sales.csv"})
    assert general.task == "Put {file} and {file_2} together."


@pytest.mark.parametrize("name", ["file", "number", "year_2", "url"])
def test_an_argument_named_like_a_kind_is_told_apart(name: str) -> None:
    (parameter,) = PARAMETER.findall(pulled("Sum the amount.", {name: "amount"}).task)
    assert kind_of(parameter) == "text"


def test_words_without_a_meaning_of_their_own_are_no_parameters() -> None:
    given = {"a": "the", "b": "in", "c": "", "d": True, "e": None, "f": ["evening"]}
    task = "Is the sky blue in the evening?"
    assert pulled(task, given).task == task


def test_literals_know_their_kind() -> None:
    text = "Read 'my notes' of 3 May 2024 (https://example.org/a?b=1), data/x.csv: 1,234.5 by Ada Lovelace in 1843."
    assert [(each.kind, each.text) for each in literals(text)] == [
        ("quote", "my notes"),
        ("date", "3 May 2024"),
        ("url", "https://example.org/a?b=1"),
        ("file", "data/x.csv"),
        ("number", "1,234.5"),
        ("name", "Ada Lovelace"),
        ("year", "1843"),
    ]
    said = literals("'a.csv' and \"https://example.org\" on 2024-05-01")
    assert [each.kind for each in said] == ["file", "url", "date"]


@each_case(
    "hostile", ["a." * 10_000, "1," * 10_000, "'" * 20_000, "{" * 10_000 + "}" * 10_000, "A b " * 5_000, "/" * 20_000,
                "https://" * 2_000, "1.1." * 5_000, "\ud800 x.csv", "-" * 20_000, "A" * 20_000]
)  # fmt: skip
def test_hostile_tasks_are_read_at_once(hostile: str) -> None:
    assert len(pulled(hostile, {"code": hostile, "path": hostile[:50]}).steps) == 1
