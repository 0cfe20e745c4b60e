"""Tools that no sandbox of ours speaks for: what their files say counts for nothing until the gates have run."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.app import open_app
from alita_mcp.errors import ToolUnavailable
from alita_mcp.library.library import Library
from alita_mcp.library.opening import open_library
from alita_mcp.library.trust.trust import what_would_raise
from alita_mcp.sandbox.interface import Job, RunResult
from alita_mcp.settings import Settings
from alita_mcp.values import Example, Grants, Lock
from alita_mcp.verification.static.static import static_gate
from tests.library.factory import accepted, forge, no_starters
from tests.scripted_sandbox import ScriptedSandbox

DOUBLE = '''def double(number: int) -> int:
    """Doubles a number.

    Args:
        number: Any.

    Raises:
        ValueError: It is negative.
    """
    if number < 0:
        raise ValueError("negative")
    return number * 2
'''
EXAMPLES = (
    Example(arguments={"number": 4}, expected=8),
    Example(arguments={"number": 0}, expected=0),
    Example(arguments={"number": -1}, raises="ValueError"),
)


def answer(job: Job) -> RunResult:
    number = job.arguments["number"]
    if number < 0:
        return RunResult(status="error", error_type="ValueError", message="negative")
    return RunResult(status="ok", value=number * 2)


def wrong(_job: Job) -> RunResult:
    return RunResult(status="ok", value=5)


def lose_catalogue(home: Path) -> None:
    for file in home.glob("library.sqlite3*"):
        file.unlink()


async def left_behind(settings: Settings, **changes: Any) -> Path:
    """A home with one tool that calls itself verified in the very kind of sandbox at hand, and no catalogue."""
    made = accepted("double", "Doubles a number.", code=DOUBLE, examples=EXAMPLES, **changes)
    _, contract = await static_gate(made.draft)
    async with open_library(settings, starters=no_starters) as library:
        await library.publish(made.model_copy(update={"contract": contract}), expected_version=0)
    lose_catalogue(settings.home)
    return settings.home / "generated_tools" / "double" / "v1"


def unproven(library: Library) -> bool:
    entry = library.entry("double")
    return (entry.manifest.trust, entry.manifest.deterministic, entry.sandboxes) == ("provisional", False, ())


async def test_a_tool_whose_catalogue_is_missing_is_proved_before_its_first_call(settings: Settings) -> None:
    await left_behind(settings)
    sandbox = ScriptedSandbox(answer)
    async with open_app(settings, admit=lambda _manifest: (), sandbox=sandbox) as app:
        assert unproven(app.library)
        stored = await app.library.read("double")
        assert (stored.manifest.trust, stored.report.trust) == ("provisional", "provisional")
        assert what_would_raise(stored.report).startswith("The catalogue was missing")
        ran = await app.run_tool("double", {"number": 77})
        asked = [job.arguments["number"] for job in sandbox.jobs]
        assert ran.structured_content == {"result": 154}
        assert {4, 0, -1} < set(asked)
        assert asked.index(77) == len(asked) - 1
        await app.run_tool("double", {"number": 78})
        assert len(sandbox.jobs) == len(asked) + 1
        proved = app.library.entry("double")
        assert proved.sandboxes == ("scripted",)
        assert (await app.library.read("double")).report.checks[0].stage == "static"
    async with open_library(settings, starters=no_starters) as library:
        assert library.entry("double").manifest == proved.manifest


async def home_of_version_0_1_0(settings: Settings, *further_kinds: str) -> None:
    """A home with one verified tool whose gates ran in monty, and in further kinds of sandbox."""
    made = accepted("double", "Doubles a number.", code=DOUBLE, examples=EXAMPLES, sandbox="monty")
    _, contract = await static_gate(made.draft)
    async with open_library(settings, starters=no_starters) as library:
        await library.publish(made.model_copy(update={"contract": contract}), expected_version=0)
        for kind in further_kinds:
            await library.raise_evidence("double", 1, kind, Lock())
        assert library.tools.sandboxes_of("double", 1) == (*further_kinds, "monty")
        assert library.entry("double").manifest.trust == "verified"
    with closing(sqlite3.connect(settings.home / "library.sqlite3")) as database:
        database.execute("PRAGMA user_version = 1")


async def test_a_tool_that_was_proved_in_monty_alone_is_proved_once_before_its_first_call(
    settings: Settings,
) -> None:
    await home_of_version_0_1_0(settings)
    sandbox = ScriptedSandbox(answer, kind="wasm")
    async with open_app(settings, admit=lambda _manifest: (), sandbox=sandbox) as app:
        assert unproven(app.library)
        assert "double" in {entry.name for entry in app.visible_tools()}
        assert "monty" in what_would_raise((await app.library.read("double")).report)
        assert (await app.run_tool("double", {"number": 77})).structured_content == {"result": 154}
        calls = len(sandbox.jobs)
        assert calls > len(EXAMPLES)
        await app.run_tool("double", {"number": 78})
        assert len(sandbox.jobs) == calls + 1
    async with open_library(settings, starters=no_starters) as library:
        entry, stored = library.entry("double"), await library.read("double")
        assert (entry.manifest.trust, entry.sandboxes, stored.report.sandbox) == (
            "verified",
            ("wasm",),
            "wasm",
        )


async def test_what_another_sandbox_proved_besides_monty_still_counts(settings: Settings) -> None:
    await home_of_version_0_1_0(settings, "bubblewrap")
    sandbox = ScriptedSandbox(answer, kind="bubblewrap")
    async with open_app(settings, admit=lambda _manifest: (), sandbox=sandbox) as app:
        entry = app.library.entry("double")
        assert (entry.manifest.trust, entry.sandboxes) == ("verified", ("bubblewrap",))
        await app.run_tool("double", {"number": 77})
        assert len(sandbox.jobs) == 1


async def test_what_the_gates_find_decides_and_no_claim_is_exceeded(settings: Settings) -> None:
    trusts = []
    for claim in ("verified", "provisional"):
        own = settings.model_copy(update={"home": settings.home / claim})
        await left_behind(own, trust=claim)
        async with open_app(own, admit=lambda _manifest: (), sandbox=ScriptedSandbox(answer)) as app:
            assert unproven(app.library)
            await app.run_tool("double", {"number": 1})
            trusts.append((await app.library.read("double")).manifest.trust)
    assert trusts == ["verified", "provisional"]


async def test_an_adopted_tool_that_fails_its_gates_is_never_called(settings: Settings) -> None:
    await left_behind(settings)
    sandbox = ScriptedSandbox(wrong)
    async with open_app(settings, admit=lambda _manifest: (), sandbox=sandbox) as app:
        for _ in range(2):
            with pytest.raises(ToolUnavailable, match="fails its gates"):
                await app.run_tool("double", {"number": 77})
        assert {"number": 77} not in [job.arguments for job in sandbox.jobs]
        assert unproven(app.library)


async def test_files_that_claim_another_signature_than_their_code_are_not_called(settings: Settings) -> None:
    folder = await left_behind(settings)
    forge(folder, manifest={"summary": "Deletes everything you do not need."})
    sandbox = ScriptedSandbox(answer)
    async with open_app(settings, admit=lambda _manifest: (), sandbox=sandbox) as app:
        with pytest.raises(ToolUnavailable, match="does not match its files"):
            await app.run_tool("double", {"number": 77})
        assert {"number": 77} not in [job.arguments for job in sandbox.jobs]
        assert unproven(app.library)


async def test_an_adopted_tool_is_granted_nothing_before_its_gates_have_run(settings: Settings) -> None:
    await left_behind(settings, grants=Grants(network=("example.org",)))
    async with open_library(settings, starters=no_starters) as library:
        assert unproven(library)
        assert not library.entry("double").callable_now
        assert library.effective_grants.of(library.entry("double").manifest) is None
        with pytest.raises(ToolUnavailable, match="verified"):
            await library.approve("double")
    sandbox = ScriptedSandbox(wrong)
    async with open_app(settings, admit=lambda _manifest: (), sandbox=sandbox) as app:
        with pytest.raises(ToolUnavailable, match="fails its gates"):
            await app.run_tool("double", {"number": 77})
