"""Judge model between a candidate and the tests that it fails, asked about the inputs on which they differ.

The judge sees arguments and outcomes, never who claims which. Each case is shown twice, with other letters for the same
outcomes; where the two verdicts differ it knows nothing. What it says can relieve a candidate of few tests, and is
never evidence for trust.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import anyio
from pydantic import Field, JsonValue

from alita_mcp.errors import ModelError
from alita_mcp.synthesis.specification.values import Written
from alita_mcp.synthesis.writing import prompts
from alita_mcp.synthesis.writing.candidate_sampler import CandidateSampler
from alita_mcp.synthesis.writing.judging import Round
from alita_mcp.synthesis.writing.prompts import Brief
from alita_mcp.values import Example
from alita_mcp.verification.agreement.matrix import Row

PATIENCE_S = 90.0
"""How long a judge is waited for; to draw more helps as well."""
MAX_QUESTIONS = 6
MAX_OUTCOMES = 4
MAX_CHARACTERS = 1_500
"""Of one question; a longer one is not put."""
MOST_STRUCK = 0.25
"""A judge that finds more of the tests wrong is not believed: then a suite is in doubt, and not a test."""
LETTERS = "ABCD"


class Verdict(Written):
    """Judge's verdict on one case."""

    case: int
    right: str = Field(max_length=40)


class Verdicts(Written):
    """Judge's verdicts on all cases."""

    reasoning: str = Field(default="", max_length=20_000)
    verdicts: tuple[Verdict, ...] = Field(default=(), max_length=100)


@dataclass(frozen=True)
class Question:
    """Call of which the right outcome is in doubt; the first outcome is the candidate's."""

    arguments: dict[str, JsonValue]
    outcomes: tuple[dict[str, JsonValue], ...]
    tests: tuple[tuple[int, ...], ...]
    """For each outcome the numbers of the tests that ask for it; of the first one none is needed."""

    @property
    def against(self) -> frozenset[int]:
        """Tests that the candidate fails here."""
        return frozenset(test for tests in self.tests[1:] for test in tests)


@dataclass(frozen=True)
class Ruling:
    """Consequences of a judge's verdicts."""

    struck: frozenset[int] = frozenset()
    """Tests that it found wrong."""
    is_wrong: bool = False
    """Whether it found the candidate wrong somewhere."""


class Adjudication:
    """Asks the judge of one synthesis."""

    def __init__(self, sampler: CandidateSampler) -> None:
        self._sampler = sampler

    async def rule(self, brief: Brief, current: Round, number: int) -> Ruling:
        """Ruling of a judge on a candidate; an empty one where there is nothing to ask, or no answer in time."""
        asked = questions(current, number)
        if not asked:
            return Ruling()
        shown = Shown.of(asked, random.Random(current.attempt))  # noqa: S311 - an order, not a secret
        said: Verdicts | None = None
        with anyio.move_on_after(PATIENCE_S):
            try:
                messages = prompts.adjudicate(brief, shown.cases)
                said = await self._sampler.verdicts(messages, Verdicts, current.attempt)
            except ModelError:
                return Ruling()
        return ruling(current, asked, shown.read(said)) if said is not None else Ruling()


@dataclass(frozen=True)
class Shown:
    """Cases as a judge sees them: each question twice, its outcomes under other letters each time."""

    questions: int
    order: tuple[int, ...]
    """The question that each case puts."""
    letters: tuple[tuple[int, ...], ...]
    """For each case the outcome that each letter stands for."""
    cases: tuple[dict[str, JsonValue], ...]

    @classmethod
    def of(cls, asked: Sequence[Question], chance: random.Random) -> Shown:
        """The cases for these questions, in an order that says nothing."""
        order = [*_shuffled(len(asked), chance), *_shuffled(len(asked), chance)]
        letters: list[tuple[int, ...]] = []
        cases: list[dict[str, JsonValue]] = []
        known: dict[int, list[int]] = {}
        for place, number in enumerate(order, start=1):
            question, before = asked[number], known.get(number)
            under = [*before[1:], before[0]] if before else _shuffled(len(question.outcomes), chance)
            known[number] = under
            letters.append(tuple(under))
            outcomes: dict[str, JsonValue] = {
                LETTERS[at]: dict(question.outcomes[outcome]) for at, outcome in enumerate(under)
            }
            cases.append({"case": place, "arguments": dict(question.arguments), **outcomes})
        return cls(len(asked), tuple(order), tuple(letters), tuple(cases))

    def read(self, said: Verdicts) -> list[int | None]:
        """For each question the number of the right outcome, -1 for none of them, None where nothing is known."""
        heard: defaultdict[int, set[int | None]] = defaultdict(set)
        for verdict in said.verdicts:
            if 1 <= verdict.case <= len(self.order):
                heard[verdict.case - 1].add(self._meant(verdict))
        found: list[int | None] = []
        for number in range(self.questions):
            places = [place for place, each in enumerate(self.order) if each == number]
            words = set[int | None]().union(*(heard[place] or {None} for place in places))
            found.append(words.pop() if len(words) == 1 else None)
        return found

    def _meant(self, verdict: Verdict) -> int | None:
        word = verdict.right.strip()
        if word.lower() == "neither":
            return -1
        at = LETTERS.find(word.upper()) if len(word) == 1 else -1
        letters = self.letters[verdict.case - 1]
        return letters[at] if 0 <= at < len(letters) else None


def questions(current: Round, number: int) -> list[Question]:
    """The calls on which a candidate and the tests differ, or none where that is no matter of words to be decided.

    Not asked is about a candidate that the caller's own examples refuse, that cannot be run or does not end, that
    fails too much, or whose results vary.
    """
    row = current.matrix.rows[number]
    if row is None or number in current.barred or current.matrix.candidates[number].draft.varies:
        return []
    failing = current.failing(number)
    if not row.is_whole or len(failing) > MOST_STRUCK * len(current.matrix.tests):
        return []
    calls: defaultdict[str, list[int]] = defaultdict(list)
    for test in sorted(failing):
        calls[json.dumps(current.matrix.tests[test].arguments, sort_keys=True)].append(test)
    if len(calls) > MAX_QUESTIONS:
        return []
    asked = [_question(current, row, tests) for tests in calls.values()]
    return [] if any(question is None for question in asked) else [each for each in asked if each is not None]


def _question(current: Round, row: Row, tests: Sequence[int]) -> Question | None:
    """The question about one call; None where it cannot be put in few words."""
    own = _outcome(row, tests[0])
    if own is None:
        return None
    checks = [test for test in tests if current.matrix.tests[test].check is not None]
    if checks and "raises" not in own:
        if len(tests) > 1:
            return None
        condition = str(current.matrix.tests[checks[0]].check)
        return _fitting(
            current,
            tests,
            [({"false for the result": condition}, ()), ({"true for the result": condition}, tests)],
        )
    outcomes: list[tuple[dict[str, JsonValue], tuple[int, ...]]] = [(own, ())]
    for test in tests:
        wanted = _wanted(current.matrix.tests[test])
        if wanted == own:
            return None
        place = next((at for at, (outcome, _) in enumerate(outcomes) if at and outcome == wanted), None)
        if place is None:
            outcomes.append((wanted, (test,)))
        else:
            outcomes[place] = (wanted, (*outcomes[place][1], test))
    return _fitting(current, tests, outcomes)


def _fitting(
    current: Round, tests: Sequence[int], outcomes: Sequence[tuple[dict[str, JsonValue], Sequence[int]]]
) -> Question | None:
    arguments = current.matrix.tests[tests[0]].arguments
    said = [outcome for outcome, _ in outcomes]
    if len(said) > MAX_OUTCOMES or len(json.dumps([arguments, said])) > MAX_CHARACTERS:
        return None
    return Question(arguments, tuple(said), tuple(tuple(claimed) for _, claimed in outcomes))


def _outcome(row: Row, test: int) -> dict[str, JsonValue] | None:
    """What the candidate gave, as a test would say it."""
    result = row.results[test]
    if result is None or result.status not in ("ok", "error"):
        return None
    if result.status == "error":
        return {"raises": result.error_type.rsplit(".", 1)[-1]}
    return {"result": result.value}


def _wanted(test: Example) -> dict[str, JsonValue]:
    if test.raises is not None:
        return {"raises": test.raises.rsplit(".", 1)[-1]}
    if test.check is not None:
        return {"true for the result": test.check}
    return {"result": test.expected}


def ruling(current: Round, asked: Sequence[Question], right: Sequence[int | None]) -> Ruling:
    """Derives the ruling from verdicts; a judge strikes neither what two suites ask for, nor many tests."""
    struck: set[int] = set()
    is_wrong = False
    for question, outcome in zip(asked, right, strict=True):
        if outcome is None:
            continue
        is_wrong |= outcome != 0
        upheld = question.tests[outcome] if outcome > 0 else ()
        struck |= question.against - set(upheld)
    doubted = {test for test in struck if sum(test in suite for suite in current.matrix.suites) < 2}
    return Ruling(frozenset(doubted), is_wrong)


def _shuffled(count: int, chance: random.Random) -> list[int]:
    return chance.sample(range(count), count)
