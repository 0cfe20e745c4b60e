"""The text of rejections and failures: the fix whole, two values told apart, never longer than allowed."""

from __future__ import annotations

from typing import Any

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.errors import AlitaError
from alita_mcp.server.results.building import MAX_ERROR_TEXT, refusal
from alita_mcp.server.results.rejections import failure_text
from alita_mcp.server.results.texts import outcome_text
from alita_mcp.toolsmith.requests.outcomes import Broken, Created, Rejected
from tests.server.in_memory import Build, called, connected, text_of
from tests.verification.test_comparison import JSON_VALUES

SAME = "the same words " * 300
TRACE = tuple(f'tool.py:{number} in _part: return _part(rows[{number}], "x")' for number in range(10))


def told(**fields: Any) -> str:
    given_ = {"stage": "examples", "reason": "example 1: it returned another result", "fix": "Mend it."}
    rejected = Rejected.model_validate(given_ | fields).model_dump(mode="json")
    compared = {"expected", "got"} & fields.keys()
    return outcome_text(
        {key: value for key, value in rejected.items() if value not in (None, []) or key in compared}
    )


def two_values(text: str) -> tuple[str, str]:
    """The values that a comparison shows."""
    (line,) = [line for line in text.splitlines() if "xpected " in line]
    expected, _, got = line.partition("xpected ")[2].removesuffix(".").partition(", got ")
    return expected, got


@given(
    JSON_VALUES,
    JSON_VALUES,
    st.sampled_from(["", "a reason " * 500]),
    st.sampled_from([None, {"text": SAME}]),
    st.sampled_from([(), TRACE, (SAME,) * 10]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=3_000) | st.just("Mend it. " * 100),
)
def test_a_rejection_ends_with_its_whole_fix_and_is_short(
    one: Any, other: Any, reason: str, case: Any, trace: tuple[str, ...], fix: str
) -> None:
    text = told(expected=[SAME, one], got=[SAME, other], reason=reason, case=case, trace=trace, fix=fix)
    assert text.endswith(f"\nFix: {fix}")
    assert len(text) <= max(MAX_ERROR_TEXT, len(f"Rejected at examples: …\nFix: {fix}"))
    text.encode()


def test_all_that_mends_a_tool_is_in_the_text() -> None:
    rows = [{"name": f"row {number}"} for number in range(200)]
    text = told(
        expected=rows,
        got=[*rows[:150], {"name": "another"}, *rows[151:]],
        case={"path": "rows.csv"},
        trace=TRACE,
        fix="Mend the function.",
    )
    head, comparison, case, *trace, fix = text.splitlines()
    assert head == "Rejected at examples: example 1: it returned another result"
    assert comparison.startswith("At result[150].name: expected …")
    assert '"row 150"' in comparison
    assert '"another"' in comparison
    assert case == 'Case {"path": "rows.csv"}'
    assert trace == list(TRACE)
    assert fix == "Fix: Mend the function."


def test_an_update_shows_where_results_differ() -> None:
    broken = Broken(arguments={"n": 1}, expected=SAME + "a", got=SAME + "b")
    made = Created(tool="x_y", version=2, trust="verified", tests="1/1", report="alita://x", breaks=(broken,))
    text = outcome_text(made.model_dump(mode="json") | {"call": "direct", "visible": "now"})
    assert 'a", is now …' in text
    assert 'b". ' in text


@pytest.mark.parametrize(("what", "trace"), [("it broke " * 1_000, TRACE), ("it broke", (SAME,) * 10)])
def test_a_failure_keeps_its_limits_and_where_it_was_raised(what: str, trace: tuple[str, ...]) -> None:
    text = failure_text(what, trace, "Its limits: 30 s.")
    assert len(text) <= MAX_ERROR_TEXT
    assert text.startswith("it broke")
    assert text.endswith("Its limits: 30 s.")
    assert (TRACE[-1] in text) == (trace is TRACE)
    assert failure_text("it broke", ()) == "it broke"


def test_the_hint_of_an_error_is_never_cut() -> None:
    hint = "Do this. " * 120
    text = text_of(refusal(AlitaError("it broke " * 1_000, hint=hint)))
    assert text.endswith(hint.strip())
    assert len(text) <= MAX_ERROR_TEXT


async def test_two_long_results_are_told_apart_by_a_reader_of_text_only(build: Build, era: str) -> None:
    code = """
def lines_of(text: str) -> list[str]:
    \"\"\"Lines of a text.

    Args:
        text: Any text.
    \"\"\"
    return text.split("\\n")
"""
    long = "\n".join(f"line {number}" for number in range(100))
    tests = [
        {"arguments": {"text": long + "\r\n"}, "expected": [*long.split("\n"), ""]},
        {"arguments": {"text": "a"}, "expected": ["a"]},
        {"arguments": {"text": ""}, "expected": [""]},
    ]
    async with connected(build(), era) as client:
        result = await called(
            client, "synthesize_tool", name="lines_of", description="Lines of a text.", code=code, tests=tests
        )
    assert result.is_error
    text = text_of(result)
    assert "At result[99], character 8: expected …" in text
    assert two_values(text)[0].endswith('"line 99", ""]')
    assert two_values(text)[1].endswith('"line 99\\r", ""]')
    assert text.endswith(f"Fix: {result.structured_content['fix']}")


async def test_people_see_what_was_rejected_before_it_began_and_whose_it_was(build: Build, era: str) -> None:
    server = build()
    client_info = types.Implementation(name="some-editor", version="7")
    async with connected(server, era, client_info=client_info) as client:
        await called(client, "synthesize_tool", name="lines_of", code="x = 1", tests=[{"arguments": 5}])
        app = await server.shared.get()
        (rejected,) = app.activity.recent
    assert (rejected.client, rejected.tool, rejected.outcome) == ("some-editor 7", "lines_of", "rejected")
    assert "tests" in rejected.text
    assert rejected.detail["stage"] == "examples"
