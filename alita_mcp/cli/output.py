"""Output of a command: its result goes to stdout, all else to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from textwrap import wrap
from typing import TYPE_CHECKING

from pydantic_core import to_jsonable_python

from alita_mcp.errors import UsageError
from alita_mcp.progress import ReportStage

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 76

_INVISIBLE = {
    code: f"\\u{code:04x}"
    for span in ((0x00, 0x20), (0x7F, 0xA0), (0x200B, 0x2010), (0x2028, 0x202F), (0x2060, 0x2070))
    for code in range(*span)
    if chr(code) not in "\n\t"
}


class Output:
    """One command's two streams; with `--json` the result is a JSON document instead of text."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json

    def result(self, value: object, text: str) -> None:
        """Prints what was asked for: `value` as JSON, or `text` for a person."""
        if self.as_json:
            print(json.dumps(to_jsonable_python(value), ensure_ascii=False, indent=2))
        elif text:
            print(printable(text))

    def drawn(self, value: object, text: str, draw: Callable[[Console], None]) -> None:
        """Prints what was asked for: as JSON, as `draw` shows it on a terminal, or as plain text."""
        if self.as_json or not sys.stdout.isatty():
            self.result(value, text)
            return
        from rich.console import Console

        draw(Console(markup=False, highlight=False, emoji=False))

    def note(self, line: str) -> None:
        """Prints a line about the work; never part of the result."""
        print(printable(line), file=sys.stderr, flush=True)

    async def agreed(self, question: str) -> bool:
        """Asks a question at the terminal; whether the person says yes."""
        import anyio.to_thread

        self.note(question)
        said = await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True)
        return said.strip().lower() in ("y", "yes")

    @contextmanager
    def progress(self, title: str) -> Iterator[ReportStage]:
        """Shows long work: a spinner on a terminal, one plain line a stage otherwise."""
        if not sys.stderr.isatty():

            async def tell(stage: str) -> None:
                self.note(f"{title}: {stage}")

            yield tell
            return
        from rich.console import Console

        with Console(stderr=True, markup=False).status(title) as status:

            async def show(stage: str) -> None:
                status.update(f"{title}: {printable(stage)}")

            yield show


def require_terminal(what_then: str, hint: str) -> None:
    """Refuses to go on where no terminal is to ask on; `what_then` ends the message.

    Raises:
        UsageError: there is none.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(f"There is no terminal to ask on{what_then}", hint=hint)


def printable(text: str) -> str:
    """The text with control, bidirectional and zero-width characters spelt out: strangers wrote some of it."""
    return text.translate(_INVISIBLE)


def quoted(text: str) -> str:
    """A stranger's text, each line behind a bar and none longer than a terminal, so that none looks like ours."""
    lines = [
        part
        for line in text.splitlines()
        for part in wrap(line.expandtabs(), WIDTH, drop_whitespace=False) or [""]
    ]
    return "\n".join(f"  | {line}".rstrip() for line in lines)


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows as left-aligned columns; the last one is as long as it is."""
    if not rows:
        return ""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]) - 1)]
    lines = (
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]])
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def compact(value: object) -> str:
    """A value as one line of JSON."""
    return json.dumps(to_jsonable_python(value), ensure_ascii=False)
