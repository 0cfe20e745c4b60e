"""`alita bench grow` and `alita bench code`: what they draw, what they count, and that they run."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from alita_mcp.errors import UsageError
from benchmarks import code, grow
from benchmarks.grow import groups

PROGRAMS = (
    (
        "def f(text, cut):\n    words = text.split()\n    return [word[:cut] for word in words]",
        "'ant bee cicada', 2",
    ),
    (
        "def f(nums):\n    total = 0\n    for n in nums:\n        total += n\n    return {'sum': total}",
        "[3, 1, 2]",
    ),
    ("def f(x):\n    return open", "lambda: 1"),
)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    file = tmp_path / "programs.jsonl"
    file.write_text("".join(f"{json.dumps({'code': each, 'input': given})}\n" for each, given in PROGRAMS))
    return file


def test_groups_hold_like_scripts_with_other_values(programs: Path) -> None:
    drawn = list(groups.groups_of([programs], 10, 3, 2, 7))
    assert drawn == list(groups.groups_of([programs], 10, 3, 2, 7))
    assert len(drawn) == 2  # one of the programs is called with what is no literal
    for group in drawn:
        values = [script.values for script in (*group.seen, *group.new)]
        assert len(values) == 5
        assert all(values.count(each) == 1 for each in values)
        assert (
            len({script.code.split("\n\n")[0] for script in group.seen}) == 2
        )  # written again with other names


def test_a_file_that_is_none_is_said(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"code": 1}\n')
    with pytest.raises(UsageError, match="cannot be read"):
        list(groups.groups_of([tmp_path / "x.jsonl"], 1, 3, 2, 7))


def test_a_tool_that_differs_is_counted_and_shown() -> None:
    good = {
        "shape": "inline", "tool": "grown_1", "trust": "provisional", "confirmed": "verified", "noticed": True,
        "why": "", "compared": 6, "refused": 0, "differs": [],
    }  # fmt: skip
    bad = {**good, "tool": "grown_2", "differs": ["for 1: 2, the script 3"]}
    trials = [good, bad, {**good, "tool": "", "why": "needs_code because"}]
    result = {"groups": trials, "all": grow._counted(trials), "by_shape": grow._by_shape(trials)}
    said = grow.table(result)
    assert "WRONG grown_2: for 1: 2, the script 3" in said
    assert said.endswith("NOT met.")
    assert (result["all"]["made"], result["all"]["wrong_tools"]) == (2, 1)


@pytest.mark.slow
def test_groups_become_tools_that_do_the_same(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALITA_HOME", str(tmp_path / "home"))
    parser = argparse.ArgumentParser()
    grow.add_arguments(parser)
    words = ["--programs", str(programs), "--groups", "2", "--seen", "3", "--new", "2", "--sandbox", "wasm"]
    result = grow.run(parser.parse_args(words))
    assert (result["all"]["groups"], result["all"]["wrong_tools"]) == (2, 0)
    assert result["all"]["made"]
    assert "goal" in grow.table(result).lower()


@pytest.mark.slow
def test_a_script_is_measured_beside_a_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALITA_HOME", str(tmp_path / "home"))
    parser = argparse.ArgumentParser()
    code.add_arguments(parser)
    result = code.run(parser.parse_args(["--calls", "2", "--sandbox", "wasm"]))
    assert result["rows"].keys() == {"back to back", "spaced"}
    assert result["rows"]["spaced"]["ratio"]["tool"] == 1
    assert "Goal: run_code at most 2 x" in code.table(result)
