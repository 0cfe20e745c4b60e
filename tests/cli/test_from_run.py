"""`alita synthesize --from-run`: runs that were kept on the disk become a tool, and later a verified one."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

import anyio
import pytest

from alita_mcp.owners import USER
from alita_mcp.runs.code_run import RecordedRun
from alita_mcp.runs.history.program import program_of
from alita_mcp.runs.history.store import open_run_store
from alita_mcp.settings import Settings
from tests.cli.conftest import Alita

pytestmark = pytest.mark.slow

OWN = [
    {"arguments": {"prices": [40, 2], "percent": 50}, "expected": 21},
    {"arguments": {"prices": [], "percent": 5}, "expected": 0},
    {"arguments": {"prices": [1, 1, 1], "percent": 100}, "expected": 0},
    {"arguments": {"prices": [99], "percent": 7}, "expected": 93},
]
CODE = "prices = {prices}\npercent = {percent}\ntotal = sum(prices)\ntotal - total * percent // 100\n"


def left_behind(home: Path) -> list[str]:
    """Runs as a server leaves them that may keep values."""
    seen = (([10, 20, 30], 10, 54), ([5, 5], 50, 5), ([100], 3, 97))
    ran = [
        RecordedRun(
            id=secrets.token_hex(16),
            at="2026-11-23T15:00:00+00:00",
            code=CODE.format(prices=prices, percent=percent),
            result=result,
            result_kind="json",
        )
        for prices, percent, result in seen
    ]
    store = anyio.run(open_run_store, Settings(home=home, keep_values=True))
    for run in ran:
        program = program_of(run.code)
        assert program is not None
        store.add_run(run, program.key, USER)
    return [run.id for run in ran]


def test_kept_runs_become_a_tool_and_own_examples_verify_it(
    alita: Alita, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALITA_KEEP_VALUES", "true")
    named = [word for each in left_behind(home) for word in ("--from-run", each)]
    made = alita("synthesize", *named, "--name", "discounted_total", "--json")
    assert made.status == 0, made.err
    assert (made.json["status"], made.json["trust"]) == ("created", "provisional")
    tests = tmp_path / "tests.jsonl"
    tests.write_text("\n".join(map(json.dumps, OWN)), encoding="utf-8")
    raised = alita("synthesize", *named, "--name", "discounted_total", "--tests", str(tests), "--json")
    assert (raised.json["status"], raised.json["trust"]) == ("exists", "verified")


def test_runs_that_are_not_known_here_are_told(alita: Alita, home: Path) -> None:
    run, *_ = left_behind(home)
    said = alita("synthesize", "--from-run", run, "--name", "discounted_total")
    assert said.status != 0
    assert "There is no run" in said.err
    assert "ALITA_KEEP_VALUES=true" in said.err
