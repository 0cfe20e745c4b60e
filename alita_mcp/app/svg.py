"""Drawing of SVG images to PNG, in a sandbox: by what the tool's packages or the sandbox have for it."""

from __future__ import annotations

import base64
import re

from alita_mcp.app.version_verifier import VersionPlace
from alita_mcp.sandbox.interface import Job
from alita_mcp.sandbox.runner.tool.pictures import PNG, problem_of, size_of
from alita_mcp.values import Limits

LONGEST_SIDE = 1_600
_LIMITS = Limits(wall_seconds=10, cpu_seconds=10)
_REFERS_OUTSIDE = re.compile(
    rb"""(?:href|src)\s*=\s*["']?\s*(?!["'\s]|\#|data:)|url\(\s*["']?\s*(?!["'\s]|\#|data:)"""
    rb"""|@import|<!ENTITY|<\?xml-stylesheet""",
    re.IGNORECASE,
)
_PROGRAM = '''
import base64
import shutil
import subprocess

def draw_svg(svg, width, height):
    """The PNG in base64; empty where nothing draws SVG."""
    size, png = (str(width), str(height)), b""
    if resvg := _imported("resvg_py"):
        png = resvg.svg_to_bytes(svg_string=svg, width=width, height=height)
    elif cairosvg := _imported("cairosvg"):
        png = cairosvg.svg2png(bytestring=svg.encode(), output_width=width, output_height=height)
    elif shutil.which("rsvg-convert"):
        words = ["rsvg-convert", "--keep-aspect-ratio", "--width", size[0], "--height", size[1]]
        png = subprocess.run(words, input=svg.encode(), capture_output=True, check=True).stdout
    return base64.b64encode(png).decode()

def _imported(name):
    try:
        return __import__(name)
    except Exception:
        return None
'''


async def draw_svg(svg: bytes, place: VersionPlace) -> bytes | None:
    """The image as PNG; None where nothing draws it there, or it cannot be drawn.

    It is drawn without network or files of the host. One that refers to anything outside of itself is not drawn: what
    the sandbox has would come into the picture.

    Raises:
        SandboxError: the sandbox failed.
    """
    if _REFERS_OUTSIDE.search(svg):
        return None
    width, height = size_of(svg)
    scale = min(1.0, LONGEST_SIDE / max(width, height))
    sides = {"width": max(1, round(width * scale)), "height": max(1, round(height * scale))}
    job = Job(
        code=_PROGRAM,
        function="draw_svg",
        arguments={"svg": svg.decode(), **sides},
        environment=place.environment,
        limits=_LIMITS,
    )
    result = await place.sandbox.run(job)
    try:
        png = base64.b64decode(result.value, validate=True) if isinstance(result.value, str) else b""
    except ValueError:
        return None
    return png if png.startswith(PNG) and not problem_of(png) else None
