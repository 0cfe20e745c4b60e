"""What a person sees while a task is worked on: lines, and on a terminal a spinner and questions; all on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from alita_mcp.cli.output import Output, quote_lines
from alita_mcp.cli.tasks.text import event_line, plan_lines
from alita_mcp.texts import one_line
from alita_mcp.unseen import spell_hidden

if TYPE_CHECKING:
    from rich.status import Status

    from alita_mcp.agent.values import TaskEvent

MAX_QUESTION = 2_000
MAX_LINE_BYTES = 65_536


class TaskView:
    """Shows the events of one task, and asks the person at the terminal."""

    def __init__(self, output: Output, status: Status | None = None) -> None:
        """`status` is the spinner of a terminal, under the lines."""
        self._output = output
        self._status = status
        self._asking = anyio.Lock()
        self._steps = 0
        self._cost_usd = 0.0

    async def show_stage(self, stage: str) -> None:
        """Shows what is prepared for the task."""
        if self._status is not None:
            self._status.update(spell_hidden(one_line(stage)))
        else:
            self._output.note(f"solve: {one_line(stage)}")

    async def show_event(self, event: TaskEvent) -> None:
        """Shows what happened; the end is printed as the result instead."""
        text = one_line(event.text)
        # 1. The end. 2. Without a terminal, a line for each event but the start of a step.
        # 3. On a terminal, a step is in the spinner's line until it ends, and all else is a line above it.
        if event.kind == "finished":
            return
        if self._status is None:
            if event.kind != "step_started":
                self._output.note(f"solve: {event_line(event)}")
        elif event.kind == "step_started":
            spent = f", {self._cost_usd:.4f} USD" if self._cost_usd else ""
            end = f"({self._steps} steps{spent}; Ctrl-C stops with the best answer so far)"
            self._status.update(f"{spell_hidden(text)}  {end}")
        elif event.kind == "step":
            self._steps += 1
            self._cost_usd += read_number(event.data, "cost_usd")
            seconds = read_number(event.data, "seconds")
            mark, took = (
                "✗" if event.data.get("ok") is False else "✓",
                f"  {seconds:.1f} s" if seconds else "",
            )
            self._output.note(f"{mark} {text}{took}")
        else:
            self._output.note(event_line(event))
            for line in plan_lines(event.data) if event.kind == "plan" else ():
                self._output.note(f"  {line}")

    def close(self) -> None:
        """Leaves the terminal to what follows."""
        if self._status is not None:
            self._status.stop()

    async def ask(self, question: str) -> str | None:
        """The person's answer to the agent's question; None for an empty line."""
        async with self._asking:
            self.close()
            try:
                self._output.note(f"The agent asks:\n{quote_lines(question[:MAX_QUESTION])}")
                # What was typed before the question was seen is no answer to it.
                with suppress(ImportError, OSError):
                    import termios

                    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
                print("answer (empty: none): ", end="", file=sys.stderr, flush=True)
                return (await read_line()).strip() or None
            finally:
                if self._status is not None:
                    self._status.start()


async def read_line() -> str:
    """A line from the terminal; waiting for it can be cancelled, which a thread that reads it could not be."""
    if os.name == "nt":
        return await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True)
    handle = sys.stdin.fileno()
    await anyio.wait_readable(handle)
    return os.read(handle, MAX_LINE_BYTES).decode("utf-8", "replace")


def read_number(data: dict[str, Any], name: str) -> float:
    """A number from the data of an event; 0 for anything else."""
    found = data.get(name)
    return float(found) if isinstance(found, int | float) and found >= 0 else 0.0


@contextmanager
def open_view(output: Output) -> Iterator[TaskView]:
    """The view that fits where stderr goes."""
    if sys.stderr.isatty():
        from rich.console import Console

        console = Console(stderr=True, markup=False, highlight=False, emoji=False)
        if not console.is_dumb_terminal:
            with console.status("") as status:
                yield TaskView(output, status)
            return
    yield TaskView(output)
