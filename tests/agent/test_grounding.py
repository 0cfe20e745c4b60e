"""Whether an answer rests on what was observed: numbers up to rounding, words in their order."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alita_mcp.agent.answers.grounding import is_observed, is_quoted, numbers_in


@pytest.mark.parametrize(
    ("claim", "observation"),
    [
        ("42", '{"result": 42}'),
        ("1,234.5 km", "the way is 1234.5 kilometres long"),
        ("3.14", '{"result": 3.14159265}'),
        ("Ada Lovelace", "written by ada  LOVELACE, 1843"),
        ("-7", "it was \u22127 degrees"),
        ("1e3", "1000"),
        ("2026-11-23", "on 2026-11-23 it was"),
        ("the red house", "a red house by the river"),
    ],
)
def test_what_an_observation_says_is_observed(claim: str, observation: str) -> None:
    assert is_observed(claim, ["nothing", observation])


@pytest.mark.parametrize(
    ("claim", "observation"),
    [
        ("43", '{"result": 42}'),
        ("3.15", '{"result": 3.14159265}'),
        ("Ada Byron", "ada lovelace"),
        ("42", "the words forty-two"),
        ("", "anything"),
        ("the of", "the of"),
        ("Lovelace Ada", "Ada Lovelace"),
        ("12", "112 and 120"),
    ],
)
def test_what_no_observation_says_is_not(claim: str, observation: str) -> None:
    assert not is_observed(claim, [observation])


def test_two_observations_do_not_make_one() -> None:
    assert not is_observed("42 apples 17 pears", ["42 apples", "17 pears"])


def test_a_quotation_stands_there_whatever_its_case_and_spacing() -> None:
    assert is_quoted("The  Bridge was, opened", "In 1907 the bridge was opened.")
    assert not is_quoted("was opened the bridge", "the bridge was opened")
    assert not is_quoted("", "text")
    assert not is_quoted("ridge", "the bridge")


@settings(deadline=None)
@given(st.integers(-(10**12), 10**12))
def test_a_whole_number_is_read_with_and_without_separators(number: int) -> None:
    assert [int(found) for found in numbers_in(f"is {number:,} so")] == [number]


@settings(deadline=None)
@given(st.text(max_size=200), st.text(max_size=200))
def test_no_text_breaks_it(claim: str, observation: str) -> None:
    assert is_observed(claim, [observation]) in (True, False)
    assert not is_quoted(claim, observation) or not claim.isspace()
