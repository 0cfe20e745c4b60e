"""Fit of the weights of the search's certainty; each set counts alike."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import alita_mcp.library
from alita_mcp.errors import UsageError
from alita_mcp.library.search.calibration import (
    MEANING_FEATURES,
    WORD_FEATURES,
    WORDS,
    Calibration,
    Observation,
    fit,
)
from benchmarks.retrieval import asking

SHIPPED = Path(alita_mcp.library.__file__).parent / "calibration.json"


OUTSIDE_COUNTS = {True: 2.5, False: 1.25}
"""By whether there are cosines: the weight of a need that nothing fits, so that far-off needs are refused."""


def fit_and_keep(asked: Sequence[asking.AskedSet], embedder: str | None, target: Path) -> dict[str, object]:
    """Fits words alone, or the embedder's scores, and writes the weights beside the others in `target`."""
    name, features = (embedder, MEANING_FEATURES) if embedder else (WORDS, WORD_FEATURES)
    seen = list(_observations(asked, embedder is not None))
    if len({each.right for each in seen}) < 2:
        raise UsageError("There is nothing to fit to: all searches were right, or all wrong.")
    fitted = fit(seen, features)
    rounded = Calibration(
        weights={feature: round(weight, 4) for feature, weight in fitted.weights.items()},
        intercept=round(fitted.intercept, 4),
    )
    try:
        known = json.loads(target.read_text("utf-8")) if target.is_file() else {}
        known[name] = rounded.model_dump()
        target.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
    except (OSError, ValueError, TypeError) as failure:
        raise UsageError(f"The weights cannot be written to {target}: {failure}.") from failure
    return {name: rounded.model_dump()}


def _observations(asked: Sequence[asking.AskedSet], by_meaning: bool) -> Iterator[Observation]:
    for each in asked:
        answers = (*each.answered, *each.outside)
        for answered, ranking in zip(answers, each.rankings, strict=True):
            features = ranking.meaning if by_meaning else ranking.words
            if features is not None:
                yield Observation(
                    features=dict(features),
                    right=answered.right,
                    weight=1_000 / len(answers) * (1.0 if answered.tools else OUTSIDE_COUNTS[by_meaning]),
                )
