"""`alita run`: one call of one tool, as a client would make it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alita_mcp.cli.commands import Family, tool_version
from alita_mcp.cli.opened import opened_app
from alita_mcp.cli.output import Output
from alita_mcp.errors import AlitaError, InvalidArguments
from alita_mcp.sandbox.interface import RunResult
from alita_mcp.values import Schema

if TYPE_CHECKING:
    from alita_mcp.app import ToolRunResult


def add_commands(family: Family) -> None:
    """Declares `run`."""
    parser = family.add("run", run, "call a tool")
    parser.add_argument("name", metavar="NAME")
    parser.add_argument(
        "words",
        nargs="*",
        metavar="ARGUMENT",
        help="one JSON object (- reads it from stdin), or key=value pairs; key=@FILE takes the value from a file",
    )
    parser.add_argument(
        "--version", type=tool_version, metavar="N", help="another version than the current one"
    )


async def run(options: argparse.Namespace, output: Output) -> int:
    """Prints the result; a tool that fails is exit status 1."""
    async with opened_app() as app:
        stored = await app.library.read(options.name, options.version)
        arguments = read_arguments(options.words, stored.manifest.input_schema)
        with output.progress(options.name) as on_stage:
            await on_stage("runs")
            async with app.report_preparation(on_stage):
                answer = await app.run_tool(options.name, arguments, options.version)
    return _tell(answer, output)


def _tell(answer: ToolRunResult, output: Output) -> int:
    result = answer.result
    for stream in (result.stdout, result.stderr):
        if stream:
            output.note(stream.rstrip("\n"))
    if not result.ok:
        output.note(_failure(answer.manifest.name, result))
        if output.as_json:
            output.result(result, "")
        return AlitaError.exit_status
    output.result(answer.structured_content, _text(result.value))
    return 0


def read_arguments(words: Sequence[str], schema: Schema, folder: Path | None = None) -> dict[str, Any]:
    """Arguments from a command line.

    Args:
        words: One JSON object, `-`, or `key=value` pairs; a value for a text parameter is taken as it is, any other is
            read as JSON where it is JSON.
        schema: The tool's input schema.
        folder: Where `@FILE` is looked for; the current folder by default.

    Raises:
        InvalidArguments: the words are none of these, or a file cannot be read.
    """
    if not words:
        return {}
    if len(words) == 1 and (words[0] == "-" or words[0].lstrip().startswith("{")):
        return _object(sys.stdin.read() if words[0] == "-" else words[0])
    arguments: dict[str, Any] = {}
    properties = schema.get("properties", {})
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise InvalidArguments(
                f"{word!r} is neither JSON nor key=value.",
                hint="""As in: alita run NAME '{"text": "hi"}' or text=hi""",
            )
        if key in arguments:
            raise InvalidArguments(f"{key!r} is given twice.")
        arguments[key] = _value(value, properties.get(key, {}), folder or Path())
    return arguments


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as broken:
        raise InvalidArguments(f"The arguments are not valid JSON: {broken}.") from broken
    if not isinstance(found, dict):
        raise InvalidArguments(f"The arguments are JSON, but {text[:40]!r} is no object.")
    return found


def _value(text: str, schema: Mapping[str, Any], folder: Path) -> Any:
    if text.startswith("@"):
        text = _file_text(folder / text[1:])
    if schema.get("type") == "string":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _file_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as unreadable:
        raise InvalidArguments(f"{path} cannot be read as text: {unreadable}.") from unreadable


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _failure(name: str, result: RunResult) -> str:
    what = f"{result.error_type or result.status}: {result.message}"
    return "\n".join([f"alita: {name} failed: {what}", *(f"  {line}" for line in result.trace)])
