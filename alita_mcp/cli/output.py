"""Output of a command: its result goes to stdout, everything else to stderr."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from alita_mcp.errors import AlitaError, Cancelled, UsageError
from alita_mcp.unseen import HIDDEN, code_listing, spell_hidden

if TYPE_CHECKING:
    from alita_mcp.app.doctor import Finding
    from alita_mcp.progress import ReportStage

MAX_COLUMNS = 100
"""Widest row of quoted text and code, on however wide a terminal."""


class Output:
    """The two streams of one command; with `--json`, stdout holds JSON instead of text."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self._has_result = False

    def print_result(self, value: object, text: str) -> None:
        """Prints the result: `value` with `--json`, else `text`."""
        self._has_result = True
        if self.as_json:
            from pydantic_core import to_jsonable_python

            print(escape_json(json.dumps(to_jsonable_python(value), ensure_ascii=False, indent=2)))
        elif text:
            print(spell_hidden(text))

    def print_error(self, error: AlitaError) -> None:
        """Prints an error on stderr; with `--json` also on stdout, unless that holds the one document already."""
        self.note(f"error: {error.message}")
        if error.hint:
            self.note(f"hint: {error.hint}")
        if self.as_json and not self._has_result:
            found = {"type": type(error).__name__, "message": error.message, "hint": error.hint}
            self.print_result({"error": {**found, "exit_status": error.exit_status}}, "")

    def note(self, line: str) -> None:
        """Prints a line about the work on stderr."""
        print(spell_hidden(line), file=sys.stderr, flush=True)

    def hint(self, line: str) -> None:
        """Prints a line for a person on stderr; nothing with `--json`, whose value says it already."""
        if not self.as_json:
            self.note(line)

    async def confirm(self, question: str) -> bool:
        """Asks a question at the terminal; whether the answer is yes."""
        import anyio.to_thread

        self.note(f"{question} [y/N] ")
        answer = await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True)
        return answer.strip().lower() in ("y", "yes")

    def ask(
        self, question: str, default: str = "", *, choices: list[str] | None = None, unseen: bool = False
    ) -> str:
        """The line that a person types after a question, or the default where it is empty.

        Raises:
            Cancelled: there is no more input.
        """
        import getpass

        from rich.console import Console
        from rich.prompt import Prompt
        from rich.text import Text

        plain = Console(stderr=True, color_system=None)
        try:
            if unseen:
                return getpass.getpass(f"{question} (not shown): ", stream=sys.stderr)
            return Prompt(
                Text(spell_hidden(question)), console=plain, choices=choices, show_default=bool(default)
            )(default=default).strip()
        except EOFError:
            raise Cancelled("The input ended before every question was answered.") from None

    def ask_yes(self, question: str, *, default: bool = True) -> bool:
        """Whether a person says yes to a question."""
        return self.ask(question, "y" if default else "n", choices=["y", "n"]) == "y"

    @contextmanager
    def progress(self, title: str) -> Iterator[ReportStage]:
        """Shows long work: a spinner on a terminal, one plain line a stage otherwise."""
        if not sys.stderr.isatty():

            async def note_stage(stage: str) -> None:
                self.note(f"{title}: {stage}")

            yield note_stage
            return
        from rich.console import Console

        with Console(stderr=True, markup=False).status(title) as status:

            async def update_status(stage: str) -> None:
                status.update(f"{title}: {spell_hidden(stage)}")

            yield update_status


Printer = Annotated[Output, Parameter(parse=False)]
"""A parameter that takes the command's output, not a word of the command line."""


def has_terminal() -> bool:
    """Whether a person sees what is asked and can answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def require_terminal(hint: str) -> None:
    """Returns where a person can be asked.

    Raises:
        UsageError: there is no terminal; `hint` says how to go on without one.
    """
    if not has_terminal():
        raise UsageError("This needs a terminal to ask on, and there is none.", hint=hint)


def terminal_columns() -> int:
    """Width of rows of texts and code that strangers wrote, so that the terminal breaks none of them."""
    return max(20, min(shutil.get_terminal_size().columns, MAX_COLUMNS))


def quote_lines(text: str) -> str:
    """A stranger's text with a bar before each line, wrapped so that no part of it can pass for ours."""
    lines = spell_hidden(text).expandtabs().split("\n")
    room = terminal_columns() - len("  | ")
    rows = [
        part
        for line in lines
        for part in wrap(line, room if line.isascii() else room // 2, drop_whitespace=False) or [""]
    ]
    return "\n".join(f"  | {row}".rstrip() for row in rows)


def list_code(code: str) -> str:
    """Code as numbered lines that fit the terminal; see `code_listing`."""
    return "\n".join(code_listing(code, terminal_columns()))


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


def finding_lines(finding: Finding) -> list[str]:
    """A finding and its details with a mark each; `→` marks what to do next."""
    marks = {"ok": "✓", "problem": "✗", "absent": "-", "note": " "}
    lines = [f"{marks[finding.state]} {finding.text}"]
    lines += [f"    {line}" for detail in finding.details for line in finding_lines(detail)]
    return [*lines, f"    → {finding.advice}"] if finding.advice else lines


def compact_json(value: object) -> str:
    """A value as one line of JSON."""
    from pydantic_core import to_jsonable_python

    return escape_json(json.dumps(to_jsonable_python(value), ensure_ascii=False))


def escape_json(text: str) -> str:
    """The same JSON with hidden characters as escapes, so that it steers no terminal and can always be encoded."""
    return HIDDEN.sub(lambda found: json.dumps(found.group())[1:-1], text)
