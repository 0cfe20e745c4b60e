"""`alita synthesize --from-run`: runs that were kept on the disk become a tool, and later a verified one."""

from __future__ import annotations

import json
import secrets
from contextlib import closing
from pathlib import Path

import pytest

from alita_mcp.library.runs.code_runs import CodeRuns
from alita_mcp.mining.comparison.normal_form import normal_form
from alita_mcp.runs.recorded_run import RecordedRun
from tests.cli.conftest import Alita

pytestmark = pytest.mark.slow

CODE = "prices = {prices}\npercent = {percent}\ntotal = sum(prices)\ntotal - total * percent // 100\n"


def left_behind(home: Path, *, keep: bool) -> list[str]:
    """Runs as a server leaves them."""
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
    with closing(CodeRuns(home / "code-runs", keep_values=keep)) as runs:
        for run in ran:
            form = normal_form(run.code)
            runs.note(run, form.model_dump(), form.digest)
    return [run.id for run in ran]


def test_kept_runs_become_a_tool_and_confirmed_proposals_verify_it(
    alita: Alita, home: Path, tmp_path: Path
) -> None:
    named = [word for each in left_behind(home, keep=True) for word in ("--from-run", each)]
    made = alita("synthesize", *named, "--name", "discounted_total", "--json")
    assert made.status == 0, made.err
    assert (made.json["status"], made.json["trust"]) == ("created", "provisional")
    told = alita("synthesize", *named, "--name", "discounted_total").out
    lines = [line.removeprefix("  proposed  ") for line in told.splitlines() if line.startswith("  proposed")]
    assert list(map(json.loads, lines)) == made.json["proposed"]
    tests = tmp_path / "tests.jsonl"
    tests.write_text("\n".join(lines), encoding="utf-8")
    raised = alita("synthesize", *named, "--name", "discounted_total", "--tests", str(tests), "--json")
    assert (raised.json["status"], raised.json["trust"]) == ("exists", "verified")


def test_runs_without_values_and_unknown_ones_are_told(alita: Alita, home: Path) -> None:
    run, *_ = left_behind(home, keep=False)
    said = alita("synthesize", "--from-run", run)
    assert said.status != 0
    assert "ALITA_KEEP_VALUES=true" in said.err
    assert "There is no run" in alita("synthesize", "--from-run", "0" * 32).err
