"""Picture of a tool being made, drawn from a recorded run of `alita demo`.

`python docs/pictures/tool_born.py` draws `tool_born.svg` from `tool_born.json`; with `--record` it first runs the demo
(the real server, a real client, the embedded sandbox) and records what was said.
"""

from __future__ import annotations

import json
import subprocess
import sys
from html import escape
from pathlib import Path
from typing import Any

RECORDING = Path(__file__).with_suffix(".json")
PICTURE = Path(__file__).with_suffix(".svg")
SHOWN = (
    "It looks for a tool, and there is none",
    "It writes one, with tests, and hands it in",
    "The server tells its clients that the list has changed",
    "It calls the new tool like any other",
    "The server is stopped and started again",
    "Another day, it asks in other words and finds it",
)
"""Titles of the demo's steps that the picture shows, in this order."""

WIDTH, MARGIN, LINE = 860, 28, 22
CLASSES = {"→": "asks", "←": "gets", "·": "sees", "✗": "refuses"}
SECONDS_A_STEP = 1.4
STYLE = """\
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #1f2328; white-space: pre }
.back { fill: #f6f8fa; stroke: #d0d7de }
.title { font-weight: 700; fill: #0969da }
.gets { fill: #1a7f37 }
.sees, .time { fill: #59636e }
.time { text-anchor: end }
.gate { fill: #dafbe1; stroke: #1a7f37 }
.step { animation: appear .4s both }
@keyframes appear { from { opacity: 0 } }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .back { fill: #0d1117; stroke: #30363d }
  .title { fill: #4493f8 }
  .gets { fill: #3fb950 }
  .sees, .time { fill: #9198a1 }
  .gate { fill: #12261e; stroke: #3fb950 }
}
@media (prefers-reduced-motion: reduce) { .step { animation: none } }
"""


def record() -> dict[str, Any]:
    """Runs the demo and keeps the steps that are shown.

    Raises:
        CalledProcessError: a step of the demo did not do what it says.
    """
    command = [sys.executable, "-m", "alita_mcp.cli.main", "demo", "--json"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    steps = {step["title"]: step for step in json.loads(done.stdout)["steps"]}
    kept = [{name: steps[title][name] for name in ("title", "told", "seconds")} for title in SHOWN]
    return {"command": "alita demo", "steps": kept}


def draw(recording: dict[str, Any]) -> str:
    """The SVG of a recording; every line of text in it was recorded."""
    top, drawn = 2 * LINE + 6, []
    for number, step in enumerate(recording["steps"]):
        lines, height = _step(step, top)
        delay = f' style="animation-delay: {number * SECONDS_A_STEP:.1f}s"'
        drawn += [f'<g class="step"{delay}>', *lines, "</g>"]
        top += height
    height = top + LINE // 2 - 8
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
            "<title>A tool is asked for, made, proved, announced, called and found again</title>",
            f"<style>\n{STYLE}</style>",
            f'<rect class="back" x="1" y="1" width="{WIDTH - 2}" height="{height - 2}" rx="10"/>',
            *drawn,
            "</svg>",
            "",
        ]
    )


def _step(step: dict[str, Any], top: int) -> tuple[list[str], int]:
    """A step's elements and its height; lines that name gates stand in one row."""
    time = f'<text class="time" x="{WIDTH - MARGIN}" y="{top}">{step["seconds"]:.1f} s</text>'
    lines = [_text("title", MARGIN, top, step["title"]), time]
    y = top
    gates = [said for said in step["told"] if said.startswith("· ") and " " not in said[2:]]
    for said in step["told"]:
        if said in gates[1:]:
            continue
        y += LINE
        if said in gates:
            lines += _gates([gate[2:] for gate in gates], y)
        else:
            lines.append(_text(CLASSES[said[0]], MARGIN + 18, y, said))
    return lines, y + LINE + 14 - top


def _gates(names: list[str], y: int) -> list[str]:
    x, lines = MARGIN + 18, []
    for name in names:
        width = round(8.43 * len(name)) + 16
        lines.append(f'<rect class="gate" x="{x}" y="{y - 14}" width="{width}" height="19" rx="9"/>')
        lines.append(_text("gets", x + 8, y, name))
        x += width + 8
    return lines


def _text(kind: str, x: int, y: int, words: str) -> str:
    return f'<text class="{kind}" x="{x}" y="{y}">{escape(words, quote=False)}</text>'


def main() -> None:
    """Draws, after recording where that is asked for."""
    if sys.argv[1:] == ["--record"]:
        RECORDING.write_text(json.dumps(record(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PICTURE.write_text(draw(json.loads(RECORDING.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
