"""The live view, questions and Ctrl-C on a real terminal."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal, on_terminal

pytest.importorskip("termios", reason="POSIX terminals")
pytestmark = pytest.mark.process

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
COLOURS = re.compile(r"\x1b\[[0-9;]*3[0-9][0-9;]*m")


Started = Callable[..., Terminal]


@pytest.fixture
def start(home: Path) -> Iterator[Started]:
    """Starts `alita solve` over a scripted flow."""
    with ExitStack() as opened:

        def begin(
            *words: str, rows: int = 24, columns: int = 80, term: str = "xterm-256color", **variables: str
        ) -> Terminal:
            sizes = ("NO_COLOR", "COLUMNS", "LINES")
            kept = {name: value for name, value in os.environ.items() if name not in sizes}
            environment = {**kept, "ALITA_HOME": str(home), **variables}
            program = ["-m", "tests.cli.tasks.on_terminal"]
            terminal = on_terminal(words, environment, program=program, rows=rows, columns=columns, term=term)
            return opened.enter_context(terminal)

        yield begin


def rows_of(shown: str) -> list[str]:
    return [ESCAPES.sub("", row) for row in re.split(r"[\r\n]+", shown)]


def test_the_live_view_shows_plan_steps_and_spending_and_leaves_the_answer_last(start: Started) -> None:
    status, shown = start("steps", "x", rows=20, columns=100).end()
    rows = [row.strip() for row in rows_of(shown)]
    assert status == 0
    assert "1. read_csv: the sales" in rows
    assert "✗ 40. run_code failed  1.5 s" in rows
    assert "✓ 39. run_code  1.5 s" in rows
    assert "(39 steps, 0.3900 USD; Ctrl-C stops" in shown
    assert all(len(row) <= 100 for row in rows if row.startswith(("✓", "✗", "plan: ")))
    assert COLOURS.search(shown)
    assert "\x1b[31mred" not in shown
    assert "<U+001B>[31mred and [bold]" in shown
    assert rows.index("42") > max(place for place, row in enumerate(rows) if "run_code" in row)


def test_without_colour_there_is_none_and_on_a_dumb_terminal_there_are_plain_lines(start: Started) -> None:
    _, shown = start("steps", "x", NO_COLOR="1").end()
    assert not COLOURS.search(shown)
    assert "✓ 39. run_code" in shown
    _, shown = start("asks", "x", "--yes", term="dumb").end()
    assert "\x1b[" not in shown
    assert "solve: started: Sum the sales." in shown


def test_a_question_stops_the_view_and_takes_the_line_that_is_typed_after_it(start: Started) -> None:
    terminal = start("asks", "x")
    terminal.until(b"answer (empty: none): ")
    terminal.type("2024\n")
    status, shown = terminal.end()
    assert status == 0
    assert "The agent asks:" in shown
    assert "  | Which year? a very long text with <U+001B>[31mred" in shown
    assert "answers: ['2024']" in shown


def test_an_empty_line_is_no_answer_and_with_yes_nothing_is_asked(start: Started) -> None:
    terminal = start("asks", "x")
    terminal.until(b"answer (empty: none): ")
    terminal.type("\n")
    assert "answers: [None]" in terminal.end()[1]
    assert "answers: [None]" in start("asks", "x", "--yes").end()[1]
