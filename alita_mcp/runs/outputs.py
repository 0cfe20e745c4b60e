"""Check of the figures and files that the program of a run reports, which is untrusted."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import NamedTuple

from alita_mcp.runs.code_run import Figure, WrittenFile
from alita_mcp.sandbox.runner.tool.pictures import PNG as SIGNATURE
from alita_mcp.sandbox.runner.tool.pictures import problem_of

MAX_FIGURES = 8
MAX_FIGURE_BYTES = 1_000_000
MAX_SHOWN_BYTES = 750_000
"""Of all pictures in one answer: some clients take no answer of more than 1 MB, and these grow by a third in base64."""
MAX_FILES = 20
MAX_FILE_BYTES = 16 << 20
"""Of all files of a run together."""
MAX_NAME = 300
MAX_NOTES = 20
MAX_NOTE = 500
PNG, SVG = "image/png", "image/svg+xml"
_ENDINGS = {PNG: "png", SVG: "svg"}


class Outputs(NamedTuple):
    """Outputs of a run beside its result: figures, files and notes."""

    figures: tuple[Figure, ...]
    files: tuple[WrittenFile, ...]
    notes: tuple[str, ...]


def outputs_of(
    figures: Sequence[dict[str, str]], files: Sequence[dict[str, str]], notes: Sequence[str]
) -> Outputs:
    """Checks reported outputs; the program inside keeps to the limits, but a script may have replaced it.

    Figures that are not shown in the answer itself are files: SVG, which breaks the conversations of some clients
    when it is sent as a picture, and what is too much for one answer.
    """
    noted = [note[:MAX_NOTE] for note in notes[:MAX_NOTES]]
    kept: dict[str, bytes] = {}
    room = MAX_FILE_BYTES
    for file in files[:MAX_FILES]:
        name, content = file.get("name", ""), _decode(file.get("data", ""))
        if not is_file_name(name) or content is None or len(content) > room or name in kept:
            noted.append(
                f"The file {name[:80]!a} is left out: it is too large, or may not leave the sandbox."
            )
            continue
        room -= len(content)
        kept[name] = content
    shown: list[Figure] = []
    room = MAX_SHOWN_BYTES
    for number, figure in enumerate(figures[:MAX_FIGURES], 1):
        mime, text = figure.get("mime", ""), figure.get("data", "")
        # What is far too long is not even decoded: it has no bytes, which is a problem.
        text = text if len(text) <= 2 * MAX_FIGURE_BYTES else ""
        data = text.encode() if mime == SVG else _decode(text) or b""
        problem = problem_of(data, MAX_FIGURE_BYTES)
        if problem or mime != (PNG if data.startswith(SIGNATURE) else SVG):
            noted.append(f"Figure {number} is left out: {problem or f'not what is called {mime[:80]!a}'}.")
        elif mime == PNG and len(data) <= room:
            room -= len(data)
            shown.append(Figure(mime_type=mime, data=figure["data"]))
        else:
            name = f"figure-{number}.{_ENDINGS[mime]}"
            while name in kept:
                name = f"_{name}"
            kept[name] = data
    written = tuple(WrittenFile(name=name, data=data) for name, data in kept.items())
    return Outputs(tuple(shown), written, tuple(noted))


def is_file_name(name: str) -> bool:
    """Whether a text can be the path of a file below a folder, and be shown."""
    parts = name.split("/")
    return 0 < len(name) <= MAX_NAME and name.isprintable() and not {"", ".", ".."} & {*parts}


def _decode(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return None
