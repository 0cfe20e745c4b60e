"""The evidence card: everything that a report tells, and no word where an older one tells nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from alita_mcp.library.trust.evidence import MAX_TEXT, evidence_of, evidence_rows, report_with_evidence
from alita_mcp.values import (
    Agreement,
    Check,
    DroppedTest,
    LookedUp,
    MutationScore,
    Source,
    Survivor,
    Usage,
    VerificationReport,
    WrittenFrom,
)

SHIPPED = sorted((Path(__file__).parents[2] / "generated_tools").glob("*/v*/report.json"))
FULL = VerificationReport(
    trust="provisional",
    checks=(
        Check(stage="static", passed=True, message="contract"),
        Check(stage="examples", passed=True, message="example 1", seconds=0.25),
        Check(stage="examples", passed=True, message="example 2", seconds=0.5),
        Check(stage="mutation", passed=False, hard=False, message="the examples notice 41 of 50", fix="Add."),
    ),
    sandbox="wasm",
    examples_passed=2,
    examples_total=2,
    deterministic=True,
    seeds=(0, 20011),
    properties=120,
    properties_seed=7,
    mutation=MutationScore(
        killed=41,
        total=50,
        survivors=tuple(Survivor(line=n, was=f"a < {n}", now=f"a <= {n}") for n in range(1, 10)),
    ),
    environment="sha256:abc",
    seconds=3.25,
    seconds_by_gate={"static": 0.125},
    created_at="2026-05-01T10:00:00+00:00",
    software={"alita": "0.1.0", "sandbox": "wasm"},
    agreement=Agreement(
        candidates=5,
        suites=3,
        share=0.6,
        passed=0.75,
        kept=(0, 1, 2),
        dropped=(3,),
        contradicting=(DroppedTest(test={"arguments": {"n": 1}, "expected": 2}, got=3),),
    ),
    usage=Usage(calls=8, prompt_tokens=12_345, completion_tokens=678, cost_usd=0.0123, seconds=9.5),
    written_from=WrittenFrom(
        request="add",
        signature="def add(n: int) -> int",
        assumed=("zero: allowed", "one: \n refused", "x" * 900),
    ),
    looked_up=LookedUp(
        sources=(
            Source(url="https://a.example/x", title="An\nAPI", retrieved_at="2026-05-01T09:00:00+00:00"),
            Source(url="https://b.example/" + "y" * 900),
        ),
        notes=("How is it spelt? - nothing was found",),
    ),
)


def test_every_piece_of_evidence_has_its_line() -> None:
    rows = evidence_rows(FULL, ("docker", "wasm"))
    text = "\n".join(f"{label}: {said}" for label, said in rows)
    for piece in (
        "trust: provisional",
        "static: passed, 1 check, 0.125 s",
        "examples: passed, 2 checks, 0.75 s",
        "mutation: soft failure, 1 check, 0 s: the examples notice 41 of 50",
        "passed: 2 of 2 examples; deterministic",
        "generated: 120 inputs tried, drawn with seed 7",
        "mutants: 41 of 50",
        "survivor: line 8: a < 8 → a <= 8",
        "survivor: and 1 more",
        "candidates: 5 against 3 suites; 60% behave alike and pass 75% of the tests; repairs",
        "tests: 3 kept, 1 dropped",
        'dropped: {"arguments": {"n": 1}, "expected": 2}, but the chosen one gives 3',
        "models: 8 calls, 12,345 + 678 tokens, 0.0123 USD, 9.5 s",
        "assumed: zero: allowed",
        "assumed: one: refused",
        "source: https://a.example/x An API 2026-05-01T09:00:00",
        "not found: How is it spelt? - nothing was found",
        "sandbox: wasm; gates passed in docker, wasm",
        "environment: sha256:abc",
        "seeds: 0, 20011",
        "took: 3.25 s, 2026-05-01T10:00:00; alita 0.1.0",
        "to raise: Send the same name with tests of your own: some whose result shows",
    ):
        assert piece in text
    assert all(len(said) <= MAX_TEXT for label, said in rows if label == "assumed")


def test_an_unknown_price_is_called_unknown() -> None:
    shown = FULL.model_copy(update={"usage": Usage(calls=1, cost_usd=None)})
    assert ("models", "1 calls, 0 + 0 tokens, cost unknown, 0 s") in evidence_rows(shown)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.parts[-3])
def test_a_report_of_before_the_newer_gates_is_read_and_shown(path: Path) -> None:
    stored = json.loads(path.read_bytes())
    for newer in ("mutation", "properties", "properties_seed", "seconds_by_gate"):
        stored.pop(newer, None)
    stored["checks"] = [it for it in stored["checks"] if it["stage"] not in {"properties", "mutation"}]
    old = VerificationReport.model_validate(stored)
    labels = [label for label, _ in evidence_rows(old)]
    assert labels[:2] == ["trust", "static"]
    assert not {"generated", "mutants", "candidates", "models", "to raise"} & set(labels)
    assert evidence_of(old).mutants == ""


def test_the_report_for_programs_is_whole_and_holds_the_card() -> None:
    document = json.loads(json.dumps(report_with_evidence(FULL, ("wasm",))))
    card = document.pop("evidence")
    assert VerificationReport.model_validate(document) == FULL
    assert card["mutants"] == "41/50"
    assert [stage["outcome"] for stage in card["stages"]] == ["passed", "passed", "soft failure"]
    assert card["stages"][2]["findings"] == ["the examples notice 41 of 50"]
    assert card["to_raise_trust"].startswith("Send the same name")


def test_a_failed_gate_is_called_failed_and_long_words_are_cut() -> None:
    wrong = Check(stage="examples", passed=False, message="word\n" * 500)
    shown = FULL.model_copy(update={"checks": (wrong,) * 9, "trust": "rejected"})
    (stage,) = evidence_of(shown).stages
    assert (stage.outcome, stage.checks, len(stage.findings)) == ("failed", 9, 5)
    assert all(len(said) <= 400 and "\n" not in said for _, said in evidence_rows(shown))
    assert max(len(said) for label, said in evidence_rows(shown) if label == "examples") == MAX_TEXT
