"""`alita bench flows`: how many functions and files of the package a search, a call and a synthesis go through.

A real client of the SDK is connected in memory to the real server. A profile of all threads counts the distinct
functions of the package that ran between a request and its result; comprehensions and lambdas count with the function
that holds them. The sandbox is scripted: what a back end does for a call is the subject of `alita bench calls`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import anyio
import mcp_types as types
from mcp import Client

import alita_mcp
from alita_mcp import __version__
from alita_mcp.app import open_app
from alita_mcp.library.versions.loaded import SETTLED_S
from alita_mcp.sandbox.interface import Job, RunResult
from alita_mcp.sandbox.variants.scripted import ScriptedSandbox
from alita_mcp.server.build import build_server
from alita_mcp.server.tools.admission import admit
from alita_mcp.settings import Settings
from alita_mcp.values import Value

GOALS = {"search": 60, "run": 100, "synthesize": 400}
"""Functions that a flow should go through at most."""
WITHIN_S = 60
_PACKAGE = str(Path(alita_mcp.__file__).parent)
_DRAFT: dict[str, Any] = {
    "name": "vowel_share",
    "description": "Share of vowels among the letters of a text.",
    "code": '''
def vowel_share(text: str, digits: int = 2) -> float:
    """Share of vowels among the letters of a text.

    Args:
        text: Any text.
        digits: Digits after the point.

    Raises:
        ValueError: The text has no letters.
    """
    letters = [letter for letter in text.lower() if letter.isalpha()]
    if not letters:
        raise ValueError("no letters in the text")
    return round(sum(letter in "aeiou" for letter in letters) / len(letters), digits)
''',
    "tests": [
        {"arguments": {"text": "banana"}, "expected": 0.5},
        {"arguments": {"text": "rhythm"}, "expected": 0.0},
        {"arguments": {"text": "abc", "digits": 4}, "expected": 0.3333},
        {"arguments": {"text": "42"}, "raises": "ValueError"},
    ],
    "use_when": ["how many vowels does a word have", "vowel ratio of a sentence", "proportion of vowels"],
}


class Flow(Value):
    """Functions and files that one request went through."""

    name: str
    functions: int
    files: int
    goal: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The benchmark's own options."""
    parser.add_argument(
        "--list", metavar="FLOW", choices=list(GOALS), help="name the functions of this flow too"
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Counts, by flow; with the names where one flow's were asked for."""
    counted = anyio.run(profiled)
    result: dict[str, Any] = {
        "version": __version__,
        "flows": [
            Flow(
                name=name, functions=len(ran), files=len({file for file, _, _ in ran}), goal=GOALS[name]
            ).model_dump()
            for name, ran in counted.items()
        ],
    }
    if options.list is not None:
        result["functions"] = [f"{file}: {function}" for file, function, _ in sorted(counted[options.list])]
    return result


def table(result: dict[str, Any]) -> str:
    """The counts as aligned text."""
    lines = [f"{'flow':12}{'functions':>10}{'files':>7}{'goal':>6}"]
    lines += [
        f"{row['name']:12}{row['functions']:>10}{row['files']:>7}{row['goal']:>6}" for row in result["flows"]
    ]
    return "\n".join([*lines, *result.get("functions", [])])


Ran = set[tuple[str, str, int]]
"""Functions by file (below the package), qualified name and first line."""


async def profiled() -> dict[str, Ran]:
    """The functions that each flow goes through in a second run, when lazy modules are loaded."""
    with tempfile.TemporaryDirectory() as folder, _profile() as ran:
        settings = Settings(home=Path(folder) / "home")
        server = build_server(
            settings, open_app=partial(open_app, settings, admit=admit, sandbox=ScriptedSandbox(_answer))
        )
        with anyio.fail_after(WITHIN_S):
            async with Client(server) as client:
                counted: dict[str, Ran] = {}

                async def count(flow: str, tool: str, arguments: dict[str, Any]) -> None:
                    ran.clear()
                    result = await client.call_tool(tool, arguments)
                    counted[flow] = set(ran)
                    if not isinstance(result, types.CallToolResult) or result.is_error:
                        raise RuntimeError(f"{flow} failed: {result}")

                await client.call_tool("search_capabilities", {"query": "reverse a text"})
                await count("synthesize", "synthesize_tool", _DRAFT)
                await anyio.sleep(SETTLED_S)  # files that were written a moment ago are read at each call
                await client.call_tool("run_tool", {"name": "vowel_share", "arguments": {"text": "ab"}})
                await count("run", "run_tool", {"name": "vowel_share", "arguments": {"text": "abcde"}})
                await client.call_tool("search_capabilities", {"query": "reverse a text"})
                await count("search", "search_capabilities", {"query": "share of vowels in a word"})
    return {name: counted[name] for name in GOALS}


@contextmanager
def _profile() -> Iterator[Ran]:
    """The functions of the package that run meanwhile, in this thread and in those that begin meanwhile."""
    ran: Ran = set()

    def noted(frame: FrameType, event: str, argument: Any) -> None:  # noqa: ARG001 - as `sys.setprofile` calls it
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(_PACKAGE) and not code.co_qualname.endswith(">"):
            ran.add((code.co_filename[len(_PACKAGE) + 1 :], code.co_qualname, code.co_firstlineno))

    before = sys.getprofile()
    threading.setprofile(noted)
    sys.setprofile(noted)
    try:
        yield ran
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


def _answer(job: Job) -> RunResult:
    """What the tool of this benchmark gives, computed here: the scripted sandbox runs nothing."""
    if job.function != _DRAFT["name"]:
        return RunResult(status="ok", value=True)
    letters = [letter for letter in str(job.arguments["text"]).lower() if letter.isalpha()]
    if not letters:
        return RunResult(status="error", error_type="ValueError", message="no letters in the text")
    share = sum(letter in "aeiou" for letter in letters) / len(letters)
    return RunResult(status="ok", value=round(share, job.arguments.get("digits", 2)))
