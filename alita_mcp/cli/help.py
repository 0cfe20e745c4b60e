"""Help of the commands: their docstrings, in the plain form of uv and cargo, with examples at the end."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cyclopts.help import HelpPanel
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.text import Text

EXAMPLES = "Examples:"
"""Heading of a docstring's last section."""


def list_examples(command: Callable[..., object]) -> list[str]:
    """The command lines in the docstring of a command."""
    _, _, examples = inspect.cleandoc(command.__doc__ or "").partition(f"{EXAMPLES}\n")
    return [line.strip() for line in examples.splitlines() if line.strip()]


def format_examples(lines: list[str]) -> str:
    """Command lines as the last section of a help page."""
    return "\n".join([EXAMPLES, *(f"  {line}" for line in lines)])


class HelpFormatter:
    """Prints each section of a help page as a title and indented, aligned rows."""

    def render_usage(self, console: Console, _options: ConsoleOptions, usage: Text) -> None:
        """Prints the first line of a page."""
        console.print("[bold green]Usage:[/]", usage, end="")
        console.print()

    def render_description(
        self, console: Console, _options: ConsoleOptions, description: RenderableType
    ) -> None:
        """Prints what the command does."""
        with console.capture() as captured:
            console.print(description)
        console.print(captured.get().strip(), markup=False, highlight=False)

    def __call__(self, console: Console, _options: ConsoleOptions, panel: HelpPanel) -> None:
        """Prints one section: commands, arguments or options."""
        from rich.table import Table
        from rich.text import Text

        if not panel.entries:
            return
        table = Table.grid(padding=(0, 2))
        for entry in panel.entries:
            # A positional parameter has a label; an option has names and the kind of its value.
            labels = entry.positional_label or " ".join(
                [", ".join([*entry.positive_shorts, *entry.positive_names]), entry.metavar or ""]
            )
            if entry.choices:
                entry.description.append(Text(f"({', '.join(entry.choices)})"))
            if entry.default is not None:
                entry.description.append(Text(f"(default: {entry.default})"))
            table.add_row(Text(f"  {labels.strip()}", "cyan"), entry.description)
        console.print()
        console.print(Text(f"{panel.title}:", "bold green"), table, sep="\n")
