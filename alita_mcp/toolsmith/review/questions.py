"""Questions to a caller, from blind tests whose expectations differ from the code.

The values come from models and are shown to an agent: each is short and visible.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from alita_mcp.texts import clipped
from alita_mcp.unseen import HIDDEN
from alita_mcp.values import Agreement, Check, Draft, DroppedTest, Example, ToolContract
from alita_mcp.verification.agreement.matrix import Row
from alita_mcp.verification.comparison.difference import difference
from alita_mcp.verification.examples.judgement import SLOW
from alita_mcp.verification.examples.suite import distinct_examples, suite_checks
from alita_mcp.verification.findings import brief, sorted_json

MAX_TEST = 4_000
"""Longest test that is used, in characters of its JSON."""
MAX_QUESTIONS = 5
MAX_LINE = 200
AGREE = 2
"""So many writers, each by itself, make a test that one contradicts elsewhere an example."""
SHOWN_DROPPED = 10
_VALUE, _ARGUMENTS = 26, 60
"""Characters of a value, and of the arguments."""


@dataclass(frozen=True)
class Heard:
    """Result of one blind test on the caller's code."""

    writer: int
    test: Example
    check: Check
    word: str
    """What came out, as the pass matrix has it."""

    @property
    def call(self) -> str:
        """The same for the same arguments."""
        return sorted_json(self.test.arguments)


@dataclass(frozen=True)
class Answers:
    """Results of all blind tests of one draft."""

    heard: tuple[Heard, ...]
    suites: int

    @property
    def failing(self) -> tuple[Heard, ...]:
        """Tests that the code contradicts."""
        return tuple(each for each in self.heard if not each.check.passed)

    @property
    def writers(self) -> int:
        """Number of writers that gave a usable test."""
        return len({each.writer for each in self.heard})

    @property
    def is_refuted(self) -> bool:
        """Whether most tests fail, and not for one writer alone."""
        failing = self.failing
        return 2 * len(failing) > len(self.heard) and len({each.writer for each in failing}) >= AGREE

    @property
    def upheld(self) -> tuple[Example, ...]:
        """Tests that hold and that two writers agree on, or that are of a suite that holds as a whole."""
        doubted, doubting = ({each.call for each in self.failing}, {each.writer for each in self.failing})
        agreed: defaultdict[str, set[int]] = defaultdict(set)
        holding = [each for each in self.heard if each.check.passed]
        for each in holding:
            agreed[each.call].add(each.writer)
        kept = [
            each.test
            for each in holding
            if len(agreed[each.call]) >= AGREE or (each.writer not in doubting and each.call not in doubted)
        ]
        return tuple(test for _, test in distinct_examples(kept))

    def agreement(self) -> Agreement:
        """The same as a report keeps it: one candidate, which is the caller's."""
        passed = [each.check.passed for each in self.heard]
        return Agreement(
            candidates=1,
            suites=self.suites,
            share=1.0,
            passed=round(sum(passed) / len(passed), 3),
            kept=tuple(number for number, held in enumerate(passed) if held),
            dropped=tuple(number for number, held in enumerate(passed) if not held),
            contradicting=tuple(
                DroppedTest(test=each.test.as_json(), got=each.check.got)
                for each in self.failing[:SHOWN_DROPPED]
            ),
        )

    def questions(self) -> tuple[str, ...]:
        """A line for each of the calls that most writers expect another outcome of."""
        calls: defaultdict[str, list[Heard]] = defaultdict(list)
        for each in self.failing:
            calls[each.call].append(each)
        doubted = sorted(calls.values(), key=lambda call: -len({each.writer for each in call}))
        return tuple(_question(call) for call in doubted[:MAX_QUESTIONS])


def usable(suite: Sequence[Example], draft: Draft, contract: ToolContract) -> tuple[Example, ...]:
    """A writer's tests that say one thing about a call that the tool could answer."""
    fitting = [
        test
        for _, test in distinct_examples(suite)
        if len(sorted_json(test.as_json())) <= MAX_TEST
        and not suite_checks(draft.model_copy(update={"examples": (test,)}), contract)
    ]
    said: defaultdict[str, set[str]] = defaultdict(set)
    for test in fitting:
        if test.check is None:
            said[sorted_json(test.arguments)].add(sorted_json([test.raises, test.expected]))
    return tuple(test for test in fitting if len(said[sorted_json(test.arguments)]) <= 1)


def heard_of(writer: int, suite: Sequence[Example], row: Row) -> Iterator[Heard]:
    """Results of a suite on the code, without calls that took too long and checks that are broken."""
    for number, (test, check, word) in enumerate(zip(suite, row.checks, row.outputs, strict=True), 1):
        broken = f"example {number}: the check raised"
        if check is not None and word not in SLOW and not check.message.startswith(broken):
            yield Heard(writer, test, check, word)


def _question(failing: Sequence[Heard]) -> str:
    """As in: for `""`: tests of 3 writers expect ValueError; yours returns `[]`."""
    expecting: defaultdict[str, set[int]] = defaultdict(set)
    told: dict[str, str] = {}
    for each in failing:
        wanted, done = _wanted_and_done(each)
        expecting[wanted].add(each.writer)
        told.setdefault(wanted, done)
    wanted = max(expecting, key=lambda each: len(expecting[each]))
    arguments = failing[0].test.arguments
    where = "a call without arguments"
    if arguments:
        named = [f"{name}=" if len(arguments) > 1 else "" for name in arguments]
        pairs = zip(named, arguments.values(), strict=True)
        where = _quoted(", ".join(f"{name}{brief(value, _ARGUMENTS)}" for name, value in pairs), _ARGUMENTS)
    count = len(expecting[wanted])
    writers = "1 writer" if count == 1 else f"{count} writers"
    line = f"for {where}: tests of {writers} expect {wanted}; yours {told[wanted]}"
    return clipped(line, MAX_LINE)


def _wanted_and_done(each: Heard) -> tuple[str, str]:
    test, (kind, _, rest) = each.test, each.word.partition(" ")
    if kind == "value" and "expected" in test.outcome_fields:  # both around the place where they differ
        found = difference(each.check.expected, each.check.got, _VALUE, 8)
        return _quoted(found.expected, _VALUE + 2), f"returns {_quoted(found.got, _VALUE + 2)}"
    done = f"ends as {each.word!r}"
    if kind in ("error", "raises"):
        done = f"raises {_visible(rest.split()[0], _VALUE)}"
    elif kind in ("value", "wrong"):
        done = f"returns {_quoted(brief(each.check.got, _VALUE - 1), _VALUE)}"
    if test.raises is not None:
        return _visible(test.raises, _VALUE), done
    return _quoted(brief(test.expected, _VALUE - 1) if test.check is None else test.check, _VALUE), done


def _quoted(text: str, limit: int) -> str:
    return f"`{_visible(text, limit)}`"


def _visible(text: str, limit: int) -> str:
    """One line without what a reader does not see, and without the quotes around it."""
    seen = HIDDEN.sub("\ufffd", " ".join(text.replace("`", "'").split()))
    return clipped("".join(each if each.isprintable() else "\ufffd" for each in seen), limit)
