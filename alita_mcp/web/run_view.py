"""A run as its page shows it; models, tools and the web wrote most of its texts."""

from __future__ import annotations

import mimetypes
from contextlib import suppress
from dataclasses import dataclass

from pydantic import ValidationError

from alita_mcp.agent.planning.plans import Plan
from alita_mcp.agent.values import RunProgress, Step

SVG = "image/svg+xml"
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", SVG})


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
    is_here: bool
    """Whether this process works on it, so that it can be stopped."""

    @property
    def pictures(self) -> list[str]:
        """Names of the files that are pictures."""
        return [name for name in self.progress.files if picture_type(name)]


def view_run(progress: RunProgress, *, is_here: bool) -> RunView:
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
        is_here=is_here,
    )


def picture_type(name: str) -> str:
    """The media type of a file that is shown as a picture; empty for all others."""
    found = mimetypes.guess_type(name, strict=False)[0]
    return found if found in PICTURES else ""
