"""Look-up of a specification's open questions and libraries on the web before a tool is written.

Everything is asked once and side by side, within caps. What comes from elsewhere is data: it stands between fences in
every prompt. Where nothing can be looked up, the writers go on without, and the report says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import anyio

from alita_mcp.errors import AlitaError
from alita_mcp.progress import ReportStage
from alita_mcp.research.interface import WebAgent
from alita_mcp.research.reading.fencing import visible_text
from alita_mcp.research.texts import urls_in
from alita_mcp.research.values import Passage, ResearchLimits
from alita_mcp.toolsmith.package_check import PackageCheck, problem_of
from alita_mcp.toolsmith.specification import Specification
from alita_mcp.toolsmith.writing.prompts import MAX_NOTES, Brief
from alita_mcp.values import LookedUp, PackageFacts, Source

CAPS = ResearchLimits(pages=8, bytes=8_000_000, seconds=30.0, tokens=MAX_NOTES // 4)
"""Of all questions of one synthesis together."""
GRACE_S = 2.0
"""Longer than its cap the web agent may take to rank what it read."""
MAX_URLS = 2
MAX_SOURCES = 20
MAX_NOTE = 300


class LookupAnswer(NamedTuple):
    """Result of looking up one question."""

    question: str
    passages: tuple[Passage, ...] = ()
    problem: str = ""
    """Why there are no passages."""


class Lookup:
    """Looks up what a planner does not know."""

    def __init__(self, web: WebAgent | None, packages: PackageCheck, on_stage: ReportStage) -> None:
        self._web = web
        self._packages = packages
        self._on_stage = on_stage

    @property
    def is_possible(self) -> bool:
        """Whether a planner may ask."""
        return self._web is not None

    async def add_notes(self, brief: Brief, specification: Specification) -> Brief:
        """The brief with the specification and with what was found out; a planner that asks nothing costs nothing."""
        specified = brief.model_copy(update={"specification": specification})
        questions, libraries = specification.open_questions, specification.libraries
        if self._web is None or not (questions or libraries):
            return specified
        await self._on_stage("research")
        late = f"not answered within {CAPS.seconds:g} s"
        answers = [LookupAnswer(each, problem=late) for each in questions]
        checked: tuple[PackageFacts, ...] = ()
        silent: tuple[str, ...] = ()
        urls = tuple(dict.fromkeys(urls_in(brief.request)))[:MAX_URLS]
        async with anyio.create_task_group() as tasks:
            for number in range(len(questions)):
                tasks.start_soon(self._answer, self._web, answers, number, urls)
            checked, silent = await self._packages.facts(libraries)
        sources: dict[str, Source] = {}
        for passage in (passage for answer in answers for passage in answer.passages):
            url, title = visible_text(passage.url)[:500], visible_text(passage.title)[:200]
            sources.setdefault(passage.url, Source(url=url, title=title, retrieved_at=passage.retrieved_at))
        looked_up = LookedUp(
            sources=tuple(sources.values())[:MAX_SOURCES],
            packages=checked,
            notes=(
                *silent,
                *(
                    visible_text(f"{each.question[:MAX_NOTE]} - {each.problem}")
                    for each in answers
                    if each.problem
                ),
            ),
        )
        return specified.model_copy(update={"notes": in_words(answers, looked_up), "looked_up": looked_up})

    async def _answer(
        self, web: WebAgent, answers: list[LookupAnswer], number: int, urls: Sequence[str]
    ) -> None:
        """Puts what is found out about a question into its place, if that is in time."""
        question, count = answers[number].question, len(answers)
        # so that all together stay within the caps
        limits = ResearchLimits(
            pages=max(1, CAPS.pages // count),
            bytes=CAPS.bytes // count,
            seconds=CAPS.seconds,
            tokens=max(100, CAPS.tokens // count),
        )
        with anyio.move_on_after(limits.seconds + GRACE_S):
            try:
                found = await web.research(
                    question, limits, on_stage=self._on_stage, urls=urls[: limits.pages]
                )
            except AlitaError as failure:
                answers[number] = LookupAnswer(question, problem=failure.message[:MAX_NOTE])
                return
            why = [*(f"{each.backend}: {each.reason}" for each in found.failed), *found.unread]
            problem = "" if found.passages else f"nothing was found: {'; '.join(why)}".removesuffix(": ")
            answers[number] = LookupAnswer(question, found.passages, problem[:MAX_NOTE])


def in_words(answers: Sequence[LookupAnswer], looked_up: LookedUp) -> str:
    """Notes for writers, within `MAX_NOTES`: packages first, then each question with its passages."""
    parts = []
    for facts in looked_up.packages:
        check = problem_of(facts)
        if check is not None:
            parts.append(f"{check.message}. Do not use it.")
            continue
        about = ", ".join(filter(None, (facts.version, facts.released_at[:10], facts.licence[:60])))
        against = f" But: {'; '.join(facts.problems)[:MAX_NOTE]}" if facts.problems else ""
        parts.append(f"package {facts.name!r} exists ({about}): {facts.summary[:MAX_NOTE]}{against}")
    room = (MAX_NOTES - sum(map(len, parts))) // max(1, len(answers))
    for answered in answers:
        lines = [f"Question: {answered.question}"]
        lines += [f"{passage.url[:200]} says:\n{passage.text}" for passage in answered.passages]
        if not answered.passages:
            lines.append("Nothing was found.")
        parts.append("\n".join(lines)[: max(0, room - 1)])
    return visible_text("\n".join(parts))
