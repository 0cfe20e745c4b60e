"""`alita run`: one call of one tool, as a client would make it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alita_mcp.cli.application import open_app
from alita_mcp.cli.output import Printer
from alita_mcp.cli.parameters import STDIN, Version
from alita_mcp.errors import AlitaError, InvalidArguments, UsageError

if TYPE_CHECKING:
    from alita_mcp.values import Schema


async def run(
    name: str,
    arguments: list[str] | None = None,
    /,
    *,
    version: Version | None = None,
    out: Path | None = None,
    output: Printer,
) -> int:
    """Call a tool.

    Args:
        name: The tool.
        arguments: Pairs such as text=hi or text=@FILE, or one JSON object; - reads the object from stdin.
        version: Another version than the current one.
        out: Write the result to this file: an image as it is, an SVG drawn where the name ends in .png.

    Examples:
        alita run text_statistics text="Hello, World"
        alita run text_statistics text=@README.md
        alita run calculate '{"expression": "1/3 + 1/6"}'
    """
    import anyio

    from alita_mcp.verification.images import decode_image

    # known before the tool runs: what it returns would be lost, and what it does would be done
    place = anyio.Path(out or ".")
    if out is not None and (await place.is_dir() or not await place.parent.is_dir()):
        raise UsageError(f"Cannot write {str(out)!r}.", hint="Name a file in a folder that exists.")
    async with open_app() as app:
        stored = await app.library.read(name, version)
        values = read_arguments(arguments or (), stored.manifest.input_schema)
        with output.progress(name) as on_stage:
            await on_stage("running")
            async with app.preparation.report(on_stage):
                answer = await app.run_tool(name, values, version, on_stage=on_stage)
        data = decode_image(answer.result.value) if answer.is_image else b""
        is_svg = answer.is_image and answer.result.value["format"] == "svg"
        if out is not None and out.suffix.lower() == ".png" and is_svg:
            data = await app.calls.draw_svg(answer) or b""
            if not data:
                hint = f"Name a file that ends in .svg: --out {out.with_suffix('.svg')}."
                raise UsageError(f"Nothing here draws the SVG that {name} returned.", hint=hint)
    result = answer.result
    for stream in (result.stdout, result.stderr):
        if stream:
            output.note(stream.rstrip("\n"))
    if result.ok:
        value = result.value
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
        if answer.is_image:
            text = "Image: {format}, {width} x {height} pixels, {bytes:,} bytes.".format(**value)
            text += "" if out else " Write it with --out FILE."
        if out is not None:
            await place.write_bytes(data or text.encode())
            text = f"Wrote {out}."
        output.print_result(answer.structured_content, text)
        return 0
    # A tool that fails is a result: with --json, the result of the run itself.
    output.note(f"error: {name} failed: {result.error_type or result.status}: {result.message}")
    for line in result.trace:
        output.note(f"  {line}")
    output.print_result(result, "")
    return AlitaError.exit_status


def read_arguments(words: Sequence[str], schema: Schema, folder: Path | None = None) -> dict[str, Any]:
    """Arguments from the words of a command line.

    Args:
        words: One JSON object, `STDIN`, or `key=value` pairs; a value for a text parameter is taken as it is, any
            other is read as JSON where it is JSON.
        schema: The tool's input schema.
        folder: Where `@FILE` is looked for; the current folder by default.

    Raises:
        InvalidArguments: the words are none of these, or a file cannot be read.
    """
    if not words:
        return {}
    if len(words) == 1 and (words[0] == STDIN or words[0].lstrip().startswith("{")):
        text = sys.stdin.read() if words[0] == STDIN else words[0]
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as broken:
            raise InvalidArguments(f"The arguments are not valid JSON: {broken}.") from broken
        if not isinstance(found, dict):
            raise InvalidArguments(f"The arguments must be a JSON object, not {text[:40]!r}.")
        return found
    arguments: dict[str, Any] = {}
    properties = schema.get("properties", {})
    for word in words:
        key, equals, text = word.partition("=")
        if not equals or not key:
            raise InvalidArguments(
                f"{word!r} is neither JSON nor key=value.",
                hint="""As in: alita run NAME text=hi, or alita run NAME '{"text": "hi"}'""",
            )
        if key in arguments:
            raise InvalidArguments(f"{key!r} is given twice.")
        if text.startswith("@"):
            path = (folder or Path()) / text[1:]
            try:
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as unreadable:
                raise InvalidArguments(f"{path} cannot be read as text: {unreadable}.") from unreadable
        arguments[key] = text
        if properties.get(key, {}).get("type") != "string":
            with suppress(ValueError, RecursionError):  # no JSON: a plain word
                arguments[key] = json.loads(text)
    return arguments
