"""The text form of answers: short, whatever is in them."""

from __future__ import annotations

import pytest

from alita_mcp.server.results.building import MAX_TEXT
from alita_mcp.server.results.texts import LEAST, outcome_text
from alita_mcp.toolsmith.requests.outcomes import (
    Created,
    Exists,
    NeedsApproval,
    Outcome,
    Working,
)

LONG = "many words " * 1_000


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (
            Created(
                tool="a" * 40, version=12, trust="verified", tests="20/20", report="alita://tools/x/v1/report"
            ),
            "20/20",
        ),
        (Exists(tool="slugify", version=2, why=LONG), "slugify v2"),
        (Working(job_id="j" * 16, elapsed_s=45.0, stage="examples"), "j" * 16),
        (
            NeedsApproval(tool="slugify", version=1, grants=(LONG, "model"), how="alita approve slugify"),
            "alita approve slugify",
        ),
    ],
    ids=lambda value: value.status + str(getattr(value, "stage", "")) if isinstance(value, Outcome) else "",
)
def test_an_outcome_is_told_in_short(outcome: Outcome, words: str) -> None:
    text = outcome_text(outcome.model_dump(mode="json"))

    assert len(text) <= MAX_TEXT
    assert words in text


def test_what_would_raise_the_trust_is_told_to_its_end() -> None:
    advice = "Give at least three examples of your own" + " and more" * 60 + "; not for {'text': 'ß'}."
    made = CREATED.model_copy(update={"assumed": ASSUMED, "to_raise_trust": advice})
    known = Exists(
        tool="slugify", version=1, why="w" * 300, trust_before="provisional", to_raise_trust=advice
    )
    for outcome in (made, made.model_copy(update={"kept": "v1 stays current"}), known):
        text = outcome_text(outcome.model_dump(mode="json"))
        assert text.endswith(advice[1:])
        assert len(text) <= 2 * LEAST + len(advice) + 30


ASSUMED = ("empty input: ValueError", *(f"rule {number}: {'x' * 180}" for number in range(4)))
SHORT = "Assumed (to change one, send its code with update=true): empty input: ValueError; rule 0: x"
CREATED = Created(
    tool="slugify",
    version=2,
    trust="provisional",
    tests="3/3",
    report="alita://r",
    to_raise_trust="Give more.",
)
WAITS = NeedsApproval(
    tool="slugify", version=1, grants=("network a.org",), how="alita approve slugify" + "x" * 300
)


@pytest.mark.parametrize(
    "outcome", [CREATED, CREATED.model_copy(update={"kept": "v1 stays current: it is verified"}), WAITS]
)
def test_what_was_assumed_is_told_in_short_and_where_nothing_was_not_at_all(
    outcome: Created | NeedsApproval,
) -> None:
    text = outcome_text(outcome.model_copy(update={"assumed": ASSUMED}).model_dump(mode="json"))
    assert SHORT in text
    assert len(text) <= max(MAX_TEXT, LEAST + len(WAITS.how))
    assert ("Give more." if isinstance(outcome, Created) else WAITS.how).lower() in text.lower()
    assert "ssumed" not in outcome_text(outcome.model_dump(mode="json"))
