"""The requests that a model writes for a tool: what is kept of them, and that no tool fails for want of them."""

from __future__ import annotations

from typing import Any

import pytest

from alita_mcp.toolsmith.requests.outcomes import Created
from alita_mcp.toolsmith.specification import Specification
from tests.toolsmith.authors import SPEC, Script
from tests.toolsmith.bench import OpenBench

pytestmark = pytest.mark.slow

GOOD = SPEC["use_when"]


def kept(*requests: Any) -> tuple[str, ...]:
    return Specification.model_validate({**SPEC, "use_when": list(requests)}).use_when


@pytest.mark.parametrize(
    "bad",
    [
        "digit sum", "cross total of 123", "Total, cross: of 123!", "x " * 200, "", "  ", 7, None, ["a"],
        "hid\u200bden word",
        "see https://example.org for numbers",
        "half \ud800 of it",
    ],
)  # fmt: skip
def test_requests_that_a_search_cannot_use_are_left_out(bad: Any) -> None:
    assert kept("cross total of 123", bad, "  add up\nthe figures ") == (
        "cross total of 123",
        "add up the figures",
    )


async def test_too_few_are_done_without_and_nothing_is_asked_again(bench: OpenBench) -> None:
    script = Script(spec={**SPEC, "use_when": ["one need", "see https://evil.example"]})
    async with bench(script) as made:
        outcome = await made.make()
        assert isinstance(outcome, Created), outcome
        assert script.count("spec") == 1
        assert made.library.entry("digit_sum").manifest.use_when == ("one need",)


async def test_the_callers_own_requests_come_first(bench: OpenBench) -> None:
    async with bench(Script()) as made:
        outcome = await made.make(use_when=["Quersumme"])
        assert isinstance(outcome, Created), outcome
        use_when = made.library.entry("digit_sum").manifest.use_when
        assert use_when[0] == "Quersumme"
        assert len(use_when) > 4
