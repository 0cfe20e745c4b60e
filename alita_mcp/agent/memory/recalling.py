"""What a model reads of its memory: at most 400 tokens, and the values that its calls name by reference."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from alita_mcp.agent.interface import Recalled, RecalledValue
from alita_mcp.agent.memory.profiles import FileProfile
from alita_mcp.agent.memory.programs import KeptProgram, propose_tool
from alita_mcp.library.words.stems import stems
from alita_mcp.research.values import Source
from alita_mcp.texts import clip, map_texts, one_line

MOST_BYTES = 1_300
"""About 400 tokens of code and fewer of prose; a letter beyond ASCII counts for two or three."""
LEAST_SNIPPET = 100


def render(
    task: str,
    program: KeptProgram | None,
    files: Mapping[str, FileProfile],
    ids: Sequence[str],
) -> Recalled:
    """A program and profiles as lines; the program's code gets the room that they leave."""
    values: list[RecalledValue] = []
    lines: list[str] = []

    def room() -> int:
        return MOST_BYTES - sum(len(line.encode()) + 1 for line in lines)

    # 1. How to call the program again and, once it has answered several tasks, how to keep it as a tool.
    if program is not None:
        last = program.runs[-1]
        value: dict[str, Any] = {"code": program.code, "arguments": last.arguments}
        arguments = json.dumps(map_texts(last.arguments, lambda text: clip(text, 60)), ensure_ascii=False)
        packages = f", packages={json.dumps(program.packages)}" if program.packages else ""
        call = f'run_code(code={{"$ref": "m1/code"}}, arguments={arguments}{packages})'
        answered = _cut(repr(one_line(last.task, 150)), 200)
        lines.append(
            f"m1 is a program that answered {answered}. If this task is of that kind, call it at "
            f"once with the values of this task: {_cut(call, 350)}"
        )
        if (tool := propose_tool(program)) is not None:
            value |= {"tool": tool.code, "examples": list(tool.examples)}
            lines.append(
                f'It answered {len(program.runs)} tasks; to keep it as a tool: build_tool(name="{tool.name}", '
                'code={"$ref": "m1/tool"}, examples={"$ref": "m1/examples"}).'
            )
        values.append(RecalledValue(name="m1", value=value))
    # 2. The files of this content, with what was found in them.
    for name, file in files.items():
        said = [file.profile] if file.profile else []
        said += [f"Noted before: {'; '.join(file.notes)}"] if file.notes else []
        if file.text:
            source = Source(url=f"file:{name}")
            values.append(RecalledValue(name=f"m{len(values) + 1}", value=file.text, source=source))
            said.append(f"Its text is {values[-1].name}, which says: {_best_lines(file.text, task)}")
        lines += [_cut(f"{name}: {' '.join(said)}", min(500, room()))] if said else []
    # 3. The code itself.
    if program is not None and room() >= LEAST_SNIPPET:
        lines.append(_cut(f"m1/code:\n{program.code}", room()))
    return Recalled(text="\n".join(filter(None, lines)), values=tuple(values), ids=tuple(ids))


def _best_lines(text: str, task: str) -> str:
    """The three lines of a text that share most words with a task, from its first 2,000."""
    lines = [line.strip() for line in text.splitlines()[:2_000]]
    asked = {*stems(task)}
    shared = [len(asked.intersection(stems(line[:500]))) for line in lines]
    best = max(range(len(lines)), key=lambda place: shared[place])
    return one_line(" / ".join(filter(None, lines[max(0, best - 1) : best + 2])), 300)


def _cut(text: str, most: int) -> str:
    """A text cut to so many bytes of UTF-8."""
    data = text.encode()
    return text if len(data) <= most else data[: max(0, most - 3)].decode(errors="ignore") + "…" * (most > 3)
