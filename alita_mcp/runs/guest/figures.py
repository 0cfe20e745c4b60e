"""Pictures that code shows: figures, images and SVG text become PNG and SVG, scaled down where too large.

Standard library only; `alita_tool` draws them.
"""

from __future__ import annotations

import base64
import sys
import warnings
from typing import Any

MAX_FIGURES = 8
MAX_BYTES = 1_000_000
MAX_TEXT = 20_000
"""A longer text that is a picture is not shown as the result too."""
PNG = b"\x89PNG\r\n\x1a\n"
_SUPPORTED = "PNG and SVG of at most 1 MB"
_shown: list[dict[str, str]] = []
_notes: list[str] = []
_too_many: list[str] = []


def display(*values: Any) -> None:
    """Shows pictures and prints the `repr` of all else, as in notebooks."""
    for value in values:
        if not show(value):
            sys.stdout.write(f"{value!r}\n")


def show(value: Any) -> bool:
    """Keeps a picture of a value for the reply; returns whether the value has one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default")  # a script that makes errors of them still gets its figure
            drawn = vars(type(sys.modules["alita_tool"]))["_draw"](value)
    except BaseException as problem:  # whatever a stranger's drawing raises
        _notes.append(f"A figure is left out: drawing it raised {type(problem).__name__}.")
        return True
    if drawn is None:
        return False
    name = type(value).__name__[:80]
    if len(_shown) >= MAX_FIGURES:
        _too_many.append(name)
    elif len(drawn) > MAX_BYTES:
        _notes.append(f"A figure ({name}) of {len(drawn):,} bytes is left out: shown are {_SUPPORTED}.")
    elif drawn.startswith(PNG):
        _shown.append({"mime": "image/png", "data": base64.b64encode(drawn).decode()})
    else:
        _shown.append({"mime": "image/svg+xml", "data": drawn.decode()})
    return True


def show_open() -> None:
    """Shows the figures that pyplot holds open, and closes them."""
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    for number in pyplot.get_fignums() if pyplot is not None else ():
        show(pyplot.figure(number))
        pyplot.close(number)


def take_figures(value: Any) -> dict[str, Any]:
    """Takes out the pictures shown so far, the result among them; `value` replaces a result that reads badly."""
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    is_open = pyplot is not None and any(value is pyplot.figure(number) for number in pyplot.get_fignums())
    show_open()
    answer: dict[str, Any] = {}
    is_image = type(value) is sys.modules["alita_tool"].Image
    is_long = isinstance(value, bytes) or (isinstance(value, str) and len(value) > MAX_TEXT)
    if not is_open and show(value) and (is_image or is_long):
        text = repr(value) if is_image else f"<{type(value).__name__} of a picture, {len(value):,} long>"
        answer = {"kind": "repr", "value": text}
    notes = list(_notes)
    if _too_many:
        named = ", ".join(_too_many[:5]) + (", …" if len(_too_many) > 5 else "")
        notes.append(f"{len(_too_many)} more figures are left out, {MAX_FIGURES} are shown: {named}.")
    answer |= {"figures": list(_shown), "notes": notes}
    for each in (_shown, _notes, _too_many):
        each.clear()
    return answer
