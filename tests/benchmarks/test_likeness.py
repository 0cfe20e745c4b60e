from __future__ import annotations

import argparse
import ast
import json
from pathlib import Path

import pytest

from alita_mcp.errors import UsageError
from benchmarks.likeness import GOAL_FALSE, GOAL_FOUND, add_arguments, measure, read_scripts, run, table
from benchmarks.likeness.edits import BOTH, EDITS, SMALL, edited

FUNCTION = """def f(text, limit):
    found = []
    for word in text.split():
        if len(word) > limit:
            found.append(word)
    return sorted(found)[1:]
"""


def options(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(list(words))


def test_our_own_scripts_are_told_apart_and_found_again() -> None:
    found = measure(read_scripts()[::2], seed=2)
    assert found["false_alarms"] <= GOAL_FALSE
    assert found["found"] >= GOAL_FOUND
    assert set(found["kinds"]) == {*EDITS, *BOTH}


def test_the_figures_of_both_halves_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "programs.jsonl"
    path.write_text(json.dumps({"code": FUNCTION}) + "\n", "utf-8")
    result = run(options("--programs", str(path)))
    assert sum(half["programs"] for half in result["halves"].values()) == len(read_scripts()) + 1
    shown = table(result)
    assert "kept aside" in shown
    assert "a helper function moved" in shown
    assert ("NOT met" in shown) is not result["met"]


def test_a_file_without_code_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "programs.jsonl"
    path.write_text('{"text": 1}\n', "utf-8")
    with pytest.raises(UsageError, match="cannot be read"):
        run(options("--programs", str(path)))


@pytest.mark.parametrize("kind", EDITS)
def test_edits_make_other_programs_that_parse(kind: str) -> None:
    for seed in range(8):
        made = edited(FUNCTION if kind != "in a main" else "x = 1\nprint(x)", EDITS[kind], seed)
        assert made
        ast.parse(made)
        assert (made != ast.unparse(ast.parse(FUNCTION))) is (kind != "other layout")


def test_edits_find_no_place_in_an_empty_function() -> None:
    empty = "def f():\n    return"
    assert all(
        edited(empty, SMALL[kind], 1) is None
        for kind in ("one more variable", "another operator", "one more call")
    )
    assert edited("import os", EDITS["other names"], 1) is None
