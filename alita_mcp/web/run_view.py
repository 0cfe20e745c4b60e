"""A run as its page shows it; models, tools and the web wrote most of its texts."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from alita_mcp.agent.actions.tools import AGENT_TOOLS
from alita_mcp.agent.values import RunProgress, RunSummary, Solution, Step
from alita_mcp.texts import clip, one_line
from alita_mcp.toolsmith.jobs.person_questions import Question

SHOWN_TEXT = 4_000
"""Characters of one argument or observation."""
PICTURES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "svg": "image/svg+xml",
}
"""Media types of the files that are shown as pictures, by the ends of their names."""
_FENCE = re.compile(r"\A<observation[^>\n]*>\n(.*)\n</observation>\Z", re.DOTALL)
"""Around what the model is shown of an observation."""
_BLOCK = re.compile(r"^```[^\n]*\n(.*?)^```\s*?$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class StepView:
    """One step as it is shown; one under way has its number and tool alone."""

    number: int
    tool: str
    status: str
    """`running`, `ok`, `failed` or `ended`: with its run, before it came to anything."""
    reason: str = ""
    code: str = ""
    arguments: str = ""
    observation: str = ""
    seconds: float = 0.0
    made: str = ""
    is_library_tool: bool = False


@dataclass(frozen=True)
class RunView:
    """All that the page of a run shows."""

    progress: RunProgress
    steps: tuple[StepView, ...]
    plan: tuple[tuple[str, str], ...]
    """Action and need of each step of the plan that is followed."""
    notes: tuple[str, ...]
    questions: tuple[Question, ...] = ()
    """Those that can be answered here."""
    is_here: bool = False
    """Whether this process works on it, so that it can be stopped."""

    @property
    def summary(self) -> RunSummary:
        """What is known of it from the first moment."""
        return self.progress.summary

    @property
    def solution(self) -> Solution | None:
        """How it ended."""
        return self.progress.solution

    @property
    def cost_usd(self) -> float | None:
        """What it cost so far; None where a price is not known."""
        steps = [event.data.get("cost_usd") for event in self.progress.events if event.kind == "step"]
        so_far = sum(each for each in steps if isinstance(each, int | float))
        return self.solution.cost if self.solution else so_far or None

    @property
    def tools_made(self) -> tuple[str, ...]:
        """Tools that it made so far."""
        made = self.solution.tools_made if self.solution else [step.made for step in self.steps]
        return tuple(dict.fromkeys(filter(None, made)))

    @property
    def tools_used(self) -> tuple[str, ...]:
        """Tools of the library that it called and had not made."""
        used = (
            self.solution.tools_used
            if self.solution
            else [step.tool for step in self.steps if step.is_library_tool and step.status == "ok"]
        )
        return tuple(name for name in dict.fromkeys(used) if name not in self.tools_made)

    @property
    def pictures(self) -> list[str]:
        """Names of the files that are pictures."""
        return [file.name for file in self.progress.files if picture_type(file.name)]

    @property
    def sources(self) -> list[tuple[str, str, str]]:
        """Address of each source where it is one of the web, its title, and its address as a text."""
        sources = self.solution.sources if self.solution else ()
        return [
            (source.url if is_web_address(source.url) else "", source.title or source.url, source.url)
            for source in sources
        ]

    @property
    def answer(self) -> list[tuple[str, str]]:
        """The answer in parts, see `answer_parts`."""
        return answer_parts(self.solution.answer if self.solution else "")


def view_run(
    progress: RunProgress, *, questions: tuple[Question, ...] = (), is_here: bool = False
) -> RunView:
    """The view of a run; `questions` are those that this process can pass answers to."""
    is_running = progress.summary.status == "running"
    steps: dict[int, StepView] = {}
    plan: tuple[tuple[str, str], ...] = ()
    notes: list[str] = []
    for event in progress.events:
        match event.kind:
            case "step_started" if isinstance(number := event.data.get("number"), int):
                tool = event.text.partition(". ")[2]
                steps.setdefault(number, StepView(number, tool, "running" if is_running else "ended"))
            case "step":
                try:
                    step = Step.model_validate(event.data)
                except ValidationError:
                    continue
                steps[step.number] = _view_step(step)
            case "plan":
                plan = _plan_steps(event.data)
            case "recalled" | "check":
                notes.append(one_line(event.text))
    return RunView(
        progress=progress,
        steps=tuple(steps[number] for number in sorted(steps)),
        plan=plan,
        notes=tuple(notes),
        questions=questions,
        is_here=is_here,
    )


def _view_step(step: Step) -> StepView:
    arguments = {name: value for name, value in step.arguments.items() if name != "reason"}
    code = arguments.pop("code") if isinstance(arguments.get("code"), str) else ""
    shown = {name: value for name, value in arguments.items() if value not in ({}, [], "")}
    return StepView(
        number=step.number,
        tool=step.tool,
        status="ok" if step.ok else "failed",
        reason=one_line(step.reason),
        code=clip(code, SHOWN_TEXT),
        arguments=clip(json.dumps(shown, indent=2, ensure_ascii=False), SHOWN_TEXT) if shown else "",
        observation=clip(_FENCE.sub(r"\1", step.observation), SHOWN_TEXT),
        seconds=step.seconds,
        made=step.made,
        is_library_tool=step.tool not in AGENT_TOOLS,
    )


def _plan_steps(data: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    chosen = data.get("chosen")
    steps = chosen.get("steps") if isinstance(chosen, dict) else None
    return tuple(
        (one_line(str(step.get("action", "")), 60), one_line(str(step.get("need", "")), 200))
        for step in (steps if isinstance(steps, list) else ())
        if isinstance(step, dict)
    )


def answer_parts(text: str) -> list[tuple[str, str]]:
    """An answer as parts, each `text` or `code`: paragraphs, and what stands between fences. No other markup counts."""
    parts: list[tuple[str, str]] = []
    place = 0
    for block in (*_BLOCK.finditer(text), None):
        prose = text[place : block.start() if block else len(text)]
        parts += [("text", each.strip()) for each in re.split(r"\n\s*\n", prose) if each.strip()]
        if block is not None:
            parts.append(("code", block[1].rstrip("\n")))
            place = block.end()
    return parts


def is_web_address(url: str) -> bool:
    """Whether a link may lead there: over HTTP and nowhere else."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


def picture_type(name: str) -> str:
    """The media type of a file that is shown as a picture; empty for all others."""
    return PICTURES.get(name.rpartition(".")[2].lower(), "")
