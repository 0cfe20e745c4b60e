"""Parameters pulled out of a run: what becomes one, what it is called, and that filling gives the run back."""

from __future__ import annotations

import json
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.agent.interface import RecipeStep
from alita_mcp.agent.memory.wording.literals import literals, number_in
from alita_mcp.agent.memory.wording.parameters import PARAMETER, General, Values, generalise, kind_of

pytestmark = pytest.mark.extra("search")


def pulled(task: str, *arguments: dict[str, Any]) -> General:
    return generalise(task, [RecipeStep(tool="a_tool", need="", arguments=each) for each in arguments])


def fill(arguments: Any, values: Values) -> Any:
    """The arguments with values in place of their parameters: undoes what `generalise` did."""
    if isinstance(arguments, dict):
        return {name: fill(part, values) for name, part in arguments.items()}
    if isinstance(arguments, list):
        return [fill(part, values) for part in arguments]
    if not isinstance(arguments, str):
        return arguments
    whole = PARAMETER.fullmatch(arguments)
    if whole and whole[1] in values:
        return values[whole[1]]
    return PARAMETER.sub(lambda found: str(values.get(found[1], found[0])), arguments)


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
    assert general.values == {"file": "sales.csv", "column": "amount", "year": 2023}


def test_a_program_gets_parameters_for_what_the_task_says() -> None:
    code = (
        'rows = read("sales.csv")\nprint(f"{x}", sum(r["amount"] for r in rows if r["year"] == 2023), amount)'
    )
    general = pulled("Sum `amount` in sales.csv for 2023.", {"code": code})
    (step,) = general.steps
    assert 'read("{file}")' in step.arguments["code"]
    assert 'r["{text}"]' in step.arguments["code"]
    assert "== {year}" in step.arguments["code"]
    assert step.arguments["code"].endswith(", amount)")  # a name of the program's own
    assert fill(step.arguments, general.values) == {"code": code}


def test_files_that_only_the_arguments_name_are_parameters_too() -> None:
    general = pulled("How many rows has the table?", {"path": "in/table.csv"})
    assert general.task == "How many rows has the table?"
    assert general.steps[0].arguments == {"path": "{file}"}


def test_one_value_is_one_parameter_wherever_it_stands() -> None:
    general = pulled(
        "Compare a.csv with a.csv and b.csv.", {"x": "a.csv", "y": "b.csv"}, {"z": ["a.csv", {"k": "b.csv"}]}
    )
    assert general.task == "Compare {file} with {file} and {file_2}."
    assert general.steps[1].arguments == {"z": ["{file}", {"k": "{file_2}"}]}


def test_a_name_that_the_run_itself_uses_in_braces_is_not_taken() -> None:
    general = pulled("Put {file} and sales.csv together.", {"path": "sales.csv", "pattern": "{file_2}"})
    assert general.steps[0].arguments == {"path": "{file_3}", "pattern": "{file_2}"}
    assert fill(general.steps[0].arguments, general.values)["pattern"] == "{file_2}"


def test_numbers_stay_numbers_and_texts_stay_texts() -> None:
    general = pulled(
        "Convert 1,200 feet, zip 90210.", {"value": 1200, "zip": "90210", "flag": True, "none": None}
    )
    assert general.steps[0].arguments == {"value": "{number}", "zip": "{zip}", "flag": True, "none": None}


def test_a_text_of_digits_does_not_become_a_number() -> None:
    general = pulled("Convert 1,200 feet.", {"value": 1200, "label": "1200", "note": "1200 ft"})
    assert general.steps[0].arguments == {"value": "{number}", "label": "1200", "note": "{number} ft"}
    assert fill(general.steps[0].arguments, general.values) == {
        "value": 1200,
        "label": "1200",
        "note": "1200 ft",
    }


@pytest.mark.parametrize("name", ["file", "number", "year_2", "url"])
def test_an_argument_named_like_a_kind_is_told_apart(name: str) -> None:
    general = pulled("Sum the amount.", {name: "amount"})
    (parameter,) = general.values
    assert kind_of(parameter) == "text"


def test_words_without_a_meaning_of_their_own_are_no_parameters() -> None:
    assert pulled("Is the sky blue in the evening?", {"a": "the", "b": "in", "c": "", "d": "i"}).values == {}


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
    assert [each.kind for each in literals("'a.csv' and \"https://example.org\" on 2024-05-01")] == [
        "file",
        "url",
        "date",
    ]
    assert number_in("nothing") is None


@pytest.mark.parametrize(
    "hostile", ["a." * 10_000, "1," * 10_000, "'" * 20_000, "{" * 10_000 + "}" * 10_000, "A b " * 5_000, "/" * 20_000,
                "https://" * 2_000, "1.1." * 5_000, "\ud800 x.csv", "-" * 20_000, "A" * 20_000]
)  # fmt: skip
def test_hostile_tasks_are_read_at_once(hostile: str) -> None:
    general = pulled(hostile, {"code": hostile, "path": hostile[:50]})
    assert fill(general.steps[0].arguments, general.values) == {"code": hostile, "path": hostile[:50]}


WORDS = st.text(alphabet=string.ascii_lowercase + "{}_ ä'\"", min_size=1, max_size=12)
VALUES = st.one_of(
    WORDS,
    st.integers(-9_999, 9_999),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.sampled_from(["sales.csv", "in/a.csv", "https://example.org/x", "2024-05-01", "2024", "Ada Lovelace"]),
    st.booleans(),
    st.none(),
)
LEAVES = st.recursive(
    VALUES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)


@given(
    st.lists(st.one_of(VALUES, WORDS).map(str), max_size=8),
    st.lists(st.dictionaries(WORDS, LEAVES, max_size=4), max_size=3),
)
def test_filling_in_what_was_pulled_out_gives_the_run_back(
    said: list[str], arguments: list[dict[str, Any]]
) -> None:
    general = pulled(" ".join(said), *arguments)
    back = [fill(step.arguments, general.values) for step in general.steps]
    assert json.dumps(back) == json.dumps(arguments)
    assert all(
        f"{{{name}}}" in json.dumps([general.task, *(s.arguments for s in general.steps)])
        for name in general.values
    )


@given(st.lists(VALUES.map(str), min_size=1, max_size=6))
def test_a_task_of_other_values_has_the_same_form(said: list[str]) -> None:
    task = "Sum the column 'x' of a.csv " + " ".join(said)
    one = pulled(task, {"column": "x", "path": "a.csv"})
    assert one.task.startswith("Sum the column '{column}' of {file}")
