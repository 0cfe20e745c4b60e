"""Questions to a caller, from blind tests whose expectations differ from the code.

The values come from models and are shown to an agent: each is short and visible.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from alita_mcp.texts import clipped
from alita_mcp.unseen import HIDDEN
from alita_mcp.values import Agreement, Check, Draft, DroppedTest, Example, ToolContract
from alita_mcp.verification.agreement.matrix import Row
from alita_mcp.verification.comparison.difference import difference
from alita_mcp.verification.examples.judgement import SLOW
from alita_mcp.verification.examples.suite import distinct_examples, suite_checks
from alita_mcp.verification.findings import brief

MAX_TEST = 4_000
"""Longest test that is used, in characters of its JSON."""
MAX_QUESTIONS = 5
MAX_LINE = 200
AGREE = 2
"""So many writers, each by itself, make a test that one contradicts elsewhere an example."""
SHOWN_DROPPED = 10
_VALUE, _ARGUMENTS, _FEWER = 26, 60, 32
"""Characters of a value, of the arguments, and of these beside two expectations."""


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
        return json.dumps(self.test.arguments, sort_keys=True)


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
        failing = [number for number, each in enumerate(self.heard) if not each.check.passed]
        dropped = self.failing[:SHOWN_DROPPED]
        return Agreement(
            candidates=1,
            suites=self.suites,
            share=1.0,
            passed=round(1 - len(failing) / len(self.heard), 3),
            kept=tuple(number for number in range(len(self.heard)) if number not in failing),
            dropped=tuple(failing),
            contradicting=tuple(
                DroppedTest(test=each.test.as_json(), got=each.check.got) for each in dropped
            ),
        )


def usable(suite: Sequence[Example], draft: Draft, contract: ToolContract) -> tuple[Example, ...]:
    """A writer's tests that say one thing about a call that the tool could answer."""
    fitting = [
        test
        for _, test in distinct_examples(suite)
        if _size(test.as_json()) <= MAX_TEST
        and not suite_checks(draft.model_copy(update={"examples": (test,)}), contract)
    ]
    said: defaultdict[str, set[str]] = defaultdict(set)
    for test in fitting:
        if test.check is None:
            said[json.dumps(test.arguments, sort_keys=True)].add(json.dumps([test.raises, test.expected]))
    torn = {call for call, outcomes in said.items() if len(outcomes) > 1}
    return tuple(test for test in fitting if json.dumps(test.arguments, sort_keys=True) not in torn)


def heard_of(writer: int, suite: Sequence[Example], row: Row) -> Iterator[Heard]:
    """Results of a suite on the code, without calls that took too long and checks that are broken."""
    for number, (test, check, word) in enumerate(zip(suite, row.checks, row.outputs, strict=True), 1):
        broken = f"example {number}: the check raised"
        if check is not None and word not in SLOW and not check.message.startswith(broken):
            yield Heard(writer, test, check, word)


def questions_of(heard: Sequence[Heard]) -> tuple[str, ...]:
    """A line for each of the calls that most writers expect another outcome of."""
    calls: defaultdict[str, list[Heard]] = defaultdict(list)
    for each in heard:
        calls[each.call].append(each)
    doubted = [call for call in calls.values() if any(not each.check.passed for each in call)]
    doubted.sort(key=lambda call: -len({each.writer for each in call if not each.check.passed}))
    return tuple(_question(call) for call in doubted[:MAX_QUESTIONS])


def _question(call: Sequence[Heard]) -> str:
    """As in: for `""`: tests of 3 writers expect ValueError; yours returns `[]`."""
    expecting: defaultdict[str, set[int]] = defaultdict(set)
    for each in call:
        if not each.check.passed:
            expecting[_wanted(each)].add(each.writer)
    said = sorted(expecting.items(), key=lambda pair: -len(pair[1]))[:2]
    agreeing = {each.writer for each in call if each.check.passed}.difference(*expecting.values())
    first = next(each for each in call if not each.check.passed)
    where = _arguments(first.test.arguments, _ARGUMENTS if len(said) == 1 else _FEWER)
    others = "".join(f", of {len(writers)} {what}" for what, writers in said[1:])
    as_yours = f" ({len(agreeing)} as yours)" if agreeing else ""
    what, writers = said[0]
    line = f"for {where}: tests of {_counted(len(writers))} expect {what}{others}{as_yours}; yours {_done(first)}"
    return clipped(line, MAX_LINE)


def _wanted(each: Heard) -> str:
    test = each.test
    if test.raises is not None:
        return _visible(test.raises, _VALUE)
    if test.check is not None:
        return _quoted(test.check, _VALUE)
    if each.word.startswith("value "):
        return _quoted(_apart(each)[0], _VALUE + 2)
    return _quoted(brief(test.expected, _VALUE - 1), _VALUE)


def _done(each: Heard) -> str:
    kind, _, rest = each.word.partition(" ")
    if kind in ("error", "raises"):
        return f"raises {_visible(rest.split()[0], _VALUE)}"
    if kind == "value" and "expected" in each.test.outcome_fields:
        return f"returns {_quoted(_apart(each)[1], _VALUE + 2)}"
    if kind in ("value", "wrong"):
        return f"returns {_quoted(brief(each.check.got, _VALUE - 1), _VALUE)}"
    return f"ends as {each.word!r}"


def _apart(each: Heard) -> tuple[str, str]:
    """Both values around the place where they differ."""
    found = difference(each.check.expected, each.check.got, _VALUE, 8)
    return found.expected, found.got


def _arguments(arguments: dict[str, Any], limit: int) -> str:
    if not arguments:
        return "a call without arguments"
    if len(arguments) == 1:
        return _quoted(brief(next(iter(arguments.values())), limit), limit)
    return _quoted(", ".join(f"{name}={brief(value, limit)}" for name, value in arguments.items()), limit)


def _quoted(text: str, limit: int) -> str:
    return f"`{_visible(text, limit)}`"


def _visible(text: str, limit: int) -> str:
    """One line without what a reader does not see, and without the quotes around it."""
    seen = HIDDEN.sub("\ufffd", " ".join(text.replace("`", "'").split()))
    line = "".join(each if each.isprintable() else "\ufffd" for each in seen)
    return clipped(line, limit)


def _counted(writers: int) -> str:
    return "1 writer" if writers == 1 else f"{writers} writers"


def _size(value: Any) -> int:
    return len(json.dumps(value))
