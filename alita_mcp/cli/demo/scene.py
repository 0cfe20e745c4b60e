"""Printer of the demo: numbered steps with requests and results, coloured on a terminal, plain elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NoReturn

from rich.console import Console
from rich.text import Text

from alita_mcp.cli.output import printable
from alita_mcp.errors import AlitaError


class DemoFailed(AlitaError):
    """A step did not do what it says."""


class Scene:
    """Prints the steps and keeps them for `--json`."""

    def __init__(self, *, steps: int, to_stderr: bool = False) -> None:
        self._console = Console(file=sys.stderr if to_stderr else sys.stdout, highlight=False)
        self._total = steps
        self.steps: list[dict[str, Any]] = []

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Prints the title of a step and records its lines; a step that ends without an error is marked as passed."""
        started = time.monotonic()
        told: list[str] = []
        self.steps.append({"title": title, "told": told, "ok": False})
        self._line(f"[{len(self.steps)}/{self._total}] {title}", "bold cyan")
        yield
        self.steps[-1] |= {"ok": True, "seconds": round(time.monotonic() - started, 2)}

    def ask(self, text: str) -> None:
        """Prints a request of the client."""
        self._tell(f"→ {text}", "")

    def show_answer(self, text: str) -> None:
        """Prints a result."""
        self._tell(f"← {text}", "green")

    def show_event(self, text: str) -> None:
        """Prints an event between request and result, such as a verification gate."""
        self._tell(f"· {text}", "dim")

    def show_refusal(self, text: str) -> None:
        """Prints an expected refusal."""
        self._tell(f"✗ {text}", "yellow")

    def end(self, text: str) -> None:
        """Prints the last line."""
        self._line(text, "bold green")

    @contextmanager
    def wait(self, text: str) -> Iterator[None]:
        """A spinner where there is a terminal."""
        with self._console.status(text) if self._console.is_terminal else nullcontext():
            yield

    def _tell(self, text: str, style: str) -> None:
        self.steps[-1]["told"].append(text)
        self._line(f"      {text}", style)

    def _line(self, text: str, style: str) -> None:
        self._console.print(Text(printable(text), style=style), soft_wrap=True)


def expect(claim: bool, otherwise: str) -> None:
    """Ends the demo with status 1 when a claim does not hold."""
    if not claim:
        fail(otherwise)


def fail(what: str) -> NoReturn:
    """Ends the demo with status 1."""
    raise DemoFailed(f"This step did not do what it says: {what}")
