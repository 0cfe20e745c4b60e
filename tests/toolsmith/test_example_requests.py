"""The requests that a model writes for a tool: what is kept of them, and that no tool fails for want of them."""

from __future__ import annotations

from typing import Any

import pytest

from alita_mcp.toolsmith.requests.outcomes import Created
from alita_mcp.toolsmith.specification import Specification
from tests.models.openai_server import Request
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


class Asked(Script):
    def __call__(self, request: Request) -> Any:
        if "Specify a tool" in request.text and isinstance(self.spec, list):
            self.asked.append(("spec", request))
            return self.spec[min(self.count("spec"), len(self.spec)) - 1]
        return super().__call__(request)


@pytest.mark.parametrize(
    ("second", "learned"),
    [
        (SPEC, tuple(kept(*GOOD))),
        ({**SPEC, "use_when": ["cross total of 123"]}, ("cross total of 123",)),
        ("no JSON at all", ("one need",)),
    ],
    ids=["more", "still too few", "unreadable"],
)
async def test_too_few_are_asked_for_once_and_then_done_without(
    bench: OpenBench, second: Any, learned: tuple[str, ...]
) -> None:
    script = Asked(spec=[{**SPEC, "use_when": ["one need"]}, second])
    async with bench(script) as made:
        outcome = await made.make()
        assert isinstance(outcome, Created), outcome
        assert script.count("spec") == 2
        assert "That is not all: use_when: 4 more requests" in script.texts("spec")[1]
        assert made.library.entry("digit_sum").manifest.use_when == learned


async def test_the_callers_own_requests_come_first(bench: OpenBench) -> None:
    async with bench(Script()) as made:
        outcome = await made.make(use_when=["Quersumme"])
        assert isinstance(outcome, Created), outcome
        use_when = made.library.entry("digit_sum").manifest.use_when
        assert use_when[0] == "Quersumme"
        assert len(use_when) > 4
