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
    told = [note[:MAX_NOTE] for note in notes[:MAX_NOTES]]
    kept = _files(files, told)
    shown: list[Figure] = []
    room = MAX_SHOWN_BYTES
    for number, figure in enumerate(figures[:MAX_FIGURES], 1):
        mime, data = figure.get("mime", ""), _figure(figure)
        if problem := _figure_problem(mime, data):
            told.append(f"Figure {number} is left out: {problem}.")
        elif mime == PNG and len(data) <= room:
            room -= len(data)
            shown.append(Figure(mime_type=mime, data=figure["data"]))
        else:
            name = f"figure-{number}.{_ENDINGS[mime]}"
            kept.append(WrittenFile(name=_free(name, kept), data=data))
    return Outputs(tuple(shown), tuple(kept), tuple(told))


def _files(files: Sequence[dict[str, str]], told: list[str]) -> list[WrittenFile]:
    kept: list[WrittenFile] = []
    room = MAX_FILE_BYTES
    for file in files[:MAX_FILES]:
        name, data = file.get("name", ""), _decoded(file.get("data", ""))
        if not is_file_name(name) or data is None or len(data) > room or _free(name, kept) != name:
            told.append(f"The file {name[:80]!a} is left out: it is too large, or may not leave the sandbox.")
            continue
        room -= len(data)
        kept.append(WrittenFile(name=name, data=data))
    return kept


def _free(name: str, kept: Sequence[WrittenFile]) -> str:
    taken = {file.name for file in kept}
    while name in taken:
        name = f"_{name}"
    return name


def is_file_name(name: str) -> bool:
    """Whether a text can be the path of a file below a folder, and be shown."""
    parts = name.split("/")
    return 0 < len(name) <= MAX_NAME and name.isprintable() and not {"", ".", ".."} & {*parts}


def _figure(figure: dict[str, str]) -> bytes:
    """The bytes of a figure; none where they cannot be what it says."""
    text = figure.get("data", "")
    if len(text) > 2 * MAX_FIGURE_BYTES:
        return b""
    return text.encode() if figure.get("mime") == SVG else _decoded(text) or b""


def _figure_problem(mime: str, data: bytes) -> str:
    """Why a figure cannot be passed on; empty where it can."""
    if mime not in _ENDINGS or not data or len(data) > MAX_FIGURE_BYTES:
        return "it is no PNG or SVG of at most 1 MB"
    if mime == PNG:
        return _png_problem(data)
    return "" if _SVG.match(data) else "it is no SVG"


def _png_problem(data: bytes) -> str:
    if not data.startswith(_PNG_HEADER) or len(data) < len(_PNG_HEADER) + 8:
        return "it is no PNG"
    width, height = struct.unpack_from(">II", data, len(_PNG_HEADER))
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
        return f"{width} x {height} pixels, at most {MAX_SIDE} a side are shown"
    return ""


def _decoded(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return None
