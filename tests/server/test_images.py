"""Tools that return an image: what clients get, and what is no image."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest

from alita_mcp.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from alita_mcp.sandbox.runner.tool.pictures import size_of
from alita_mcp.settings import Settings
from tests.runs.pictures import png
from tests.sandbox.contract_calls import PICTURES
from tests.server.in_memory import Build, called, connected, refused, succeeded, text_of

TOOL: dict[str, Any] = {
    "name": "draw_bars",
    "description": "Draws a black picture of a width and a height.",
    "code": f'''{PICTURES}
def draw_bars(width: int, height: int) -> Image:
    """Draws a black picture.

    Args:
        width: Pixels.
        height: Pixels.
    """
    if min(width, height) < 1:
        raise ValueError("too small")
    return Image(_png(min(width, 50), min(height, 50)))
''',
    "tests": [
        {"arguments": {"width": 4, "height": 2}, "check": "result['width'] == 4 and result['height'] == 2"},
        {
            "arguments": {"width": 60, "height": 9},
            "check": "result['format'] == 'png' and result['width'] == 50",
        },
        {"arguments": {"width": 0, "height": 9}, "raises": "ValueError"},
    ],
}
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><rect width="40" height="20"/></svg>'


def svg_tool(svg: str = SVG) -> dict[str, Any]:
    code = f'''
import alita_tool

def draw_box(times: int) -> alita_tool.Image:
    """Draws a box.

    Args:
        times: How often.
    """
    return alita_tool.Image({svg!r}.replace("<rect", "<rect" + " " * times))
'''
    tests = [
        {"arguments": {"times": times}, "check": f"result['bytes'] == {len(svg) + times}"}
        for times in (1, 2, 3)
    ]
    return {"name": "draw_box", "description": "Draws a box as SVG.", "code": code, "tests": tests}


def of_kind(result: types.CallToolResult, kind: type) -> list[Any]:
    return [block for block in result.content if isinstance(block, kind)]


@pytest.mark.slow
@pytest.mark.both_eras
@pytest.mark.usefixtures("embedded")
async def test_an_image_is_shown_and_kept_as_a_file(build: Build, era: str) -> None:
    async with connected(build(), era) as client:
        assert (await succeeded(client, "synthesize_tool", **TOOL))["tests"] == "3/3"
        arguments = {"width": 3, "height": 2}
        direct = await called(client, "draw_bars", **arguments)
        through = await called(client, "run_tool", name="draw_bars", arguments=arguments)
        for result in (direct, through):
            assert not result.is_error, text_of(result)
            (shown,), (link,) = of_kind(result, types.ImageContent), of_kind(result, types.ResourceLink)
            image = base64.b64decode(shown.data)
            assert (shown.mime_type, size_of(image)) == ("image/png", (3, 2))
            fields = {"format": "png", "width": 3, "height": 2, "bytes": len(image), "uri": link.uri}
            assert result.structured_content == fields, "the image is sent once"
            assert base64.b64decode((await client.read_resource(link.uri)).contents[0].blob) == image
            assert link.uri in text_of(result)
        found = await succeeded(client, "search_capabilities", query="draw a black picture")
        assert "draw_bars(width: int, height: int) -> Image" in str(found)
        ran = await called(
            client, "run_code", code="from alita_tools import draw_bars\ndraw_bars(width=5, height=5)"
        )
        assert [base64.b64decode(each.data)[:4] for each in of_kind(ran, types.ImageContent)] == [b"\x89PNG"]
        assert ran.structured_content["result"].startswith("Image(png, 5 x 5, ")


@pytest.mark.usefixtures("embedded")
async def test_an_svg_that_nothing_draws_is_a_file(build: Build, era: str) -> None:
    async with connected(build(), era) as client:
        await succeeded(client, "synthesize_tool", **svg_tool())
        result = await called(client, "draw_box", times=1)
        assert of_kind(result, types.ImageContent) == []
        (link,) = of_kind(result, types.ResourceLink)
        assert (link.mime_type, link.name) == ("image/svg+xml", "draw_box.svg")
        assert "resvg-py" in text_of(result)


@pytest.mark.slow
@pytest.mark.bubblewrap
@pytest.mark.skipif(not Path("/usr/bin/rsvg-convert").exists(), reason="nothing draws SVG on this machine")
@pytest.mark.parametrize(
    ("svg", "size"),
    [
        (SVG, (40, 20)),
        (SVG.replace('"40"', '"400000"', 1).replace('"20"', '"200000"', 1), (1600, 800)),
        (SVG.replace("<rect", "<script>while(true);</script><rect"), (40, 20)),
        (SVG.replace("<rect", '<!-- <svg width="1" height="1"> --><rect'), (40, 20)),
        (SVG.replace("<rect", '<image href="file:///usr/share/x.png"/><rect'), None),
        (SVG.replace("<rect", '<image xlink:href="http://example.org/x.png"/><rect'), None),
        (SVG.replace("<svg", '<!DOCTYPE svg [<!ENTITY a "b">]><svg'), None),
        (SVG.replace("</svg>", ""), None),
    ],
    ids=["plain", "huge", "script", "two sizes", "file", "host", "entity", "broken"],
)
async def test_an_svg_is_drawn_in_the_sandbox_unless_it_refers_outside(
    bubblewrap: None, settings: Settings, build: Build, svg: str, size: tuple[int, int] | None
) -> None:
    async with connected(build(sandbox=BubblewrapSandbox(settings)), "modern") as client:
        await succeeded(client, "synthesize_tool", **svg_tool(svg))
        result = await called(client, "draw_box", times=1)
        assert not result.is_error
        shown = [size_of(base64.b64decode(each.data)) for each in of_kind(result, types.ImageContent)]
        assert shown == ([size] if size else [])
        assert [link.name for link in of_kind(result, types.ResourceLink)] == [
            "draw_box.svg",
            "draw_box.png",
        ][: 1 + len(shown)]


FORGED = {
    "format": "png",
    "width": 3,
    "height": 2,
    "bytes": len(png()),
    "data": base64.b64encode(png()).decode(),
}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"width": 4}, "3 x 2 pixels"),
        ({"bytes": 1}, "unlike what is said"),
        ({"data": "!"}, "cannot be decoded"),
        ({"data": base64.b64encode(b"GIF89a").decode()}, "neither a PNG nor an SVG"),
        ({"data": base64.b64encode(png()[:-1]).decode()}, "damaged or cut off"),
        ({"data": base64.b64encode(png(9_000, 1)).decode()}, "9,000 x 1 pixels"),
        ({"format": "svg", "data": "<!DOCTYPE html><script>1</script>"}, "neither"),
        ({"format": "gif"}, "not an image"),
    ],
    ids=str,
)
async def test_what_code_says_of_an_image_is_checked(
    build: Build, changes: dict[str, Any], problem: str
) -> None:
    code = f'''
from alita_tool import Image

def forge_image(forge: bool = False) -> Image:
    """Forges an image.

    Args:
        forge: Whether to.
    """
    return {FORGED | changes!r} if forge else {FORGED!r}
'''
    tests = [
        {"arguments": arguments, "check": "result['width'] == 3"} for arguments in ({}, {"forge": False})
    ]
    request = {"name": "forge_image", "description": "Forges an image.", "code": code}
    async with connected(build(), "modern") as client:
        forging = {"arguments": {"forge": True}, "check": "result is not None"}
        assert problem in await refused(client, "synthesize_tool", **request, tests=[*tests, forging])


async def test_an_image_is_a_whole_result(build: Build) -> None:
    code = (
        TOOL["code"]
        .replace("-> Image", "-> list[Image]")
        .replace("return Image(_png(", "return [Image(_png(")
    )
    async with connected(build(), "modern") as client:
        said = await refused(client, "synthesize_tool", **TOOL | {"code": code.replace("50)))", "50)))]")})
        assert "An image can be a whole result" in said
