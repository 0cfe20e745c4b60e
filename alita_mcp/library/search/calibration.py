"""Calibration of searches: a logistic model of how probable it is that the best hit is right, and its fit.

The shipped weights stand in calibration.json, by the source of the scores: `words`, or the name of an embedder.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from alita_mcp.extras import importing
from alita_mcp.values import Value

WORDS = "words"
WORD_FEATURES = ("cov", "lead", "back", "margin", "amount", "qlen")
MEANING_FEATURES = ("cos", "cov", "lead", "back", "margin", "crowd", "qlen")
RIDGE = 1.0
"""Strength of the pull towards the prior, in observations; far below what there is to fit to."""
FLOOR = 1e-3
"""Keeps weights finite where the data alone would not."""
STEPS = 50


class Calibration(Value):
    """Logistic model over named features."""

    weights: dict[str, float]
    intercept: float

    def probability(self, features: Mapping[str, float]) -> float:
        """Probability that the best hit is right, always above 0 and below 1."""
        logit = self.intercept + sum(
            weight * features.get(name, 0.0) for name, weight in self.weights.items()
        )
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))


class Observation(Value):
    """Search whose right answer is known."""

    features: dict[str, float]
    right: bool
    weight: float = 1.0


@cache
def shipped() -> Mapping[str, Calibration]:
    """The calibrations that come with the package."""
    text = files("alita_mcp.library").joinpath("calibration.json").read_text("utf-8")
    return {name: Calibration.model_validate(each) for name, each in json.loads(text).items()}


def prior() -> Calibration | None:
    """Calibration of the embedder that the package knows, to start from for others, whose cosines lie elsewhere."""
    return next((each for name, each in shipped().items() if name != WORDS), None)


def fit(seen: Sequence[Observation], names: Sequence[str], near: Calibration | None = None) -> Calibration:
    """Logistic regression by Newton's method, pulled gently towards `near` (default: no weight at all)."""
    with importing("search"):
        import numpy as np

    start = near or Calibration(weights={}, intercept=0.0)
    x = np.array([[each.features.get(name, 0.0) for name in names] + [1.0] for each in seen], dtype=float)
    right = np.array([each.right for each in seen], dtype=float)
    weight = np.array([each.weight for each in seen], dtype=float)
    origin = np.array([start.weights.get(name, 0.0) for name in names] + [start.intercept])
    spread = np.append(x[:, :-1].var(axis=0), 1.0)  # or no number of data would move what hardly varies
    pull = RIDGE * spread + FLOOR if near else np.full(len(origin), FLOOR)
    beta = origin.copy()
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-np.clip(x @ beta, -30, 30)))
        slope = x.T @ (weight * (right - p)) - pull * (beta - origin)
        curve = (x.T * (weight * p * (1 - p))) @ x + np.diag(pull)
        step = np.linalg.solve(curve, slope)
        beta = beta + step
        if float(np.abs(step).max()) < 1e-8:
            break
    *weights, intercept = (float(value) for value in beta)
    return Calibration(weights=dict(zip(names, weights, strict=True)), intercept=intercept)
