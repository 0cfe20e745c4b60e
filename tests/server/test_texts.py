"""The text form of answers: short, whatever is in them."""

from __future__ import annotations

import pytest

from alita_mcp.server.answers import MAX_TEXT, is_deeper_than
from alita_mcp.server.texts import outcome_text
from alita_mcp.synthesis.outcomes import Created, Exists, NeedsApproval, Outcome, Working

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


@pytest.mark.parametrize(
    ("value", "levels", "deeper"),
    [
        (1, 0, False),
        ([], 0, False),
        ([1], 0, True),
        ([1], 1, False),
        ({"a": [1]}, 1, True),
        ({"a": [1]}, 2, False),
    ],
    ids=str,
)
def test_depth_is_counted_in_lists_and_objects(value: object, levels: int, deeper: bool) -> None:
    assert is_deeper_than(value, levels) is deeper
