"""Examples proposed for confirmation: what they are for a draft, and for which drafts there are none."""

from __future__ import annotations

from typing import Any

import pytest

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.interface import Job, RunResult
from alita_mcp.sandbox.variants.scripted import ScriptedSandbox
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.synthesis.review.proposals import MAX_CHARACTERS, MAX_PROPOSED, proposed
from alita_mcp.values import (
    Check,
    Draft,
    Example,
    Grants,
    MutationScore,
    Survivor,
    VerificationReport,
)
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal

CODE = '''def describe(
    text: str, ratio: float, loud: bool, table: dict[str, int], names: list[str],
    limit: int = 3, note: str | None = None,
) -> str:
    """Describes things.

    Args:
        text: A text.
        ratio: A number.
        loud: Whether in capitals.
        table: Counts by name.
        names: Names.
        limit: At most so many.
        note: Something else.
    """
    if limit < 0:
        raise ValueError("limit is negative")
    said = f"{text} {ratio} {len(table)} {names[0]} {limit} {note}"
    return said.upper() if loud else said
'''
SHOWN: dict[str, Any] = {
    "text": "ab", "ratio": 0.5, "loud": False, "table": {"a": 1}, "names": ["x", "y"], "limit": 2
}  # fmt: skip
DRAFT = Draft(
    name="describe",
    description="Describes things.",
    code=CODE,
    examples=(Example(arguments=SHOWN, expected="ab 0.5 1 x 2 None"),),
)


def report(*checks: Check, survivors: tuple[Survivor, ...] = ()) -> VerificationReport:
    return VerificationReport(
        trust="provisional", checks=checks, sandbox="wasm", examples_passed=1, examples_total=1, deterministic=True,
        mutation=MutationScore(killed=1, total=2, survivors=survivors), created_at="2026-01-01T00:00:00Z",
    )  # fmt: skip


async def silent(_stage: str) -> None:
    return None


@pytest.mark.slow
async def test_errors_and_edges_of_every_kind_come_first(sandbox: WasmSandbox) -> None:
    found = await proposed(DRAFT, None, Rehearsal(sandbox), silent)
    assert len(found) == MAX_PROPOSED
    assert {each.get("raises") for each in found[:2]} == {"IndexError", "ValueError"}
    assert all(each["arguments"] != SHOWN and len(str(each)) <= MAX_CHARACTERS for each in found)
    assert found == await proposed(DRAFT, report(), Rehearsal(sandbox), silent)


@pytest.mark.slow
async def test_what_the_gates_found_is_proposed(sandbox: WasmSandbox) -> None:
    unforeseen = {**SHOWN, "names": [], "text": "found"}
    survivors = tuple(
        Survivor(line=3, was="a", now="b", shown_by=each)
        for each in (
            None,
            {**SHOWN, "limit": 77},
            {"no": "parameter"},
            SHOWN,
            {**SHOWN, "text": "x" * MAX_CHARACTERS},
        )
    )
    checks = (
        Check(stage="properties", passed=False, hard=False, case=unforeseen),
        Check(stage="properties", passed=False, hard=False),
        Check(stage="mutation", passed=False, hard=False, case={**SHOWN, "limit": 55}),
    )
    found = await proposed(DRAFT, report(*checks, survivors=survivors), Rehearsal(sandbox), silent)
    assert found[0] == {"arguments": unforeseen, "raises": "IndexError"}
    assert [each for each in found if each["arguments"].get("limit") in (77, 55)] == [
        {"arguments": {**SHOWN, "limit": 77}, "expected": "ab 0.5 1 x 77 None"}
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"grants": Grants(workspace="read")},
        {"varies": ("random",)},
        {"code": "def describe(:\n"},
        {"code": "def other() -> int:\n    return 1\n"},
    ],
    ids=["grants", "varies", "broken", "another function"],
)
async def test_drafts_whose_results_say_nothing_get_none(
    sandbox: WasmSandbox, changes: dict[str, Any]
) -> None:
    assert await proposed(DRAFT.model_copy(update=changes), None, Rehearsal(sandbox), silent) == ()


@pytest.mark.slow
async def test_endless_calls_are_no_proposals(sandbox: WasmSandbox) -> None:
    code = CODE.replace("    if limit < 0:\n", "    while limit == 0:\n        pass\n    if limit < 0:\n")
    found = await proposed(DRAFT.model_copy(update={"code": code}), None, Rehearsal(sandbox), silent)
    assert all(each["arguments"].get("limit") != 0 for each in found)


@pytest.mark.slow
async def test_a_draft_without_examples_or_parameters_is_no_mistake(sandbox: WasmSandbox) -> None:
    assert await proposed(DRAFT.model_copy(update={"examples": ()}), None, Rehearsal(sandbox), silent) == ()


async def test_a_sandbox_that_fails_takes_nothing_back() -> None:
    def fails(_job: Job) -> RunResult:
        raise SandboxError("it is gone")

    assert await proposed(DRAFT, None, Rehearsal(ScriptedSandbox(fails)), silent) == ()
