"""Session of an agent: the Python programs that its steps really executed."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from alita_mcp.syntax import module_of
from alita_mcp.transcripts.interface import (
    Action,
    Answered,
    ApplyPatch,
    Began,
    Called,
    EditCell,
    EditFile,
    RunCell,
    ShellCommand,
    Step,
    WriteFile,
)
from alita_mcp.transcripts.shell import PythonRun, Shell
from alita_mcp.transcripts.values import ExecutedProgram
from alita_mcp.transcripts.written_files import WrittenFiles, located, without_magics

LONGEST = 200_000
"""Characters of a program, its arguments and its input."""
DEEPEST = 150
"""Levels of a program's syntax tree."""
MOST_OUTPUT = 4_000
"""Characters; what is longer is cut."""
MOST_OPEN = 1_000
ROOM_OF_OPEN = 32_000_000
"""Calls without an answer that are remembered, and their characters; older ones are given up."""
MOST_TOLD = 1_000_000
"""Programs that are remembered so that a copy of them in another file is not counted again."""


@dataclass(frozen=True)
class _Open:
    action: Action
    folder: str
    line: int
    at: str
    size: int


class Session:
    """Joins calls with their results: a call without a result, or a refused one, was not executed."""

    def __init__(self, agent: str, file: str, told: set[int], counts: Counter[str]) -> None:
        self._agent = agent
        self._file = file
        self._told = told
        self._counts = counts
        self._name = ""
        self._folder = ""
        self._open: dict[str, _Open] = {}
        self._size_of_open = 0
        self._files = WrittenFiles()
        self._shell = Shell(self._files)

    def take(self, step: Step, line: int, at: str) -> Iterator[ExecutedProgram]:
        """Takes one step; programs come out with the result of the call that ran them."""
        match step:
            case Began():
                self._name, self._folder = step.session or self._name, step.folder or self._folder
            case Called():
                self._begin(step, line, at)
            case Answered():
                yield from self._end(step)

    def close(self) -> None:
        """Counts the calls without a result."""
        for call in list(self._open):
            self._give_up(call)

    def _give_up(self, call: str) -> None:
        if isinstance(self._closed(call).action, ShellCommand | RunCell):
            self._counts["calls without an answer"] += 1

    def _begin(self, step: Called, line: int, at: str) -> None:
        if step.call in self._open:
            self._give_up(step.call)
        size = len(step.call) + len(str(step.action))
        self._open[step.call] = _Open(step.action, step.folder or self._folder, line, at, size)
        self._size_of_open += size
        while len(self._open) > MOST_OPEN or self._size_of_open > ROOM_OF_OPEN:
            self._give_up(next(iter(self._open)))

    def _closed(self, call: str) -> _Open:
        opened = self._open.pop(call)
        self._size_of_open -= opened.size
        return opened

    def _end(self, answer: Answered) -> Iterator[ExecutedProgram]:
        if answer.call not in self._open:
            return
        opened = self._closed(answer.call)
        if answer.refused:
            self._counts["calls that were refused"] += isinstance(opened.action, ShellCommand | RunCell)
            return
        for place, (run, alone) in enumerate(self._done(opened, answer)):
            if self._is_copy(hash((answer.call, place, run.code))):
                self._counts["programs that another file tells as well"] += 1
            elif len(run.code) + len(run.given) + sum(map(len, run.arguments)) > LONGEST:
                self._counts[f"programs of more than {LONGEST:,} characters"] += 1
            elif not is_python(run.code):
                self._counts["programs that do not parse"] += 1
            else:
                yield self._program(run, opened, answer, answer.output if alone else "")

    def _is_copy(self, told: int) -> bool:
        """Whether it was told before: the file of a resumed session begins with a copy of the one before."""
        if told in self._told:
            return True
        if len(self._told) < MOST_TOLD:
            self._told.add(told)
        return False

    def _done(self, opened: _Open, answer: Answered) -> list[tuple[PythonRun, bool]]:
        """What an action ran, and whether the answer's output is that of this program alone."""
        path = partial(located, folder=opened.folder)
        match opened.action:
            case ShellCommand(text):
                reading = self._shell.read(text, opened.folder)
                self._counts["programs whose text is not in the transcript"] += reading.unseen
                alone = len(reading.runs) == 1 and not reading.unseen and not reading.others
                return [(run, alone) for run in reading.runs]
            case RunCell(code):
                return [(PythonRun(without_magics(code)), True)]
            case _ if answer.failed:
                return []
            case WriteFile(name, text):
                self._files.write(path(name), text)
            case EditFile(name):
                self._files.edit(path(name), opened.action)
            case EditCell(name):
                self._files.edit_cell(path(name), opened.action)
            case ApplyPatch(text):
                self._files.patch(text, opened.folder)
        return []

    def _program(self, run: PythonRun, opened: _Open, answer: Answered, output: str) -> ExecutedProgram:
        return ExecutedProgram(
            code=run.code,
            arguments=run.arguments,
            given=run.given,
            complete=run.complete,
            output=output[:MOST_OUTPUT],
            failed=answer.failed,
            agent=self._agent,
            file=self._file,
            session=self._name,
            line=opened.line,
            at=opened.at,
        )


def is_python(code: str) -> bool:
    """Whether it parses, does anything, and is nested no deeper than all who read it later can follow."""
    try:
        level: list[ast.AST] = [*module_of(code).body]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    found = bool(level)
    for _ in range(DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return found and not level
