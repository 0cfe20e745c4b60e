"""Look-up of a specification's open questions on the web before a tool is written.

All are asked once and side by side, within caps. What comes from elsewhere is data: it stands between fences in every
prompt. Where nothing can be looked up, the writers go on without, and the report says so.
"""

from __future__ import annotations

from typing import NamedTuple

import anyio

from alita_mcp.errors import AlitaError
from alita_mcp.progress import ReportStage
from alita_mcp.research.reading.fencing import visible_text
from alita_mcp.research.texts import urls_in
from alita_mcp.research.values import Passage, ResearchLimits
from alita_mcp.research.web_agent import WebAgent
from alita_mcp.toolsmith.specification import Specification
from alita_mcp.toolsmith.writing.prompts import MAX_NOTES, Brief
from alita_mcp.values import LookedUp, Source

CAPS = ResearchLimits(pages=8, seconds=30.0, tokens=MAX_NOTES // 4)
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


async def add_notes(
    brief: Brief, specification: Specification, web: WebAgent | None, on_stage: ReportStage
) -> Brief:
    """The brief with the specification and with what was found out; a planner that asks nothing costs nothing."""
    specified = brief.model_copy(update={"specification": specification})
    questions = specification.open_questions
    if web is None or not questions:
        return specified
    await on_stage("research")
    late = f"not answered within {CAPS.seconds:g} s"
    answers = [LookupAnswer(each, problem=late) for each in questions]
    urls = tuple(dict.fromkeys(urls_in(brief.request)))[:MAX_URLS]
    # so that all together stay within the caps
    limits = ResearchLimits(
        pages=max(1, CAPS.pages // len(questions)),
        seconds=CAPS.seconds,
        tokens=max(100, CAPS.tokens // len(questions)),
    )

    async def answer(number: int, question: str) -> None:
        with anyio.move_on_after(limits.seconds + GRACE_S):
            try:
                found = await web.research(question, limits, on_stage=on_stage, urls=urls[: limits.pages])
            except AlitaError as failure:
                answers[number] = LookupAnswer(question, problem=failure.message[:MAX_NOTE])
                return
            why = [*(f"{each.backend}: {each.reason}" for each in found.failed), *found.unread]
            problem = "" if found.passages else f"nothing was found: {'; '.join(why)}".removesuffix(": ")
            answers[number] = LookupAnswer(question, found.passages, problem[:MAX_NOTE])

    async with anyio.create_task_group() as tasks:
        for number, question in enumerate(questions):
            tasks.start_soon(answer, number, question)
    sources: dict[str, Source] = {}
    for passage in (passage for each in answers for passage in each.passages):
        url, title = visible_text(passage.url)[:500], visible_text(passage.title)[:200]
        sources.setdefault(passage.url, Source(url=url, title=title, retrieved_at=passage.retrieved_at))
    unanswered = [each for each in answers if each.problem]
    looked_up = LookedUp(
        sources=tuple(sources.values())[:MAX_SOURCES],
        notes=tuple(visible_text(f"{each.question[:MAX_NOTE]} - {each.problem}") for each in unanswered),
    )
    # each question has an equal part of the room
    parts = []
    for each in answers:
        lines = [f"Question: {each.question}"]
        lines += [f"{passage.url[:200]} says:\n{passage.text}" for passage in each.passages]
        lines += [] if each.passages else ["Nothing was found."]
        parts.append("\n".join(lines)[: MAX_NOTES // len(answers) - 1])
    return specified.model_copy(update={"notes": visible_text("\n".join(parts)), "looked_up": looked_up})
