"""What a person sees while a task is worked on: a live view on a terminal, plain lines elsewhere; all on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from alita_mcp.cli.output import Output, printable
from alita_mcp.cli.tasks.progress import Progress, ShownStep
from alita_mcp.cli.tasks.words import event_line
from alita_mcp.texts import one_line

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from rich.console import Console, Group
    from rich.text import Text

    from alita_mcp.agent.values import TaskEvent

_MARKS = {"running": ("·", "yellow"), "ok": ("✓", "green"), "failed": ("✗", "red")}
_PLAIN_MARKS = {"running": "-", "ok": "+", "failed": "x"}
OTHER_ROWS = 6
"""Of the terminal, for all but plan and steps."""


class View(Protocol):
    """Display of the events of a task."""

    async def event(self, event: TaskEvent) -> None:
        """Something happened in the run."""
        ...

    async def stage(self, stage: str) -> None:
        """Something is prepared for it."""
        ...

    def paused(self) -> AbstractContextManager[None]:
        """While the block asks the person something."""
        ...

    def close(self) -> None:
        """Ends the display; what was shown last stays."""
        ...


class PlainView:
    """One line an event."""

    def __init__(self, output: Output) -> None:
        self._output = output

    async def event(self, event: TaskEvent) -> None:
        """Prints it, but for the end, which is printed as the result."""
        if event.kind not in ("step_started", "finished"):
            self._output.note(f"solve: {event_line(event)}")

    async def stage(self, stage: str) -> None:
        """Prints it."""
        self._output.note(f"solve: {one_line(stage)}")

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Nothing has to stop."""
        yield

    def close(self) -> None:
        """Nothing has to stop."""


class LiveView:
    """The plan, the steps with their states, and what was spent, redrawn in place."""

    def __init__(self, console: Console) -> None:
        from rich.live import Live

        self._console = console
        self._progress = Progress()
        self._started = time.monotonic()
        self._live = Live(
            console=console,
            get_renderable=lambda: drawn(self._progress, console, time.monotonic() - self._started),
            refresh_per_second=4,
            redirect_stdout=False,
        )

    @contextmanager
    def shown(self) -> Iterator[LiveView]:
        """The view, as long as the block lasts."""
        with self._live:
            yield self

    async def event(self, event: TaskEvent) -> None:
        """Shows it at the next redraw."""
        self._progress = self._progress.after(event)

    async def stage(self, stage: str) -> None:
        """Shows it until something else happens."""
        self._progress = self._progress.model_copy(update={"status": one_line(stage)})

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leaves the terminal to the block."""
        self._live.stop()
        try:
            yield
        finally:
            self._live.start(refresh=True)

    def close(self) -> None:
        """Leaves the terminal to what follows."""
        self._live.stop()


@contextmanager
def opened_view(output: Output) -> Iterator[View]:
    """The view that fits where stderr goes."""
    if sys.stderr.isatty():
        from rich.console import Console

        console = Console(stderr=True, markup=False, highlight=False, emoji=False)
        if not console.is_dumb_terminal:
            with LiveView(console).shown() as view:
                yield view
            return
    yield PlainView(output)


def drawn(progress: Progress, console: Console, seconds: float) -> Group:
    """A run's progress, no higher than the terminal: of the plan the beginning, of the steps the end."""
    from rich.console import Group
    from rich.text import Text

    rows = max(2, console.size.height - OTHER_ROWS)
    plan = progress.plan[: rows // 2]
    steps = progress.steps[-(rows - len(plan)) :]
    lines = (
        [Text(printable(progress.task), "bold", overflow="ellipsis", no_wrap=True)] if progress.task else []
    )
    if progress.plan_why:
        lines.append(_line(f"plan: {progress.plan_why}", "dim"))
    lines += [_line(f"  {line}", "dim") for line in plan]
    plain = console.encoding.lower() not in ("utf-8", "utf8")
    lines += [_step(step, plain=plain) for step in steps]
    if progress.status:
        lines.append(_line(progress.status))
    done = sum(step.state != "running" for step in progress.steps)
    cost = f", {progress.cost_usd:.4f} USD" if progress.cost_usd else ""
    lines.append(
        _line(f"{done} steps, {seconds:.0f} s{cost}; Ctrl-C stops with the best answer so far", "dim")
    )
    return Group(*lines)


def _line(text: str, style: str = "") -> Text:
    """A line that is cut at the edge, so that a view has as many rows as lines."""
    from rich.text import Text

    return Text(printable(text), style, overflow="ellipsis", no_wrap=True)


def _step(step: ShownStep, *, plain: bool) -> Text:
    mark, style = _MARKS[step.state]
    line = _line(f"{_PLAIN_MARKS[step.state] if plain else mark} ", style)
    line.append(printable(step.text), "")
    if step.seconds:
        line.append(f"  {step.seconds:.1f} s", "dim")
    return line
