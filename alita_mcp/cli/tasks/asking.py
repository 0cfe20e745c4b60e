"""Asks the person at the terminal: a question in, a line out; None where no terminal is or nothing is said."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

import anyio
import anyio.to_thread

from alita_mcp.cli.output import Output, quoted
from alita_mcp.cli.tasks.views import View

MAX_QUESTION = 2_000
MAX_LINE_BYTES = 65_536


def somebody_is_there() -> bool:
    """Whether a person sees what is asked and can answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


class TerminalPerson:
    """The person at the terminal; asked one thing at a time."""

    def __init__(self, view: View, output: Output) -> None:
        self._view = view
        self._output = output
        self._lock = anyio.Lock()

    async def ask(self, question: str) -> str | None:
        """The person's answer to the agent's question; None for an empty line."""
        return await self._asked(
            f"The agent asks:\n{quoted(question[:MAX_QUESTION])}", "answer (empty: none): "
        )

    async def agrees(self, question: str) -> bool:
        """Whether the person says yes."""
        return (await self._asked(question, "Go on? [y/N] ") or "").lower() in ("y", "yes")

    async def _asked(self, text: str, prompt: str) -> str | None:
        async with self._lock:
            with self._view.paused():
                self._output.note(text)
                _forget_what_was_typed()
                print(prompt, end="", file=sys.stderr, flush=True)
                return (await _line()).strip() or None


def _forget_what_was_typed() -> None:
    """What was typed before the question was seen is no answer to it."""
    with suppress(ImportError, OSError):
        import termios

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


async def _line() -> str:
    """A line from the terminal; may be cancelled, which a thread that reads it could not be."""
    if os.name == "nt":
        return await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True)
    handle = sys.stdin.fileno()
    await anyio.wait_readable(handle)
    return os.read(handle, MAX_LINE_BYTES).decode("utf-8", "replace")
