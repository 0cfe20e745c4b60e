"""Fit of the weights of the search's certainty by logistic regression; each set counts alike."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import alita_mcp.library
from alita_mcp.errors import UsageError
from alita_mcp.extras import extra_imports
from alita_mcp.library.search.ranking import Calibration
from benchmarks.retrieval import asking

SHIPPED = Path(alita_mcp.library.__file__).parent / "calibration.json"
OUTSIDE_COUNTS = 1.6
"""The weight of a need that nothing fits, so that far-off needs are refused."""
STEPS = 50
FLOOR = 1e-3
"""Keeps weights finite where the data alone would not."""


class Observation(NamedTuple):
    """Search whose right answer is known."""

    features: Mapping[str, float]
    right: bool
    weight: float = 1.0


def fit_and_write(asked: Sequence[asking.AskedSet], target: Path) -> dict[str, object]:
    """Fits one certainty for all these searches, by words and by meaning, and writes it to `target`."""
    seen = [
        Observation(
            ranking.features,
            answered.right,
            1_000 / len(each.rankings) * (1.0 if answered.tools else OUTSIDE_COUNTS),
        )
        for each in asked
        for answered, ranking in zip((*each.answered, *each.outside), each.rankings, strict=True)
        if ranking.features
    ]
    if len({each.right for each in seen}) < 2:
        raise UsageError("There is nothing to fit to: all searches were right, or all wrong.")
    fitted = fit(seen)
    rounded = Calibration(
        weights={feature: round(weight, 4) for feature, weight in fitted.weights.items()},
        intercept=round(fitted.intercept, 4),
    ).model_dump()
    try:
        target.write_text(json.dumps(rounded, indent=2) + "\n", encoding="utf-8")
    except OSError as failure:
        raise UsageError(f"The weights cannot be written to {target}: {failure}.") from failure
    return rounded


def fit(seen: Sequence[Observation]) -> Calibration:
    """Logistic regression by Newton's method."""
    with extra_imports("search"):
        import numpy as np

    names = list(seen[0].features)
    x = np.array([[each.features[name] for name in names] + [1.0] for each in seen], dtype=float)
    right = np.array([each.right for each in seen], dtype=float)
    weight = np.array([each.weight for each in seen], dtype=float)
    beta = np.zeros(len(names) + 1)
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-np.clip(x @ beta, -30, 30)))
        slope = x.T @ (weight * (right - p)) - FLOOR * beta
        curve = (x.T * (weight * p * (1 - p))) @ x + FLOOR * np.eye(len(beta))
        step = np.linalg.solve(curve, slope)
        beta = beta + step
        if float(np.abs(step).max()) < 1e-8:
            break
    *weights, intercept = (float(value) for value in beta)
    return Calibration(weights=dict(zip(names, weights, strict=True)), intercept=intercept)
