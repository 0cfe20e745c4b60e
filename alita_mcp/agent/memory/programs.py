"""Programs that answered a task: with parameters for what the task says, with their runs, and as a proposed tool.

Pure: finished programs and known ones in, programs out.
"""

from __future__ import annotations

import ast
import builtins
import json
import keyword
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from alita_mcp.agent.interface import FinishedRun, Program, ToolProposal
from alita_mcp.agent.memory.likeness import task_similarity
from alita_mcp.library.words.stems import stems
from alita_mcp.runs.code_run import RecordedRun
from alita_mcp.runs.history.annotations import NoFunctionError
from alita_mcp.runs.history.function import function_of
from alita_mcp.runs.history.program import program_of, slot_name
from alita_mcp.values import Value

MOST_RUNS, LONGEST_CODE, LONGEST_VALUE = 10, 20_000, 200
PROPOSED_AFTER = 2
"""A program is proposed as a tool once it has answered so many tasks with different values."""
FILE_CHARACTERS = 4_000
"""Of the files that one example of a proposed tool holds."""
_COMMON_NUMBERS = (0, 1, 2, -1)
"""Stand for too many things in a program to be what the task means."""


class ProgramRun(Value):
    """A task that a program answered."""

    run: str
    task: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    output: Any = None
    """What `run_code` gave: `result`, and `stdout` where it printed; None where that was too long to keep."""
    files: dict[str, str] = Field(default_factory=dict)
    """Texts of the files that it read; empty for long ones, and for those that are no text."""

    @property
    def general_task(self) -> str:
        """The task without the values of the arguments."""
        said = sorted(filter(None, map(_pattern, self.arguments.values())), key=len, reverse=True)
        return re.sub("|".join(said), " ", self.task, flags=re.IGNORECASE) if said else self.task


class KeptProgram(Value):
    """A program that answered one or more tasks."""

    key: str
    """Equal for programs that differ in literals, layout and comments alone, and take the same arguments."""
    code: str
    """Whole; each argument of a run is a variable of it."""
    packages: tuple[str, ...] = ()
    runs: tuple[ProgramRun, ...] = Field(min_length=1)
    """The newest last."""

    def similarity(self, task: str) -> float:
        """Similarity of a task to those that it answered, 0 to 1."""
        return max(task_similarity(task, said) for run in self.runs for said in (run.task, run.general_task))


def parametrise(task: str, program: Program) -> Program:
    """The program with each literal that the task says as an argument, under a name that the program leaves free."""
    found = program_of(program.code)
    if found is None or "__future__" in program.code:
        return program
    keys: set[str] = set()
    hints = {slot_name(number): slot.hint for number, slot in enumerate(found.slots)}
    taken = {*dir(builtins), *program.arguments}
    for node in ast.walk(ast.Module([*found.body], [])):
        taken.update(str(getattr(node, field, "")) for field in ("id", "arg", "name", "asname"))
        match node:
            case ast.Dict():  # its keys name what comes out, not what goes in
                keys |= {key.id for key in node.keys if isinstance(key, ast.Name)}
            case ast.Subscript(slice=ast.Name(id=name)) if name in hints:
                hints[name] = "column"
    lines = [line.encode() for line in program.code.split("\n")]
    names: dict[str, str] = {}
    arguments: dict[str, Any] = {}
    places: list[tuple[int, int, int, str]] = []
    for number, slot in enumerate(found.slots):
        node, value, pattern = slot.node, slot.value, _pattern(slot.value)
        is_said = pattern and value not in _COMMON_NUMBERS and re.search(pattern, task, re.IGNORECASE)
        if not is_said or slot_name(number) in keys or node.lineno != node.end_lineno:
            continue
        source = lines[node.lineno - 1][node.col_offset : node.end_col_offset]
        try:  # the place of a text inside an f-string is not that of a literal
            if ast.literal_eval(source.decode()) != value:
                continue
        except (SyntaxError, ValueError):
            continue
        mark = json.dumps(value)
        if mark not in names:
            names[mark] = _free_name(value, hints[slot_name(number)], taken)
            taken.add(names[mark])
            arguments[names[mark]] = value
        places.append((node.lineno - 1, node.col_offset, node.end_col_offset or 0, names[mark]))
    for at, start, end, name in sorted(places, reverse=True):
        lines[at] = lines[at][:start] + name.encode() + lines[at][end:]
    code = b"\n".join(lines).decode()
    return program.model_copy(update={"code": code, "arguments": {**arguments, **program.arguments}})


def learn(finished: FinishedRun, known: Sequence[KeptProgram], files: Mapping[str, str]) -> KeptProgram:
    """The program that a solved task leaves: a new one, or a known one with one more run.

    `files` are the texts of the task's files, empty for long ones.
    """
    program = finished.programs[-1]
    # A known one that was called by its name has its parameters already.
    if all(each.code != program.code for each in known):
        program = parametrise(finished.task, program)
    values = program.arguments.values()
    read = {name: text for name, text in files.items() if name in program.code or name in values}
    last = ProgramRun(
        run=finished.run, task=finished.task, arguments=program.arguments, output=program.result,
        files=read,
    )  # fmt: skip
    found = program_of(program.code)
    key = json.dumps([found.key if found else program.code, sorted(program.arguments)])
    new = KeptProgram(key=key, code=program.code, packages=program.packages, runs=(last,))
    same = next((each for each in known if each.key == new.key), None)
    if same is None:
        return new
    others = [each for each in same.runs if each.arguments != last.arguments]
    return new.model_copy(update={"runs": (*others, last)[-MOST_RUNS:]})


def propose_tool(program: KeptProgram) -> ToolProposal | None:
    """The program as a tool with its runs as examples; None where it answered one task, or makes no function.

    A tool has no files: it takes the text of each file that the program reads, and writes it where the program looks.
    """
    if len(program.runs) < PROPOSED_AFTER or program.packages:
        return None
    files = program.runs[0].files
    readers = [name for name, value in program.runs[0].arguments.items() if str(value) in files]
    lines = [f"with open({name}, 'w') as _file:\n    _file.write({name}_text)" for name in readers]
    recorded = []
    for number, run in enumerate(program.runs):
        texts = {f"{name}_text": run.files.get(str(run.arguments.get(name)), "") for name in readers}
        if run.output is None or len(readers) < len(run.files) or not all(texts.values()):
            return None
        output = run.output if isinstance(run.output, dict) else {"result": run.output}
        recorded.append(
            RecordedRun(
                id=f"{number:032x}", at="", code="\n".join([*lines, program.code]), result=output.get("result"),
                result_kind="json", stdout=output.get("stdout", ""), arguments={**run.arguments, **texts},
            )
        )  # fmt: skip
    name, task = _tool_name(program), program.runs[-1].task
    description = f"Answers tasks such as: {' '.join(task.split())[:300]}"
    try:
        found = function_of(recorded, name, description)
    except NoFunctionError:
        return None
    examples = tuple(each.as_json() for each in found.calls)
    return ToolProposal(name=name, description=description, code=found.code, examples=examples)


def _tool_name(program: KeptProgram) -> str:
    """A name of the words that all tasks of a program share."""
    tasks = [" ".join(re.findall(r"[a-z]{3,20}", run.general_task.lower())) for run in program.runs]
    common = set[str]().union(*map(stems, tasks)).intersection(*map(stems, tasks))
    shared = [word for word in dict.fromkeys(tasks[-1].split()) if common.intersection(stems(word))]
    name = "_".join(shared[:4]) or "like_tasks"
    return f"answer_{name}" if re.search(rf"\b{name}\b", program.code) or keyword.iskeyword(name) else name


def _pattern(value: Any) -> str:
    """A pattern of what a task would call a value, which neither begins nor ends within a word; empty for none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float) or not stems(str(value)):
        return ""
    text = re.escape(value if isinstance(value, str) else f"{value:,}")
    text = text if isinstance(value, str) else text.replace(",", ",?")
    before, after = r"(?<![\w.])" * bool(re.match(r"\w", text)), r"(?!\w)" * bool(re.search(r"\w\Z", text))
    return f"{before}{text}{after}" if len(text) <= LONGEST_VALUE else ""


def _free_name(value: Any, hint: str, taken: set[str]) -> str:
    wanted = re.sub(r"\W+", "_", hint).strip("_").lower()
    if isinstance(value, str) and re.search(r"\w\.[A-Za-z]\w{0,6}$", value):
        wanted = "file_name"
    elif not re.match("[a-z]", wanted):
        wanted = "text" if isinstance(value, str) else "number"
    names = (wanted, f"{wanted}_value", *(f"{wanted}_{number}" for number in range(2, 1_000)))
    return next(name for name in names if name not in taken and not keyword.iskeyword(name))
