"""Check of the figures and files that the program of a run reports, which is untrusted."""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Sequence
from typing import NamedTuple

from alita_mcp.runs.code_run import Figure, WrittenFile

MAX_FIGURES = 8
MAX_FIGURE_BYTES = 1_000_000
MAX_SHOWN_BYTES = 750_000
"""Of all pictures in one answer: some clients take no answer of more than 1 MB, and these grow by a third in base64."""
MAX_SIDE = 8_000
"""Pixels; what the widest interface takes. A picture that it refuses stays in the conversation and breaks it."""
MAX_FILES = 20
MAX_FILE_BYTES = 16 << 20
"""Of all files of a run together."""
MAX_NAME = 300
MAX_NOTES = 20
MAX_NOTE = 500
PNG, SVG = "image/png", "image/svg+xml"
_ENDINGS = {PNG: "png", SVG: "svg"}
_PNG_HEADER = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
"""Signature and first chunk of a PNG; width and height follow."""
_SVG = re.compile(rb"\s*<(svg|\?xml|!DOCTYPE svg)")


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
        if problem := _figure_problem(mime, data):
            noted.append(f"Figure {number} is left out: {problem}.")
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


def _figure_problem(mime: str, data: bytes) -> str:
    """Why a figure cannot be passed on; empty where it can."""
    if mime not in _ENDINGS or not data or len(data) > MAX_FIGURE_BYTES:
        return "it is not a PNG or SVG of at most 1 MB"
    if mime == SVG:
        return "" if _SVG.match(data) else "it is not an SVG"
    if not data.startswith(_PNG_HEADER) or len(data) < len(_PNG_HEADER) + 8:
        return "it is not a PNG"
    width, height = struct.unpack_from(">II", data, len(_PNG_HEADER))
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
        return f"{width} x {height} pixels; at most {MAX_SIDE} a side are shown"
    return ""


def _decode(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return None
