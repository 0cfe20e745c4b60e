"""How many functions of the package run between a request and its answer: it may shrink, and not grow.

Counted by a profile of all threads, with the client in memory and a scripted sandbox, once everything is loaded.
Comprehensions and lambdas are not counted apart. `pytest -s` prints the figures.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client

import alita_mcp
from alita_mcp.app import open_app
from alita_mcp.library import library
from alita_mcp.library.versions import loaded
from alita_mcp.sandbox.interface import Job, RunResult
from alita_mcp.server.build import build_server
from alita_mcp.server.tools.admission import admit
from alita_mcp.settings import Settings
from tests.scripted_sandbox import ScriptedSandbox

CEILINGS = {"search": 91, "run": 77, "synthesize": 427}
"""Functions; lower them as the flows get shorter."""
ATTEMPTS = 6
"""What runs in the background may fall into a flow: the fewest count."""
WITHIN_S = 120
PACKAGE = str(Path(alita_mcp.__file__).parent)
DRAFT: dict[str, Any] = {
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
Ran = set[tuple[str, str, int]]
"""Functions by file (below the package), qualified name and first line."""


def answer(job: Job) -> RunResult:
    """Computes the tool's result here: the scripted sandbox runs nothing."""
    if job.function != DRAFT["name"]:
        return RunResult(status="ok", value=True)
    letters = [letter for letter in str(job.arguments["text"]).lower() if letter.isalpha()]
    if not letters:
        return RunResult(status="error", error_type="ValueError", message="no letters in the text")
    share = sum(letter in "aeiou" for letter in letters) / len(letters)
    return RunResult(status="ok", value=round(share, job.arguments.get("digits", 2)))


@contextmanager
def profile() -> Iterator[Ran]:
    """Collects the package's functions that run meanwhile, in this thread and in those that begin meanwhile."""
    ran: Ran = set()

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and not code.co_qualname.endswith(">"):
            ran.add((code.co_filename[len(PACKAGE) + 1 :], code.co_qualname, code.co_firstlineno))

    before = sys.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield ran
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


async def functions_by_flow(home: Path, ran: Ran) -> dict[str, Ran]:
    """The functions that each flow goes through in a second run, when lazy modules are loaded."""
    counted: dict[str, Ran] = {}
    settings = Settings(home=home)
    opener = partial(open_app, settings, admit=admit, sandbox=ScriptedSandbox(answer))
    with anyio.fail_after(WITHIN_S):
        async with Client(build_server(settings, open_app=opener)) as client:

            async def count(flow: str, tool: str, arguments: dict[str, Any]) -> None:
                ran.clear()
                result = await client.call_tool(tool, arguments)
                counted[flow] = set(ran)
                assert isinstance(result, types.CallToolResult)
                assert not result.is_error, result

            await client.call_tool("search_capabilities", {"query": "reverse a text"})
            await count("synthesize", "synthesize_tool", DRAFT)
            await client.call_tool("run_tool", {"name": "vowel_share", "arguments": {"text": "ab"}})
            await count("run", "run_tool", {"name": "vowel_share", "arguments": {"text": "abcde"}})
            await client.call_tool("search_capabilities", {"query": "reverse a text"})
            await count("search", "search_capabilities", {"query": "share of vowels in a word"})
    return counted


@pytest.mark.no_cover
async def test_the_flows_go_through_no_more_functions_than_they_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = SimpleNamespace(time_ns=lambda: time.time_ns() + 60 * 10**9)
    monkeypatch.setattr(
        loaded, "time", later
    )  # else files that were written a moment ago are read at each call
    monkeypatch.setattr(
        library, "WATCH_EVERY_S", WITHIN_S
    )  # its look at other processes is no part of a flow
    fewest: dict[str, Ran] = {}
    with profile() as ran:  # one for all attempts: threads that serve the next one keep it
        for attempt in range(ATTEMPTS):
            for flow, functions in (await functions_by_flow(tmp_path / str(attempt), ran)).items():
                fewest[flow] = min(functions, fewest.get(flow, functions), key=len)
            if all(len(functions) <= CEILINGS[flow] for flow, functions in fewest.items()):
                break
    for flow, functions in fewest.items():
        print(f"{flow}: {len(functions)} functions in {len({file for file, _, _ in functions})} files")
    assert ("app/app.py", "App.search_tools") in {(file, name) for file, name, _ in fewest["search"]}
    assert {flow: len(ran) for flow, ran in fewest.items() if not 20 < len(ran) <= CEILINGS[flow]} == {}
