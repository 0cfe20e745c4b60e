"""Pictures that code shows: figures, images and SVG text become PNG and SVG, scaled down where too large.

Standard library only; figures and images are known by what they can do.
"""

from __future__ import annotations

import base64
import io
import sys
import warnings
from collections.abc import Callable
from typing import Any

MAX_FIGURES = 8
MAX_BYTES = 1_000_000
SCALED_TO_BYTES = 700_000
"""What can be drawn again is made so small: some clients take no answer of more than 1 MB, base64 included."""
MAX_PIXELS = 2_000
"""Along the longer side; models refuse much larger pictures."""
HALVINGS = 6
MAX_TEXT = 20_000
"""A longer text that is a picture is not shown as the result too."""
PNG = b"\x89PNG\r\n\x1a\n"
_MODES = {"1", "L", "LA", "P", "RGB", "RGBA", "I;16"}
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
            drawn = _draw(value)
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
    is_long = isinstance(value, bytes) or (isinstance(value, str) and len(value) > MAX_TEXT)
    if not is_open and show(value) and is_long:
        answer = {"kind": "repr", "value": f"<{type(value).__name__} of a picture, {len(value):,} long>"}
    notes = list(_notes)
    if _too_many:
        named = ", ".join(_too_many[:5]) + (", …" if len(_too_many) > 5 else "")
        notes.append(f"{len(_too_many)} more figures are left out, {MAX_FIGURES} are shown: {named}.")
    answer |= {"figures": list(_shown), "notes": notes}
    for each in (_shown, _notes, _too_many):
        each.clear()
    return answer


def _draw(value: Any) -> bytes | None:
    """A picture as PNG or SVG; None of what has none."""
    kind = type(value)
    if isinstance(value, bytes):
        return value if value.startswith(PNG) else None
    if isinstance(value, str):
        start = value[:4_000].lstrip()
        is_svg = start.startswith("<svg") or (
            start.startswith(("<?xml", "<!DOCTYPE svg")) and "<svg" in start
        )
        return value.encode() if is_svg else None
    if hasattr(kind, "savefig") and hasattr(kind, "get_size_inches"):
        return _draw_small_enough(_figure_drawer(value))
    if hasattr(kind, "thumbnail") and hasattr(kind, "convert"):
        return _draw_small_enough(lambda halved: _image_png(value, halved))
    for name in ("_repr_png_", "_repr_svg_"):
        drawn = getattr(value, name, None) and getattr(value, name)()
        drawn = drawn[0] if isinstance(drawn, tuple) and drawn else drawn
        if drawn is None:
            continue
        if (found := _draw(drawn) if type(drawn) in (bytes, str) else None) is None:
            raise TypeError(name)
        return found
    return None


def _draw_small_enough(draw: Callable[[int], bytes]) -> bytes:
    """Draws a picture, its sides halved until it is small enough."""
    drawn = b""
    for halved in range(HALVINGS):
        drawn = draw(halved)
        if len(drawn) <= SCALED_TO_BYTES:
            break
    return drawn


def _figure_drawer(figure: Any) -> Callable[[int], bytes]:
    """Draws a figure with all that stands beside its axes, unless that is far away."""
    width, height = figure.get_size_inches()
    around = figure.get_tightbbox()
    is_near = around.width < 2 * width and around.height < 2 * height
    longest = max(width, height, *((around.width, around.height) if is_near else ()))
    dpi = min(figure.dpi, MAX_PIXELS / longest)

    def draw(halved: int) -> bytes:
        png = io.BytesIO()
        figure.savefig(png, format="png", dpi=dpi / 2**halved, bbox_inches="tight" if is_near else None)
        return png.getvalue()

    return draw


def _image_png(image: Any, halved: int) -> bytes:
    side = min(MAX_PIXELS, max(image.size)) >> halved
    if image.mode not in _MODES:
        image = image.convert("RGB")
    if max(image.size) > side:
        image = image.copy()
        image.thumbnail((max(side, 1), max(side, 1)))
    png = io.BytesIO()
    image.save(png, "PNG")
    return png.getvalue()
