"""A run as its page shows it; models, tools and the web wrote most of its texts."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from pydantic import ValidationError

from alita_mcp.agent.planning.plans import Plan
from alita_mcp.agent.values import RunProgress, Step
from alita_mcp.research.values import Source
from alita_mcp.toolsmith.jobs.person_questions import Question

SVG = "image/svg+xml"
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", SVG})
_FENCED = re.compile(r"^```[^\n]*\n(.*?)^```\s*?$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class RunView:
    """What the page of a run shows besides its progress."""

    progress: RunProgress
    steps: tuple[Step, ...]
    """Those that have ended."""
    open_steps: tuple[str, ...]
    """Number and tool of each of the others."""
    plan: Plan | None
    """The plan that is followed."""
    questions: tuple[Question, ...]
    """Those that can be answered here."""
    is_here: bool
    """Whether this process works on it, so that it can be stopped."""

    @property
    def pictures(self) -> list[str]:
        """Names of the files that are pictures."""
        return [name for name in self.progress.files if picture_type(name)]

    @property
    def sources(self) -> list[tuple[Source, bool]]:
        """What the answer rests on, and whether a link may lead there."""
        sources = self.progress.solution.sources if self.progress.solution else ()
        return [(source, is_web_address(source.url)) for source in sources]

    @property
    def answer(self) -> Iterator[tuple[bool, str]]:
        """Parts of the answer, see `answer_parts`."""
        return answer_parts(self.progress.solution.answer if self.progress.solution else "")


def view_run(progress: RunProgress, questions: tuple[Question, ...], *, is_here: bool) -> RunView:
    """The view of a run; what its record has damaged is left out."""
    steps: dict[object, Step] = {}
    begun: dict[object, str] = {}
    plan: Plan | None = None
    for event in progress.events:
        with suppress(ValidationError):
            if event.kind == "step_started":
                begun[event.data.get("number")] = event.text
            elif event.kind == "step":
                step = Step.model_validate(event.data)
                steps[step.number] = step
            elif event.kind == "plan":
                plan = Plan.model_validate(event.data.get("chosen"))
    return RunView(
        progress=progress,
        steps=tuple(steps.values()),
        open_steps=tuple(text for number, text in begun.items() if number not in steps),
        plan=plan,
        questions=questions,
        is_here=is_here,
    )


def answer_parts(text: str) -> Iterator[tuple[bool, str]]:
    """Paragraphs of an answer, and what stands between fences; whether each is code. No other markup counts."""
    for place, part in enumerate(_FENCED.split(text)):
        if place % 2:
            yield True, part.rstrip("\n")
        else:
            yield from ((False, each.strip()) for each in re.split(r"\n\s*\n", part) if each.strip())


def is_web_address(url: str) -> bool:
    """Whether a link may lead there: over HTTP and nowhere else."""
    with suppress(ValueError):
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    return False


def picture_type(name: str) -> str:
    """The media type of a file that is shown as a picture; empty for all others."""
    found = mimetypes.guess_type(name, strict=False)[0]
    return found if found in PICTURES else ""
