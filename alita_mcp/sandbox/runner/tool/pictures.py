"""Pictures that code returns and shows, as PNG and SVG; used inside and outside.

Standard library only: figures and images are known by what they can do.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

MAX_BYTES = 750_000
"""Of a picture that a tool returns: some clients take no answer of more than 1 MB, and base64 adds a third."""
SCALED_TO_BYTES = 700_000
"""What can be drawn again is made so small."""
MAX_PIXELS = 2_000
"""Along the longer side of what can be drawn again; models refuse much larger pictures."""
MAX_SIDE = 8_000
"""Pixels; what the widest interface takes. A picture that it refuses stays in the conversation and breaks it."""
HALVINGS = 6
PNG = b"\x89PNG\r\n\x1a\n"
_MODES = {"1", "L", "LA", "P", "RGB", "RGBA", "I;16"}


class Image:
    """A picture that a tool returns, of PNG bytes, SVG text, a matplotlib figure or a Pillow image."""

    __dataclass_fields__ = dict.fromkeys(("format", "width", "height", "bytes", "data"))
    """Makes an object of it wherever a result is turned to JSON; `data` is base64, or the text of an SVG."""

    def __init__(self, picture: Any) -> None:
        drawn = draw(picture)
        if drawn is None:
            kinds = "PNG bytes, SVG text, a matplotlib figure or a Pillow image"
            raise TypeError(f"alita_tool.Image takes {kinds}, not a {type(picture).__name__}")
        if problem := problem_of(drawn):
            raise ValueError(f"alita_tool.Image: {problem}")
        import base64
        import dataclasses  # noqa: F401 - a sign that results may hold objects with fields

        self._drawn = drawn
        is_png = drawn.startswith(PNG)
        self.format = "png" if is_png else "svg"
        self.width, self.height = size_of(drawn)
        self.bytes = len(drawn)
        self.data = base64.b64encode(drawn).decode() if is_png else drawn.decode()

    def __repr__(self) -> str:
        """Its format and size; the picture itself is of no use to a reader."""
        return f"Image({self.format}, {self.width} x {self.height}, {self.bytes:,} bytes)"

    def _repr_png_(self) -> Any:
        return self._drawn if self.format == "png" else None

    def _repr_svg_(self) -> Any:
        return self.data if self.format == "svg" else None


def is_drawable(kind: type) -> bool:
    """Whether values of a class are figures as matplotlib's or images as Pillow's."""
    is_figure = hasattr(kind, "savefig") and hasattr(kind, "get_size_inches")
    return is_figure or (hasattr(kind, "thumbnail") and hasattr(kind, "convert"))


def draw(value: Any) -> bytes | None:
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
    if is_drawable(kind):
        is_figure = hasattr(kind, "savefig")
        return _draw_small_enough(
            _figure_drawer(value) if is_figure else lambda half: _image_png(value, half)
        )
    for name in ("_repr_png_", "_repr_svg_"):
        drawn = getattr(value, name, None) and getattr(value, name)()
        drawn = drawn[0] if isinstance(drawn, tuple) and drawn else drawn
        if drawn is None:
            continue
        if (found := draw(drawn) if type(drawn) in (bytes, str) else None) is None:
            raise TypeError(name)
        return found
    return None


def _draw_small_enough(draw_halved: Callable[[int], bytes]) -> bytes:
    """Draws a picture, its sides halved until it is small enough."""
    drawn = b""
    for halved in range(HALVINGS):
        drawn = draw_halved(halved)
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

    def draw_halved(halved: int) -> bytes:
        png = io.BytesIO()
        figure.savefig(png, format="png", dpi=dpi / 2**halved, bbox_inches="tight" if is_near else None)
        return png.getvalue()

    return draw_halved


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


def problem_of(picture: bytes, limit: int = MAX_BYTES) -> str:
    """Why a picture cannot be passed on; empty where it can. The pixels of a PNG are not decoded."""
    if not picture or len(picture) > limit:
        return f"a picture of {len(picture):,} bytes; at most {limit:,} are passed on"
    if not picture.startswith(PNG):
        is_svg = picture.lstrip()[:4] in (b"<svg", b"<?xm", b"<!DO") and b"<svg" in picture[:20_000]
        return "" if is_svg else "neither a PNG nor an SVG"
    import zlib

    # A viewer stops at the first chunk that is not whole; some refuse the conversation that holds such a picture.
    place, kinds = len(PNG), []
    while place < len(picture):
        kind, end = picture[place + 4 : place + 8], place + 8 + int.from_bytes(picture[place : place + 4])
        if picture[end : end + 4] != zlib.crc32(picture[place + 4 : end]).to_bytes(4):
            return "a PNG that is damaged or cut off"
        kinds.append(kind)
        place = end + 4
    if picture[8:16] != b"\0\0\0\rIHDR" or kinds[-1] != b"IEND" or b"IDAT" not in kinds:
        return "a PNG without a picture in it"
    width, height = size_of(picture)
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
        return f"a PNG of {width:,} x {height:,} pixels; at most {MAX_SIDE:,} a side are passed on"
    return ""


def size_of(picture: bytes) -> tuple[int, int]:
    """Width and height in pixels: of a PNG by its header, of an SVG as its first tag says, else 300 x 150 as in CSS."""
    if picture.startswith(PNG):
        return int.from_bytes(picture[16:20]), int.from_bytes(picture[20:24])
    import re

    tag = re.search(rb"<svg\b([^>]*)", picture[:20_000])
    words = dict(
        re.findall(rb"""\s(width|height|viewBox)\s*=\s*["']\s*([^"']{1,99})""", tag[1] if tag else b"")
    )
    box = [rb"300", rb"150", *words.get(b"viewBox", b"").replace(b",", b" ").split()][-2:]
    sides = [words.get(name, b"%") for name in (b"width", b"height")]
    numbers = [re.fullmatch(rb"(\d{1,6})(\.\d{1,9})?(px)?\s*", side) for side in sides]
    if not all(numbers):
        numbers = [re.fullmatch(rb"(\d{1,6})(\.\d{1,9})?", side) for side in box]
    width, height = (int(number[1]) if number else 0 for number in numbers)
    return (width, height) if width and height else (300, 150)
