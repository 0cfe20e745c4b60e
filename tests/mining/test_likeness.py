from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alita_mcp.mining.comparison.likeness import ALIKE_FROM, alike, groups, likeness
from alita_mcp.mining.comparison.normal_form import MAX_FEATURES, normal_form
from alita_mcp.mining.values import NormalForm

SCRIPTS = Path(__file__).with_name("scripts.txt")
REPORT = """
import csv
with open("a.csv") as handle:
    rows = list(csv.DictReader(handle))
total = 0
for row in rows:
    total += float(row["price"]) * int(row["count"])
print(round(total, 2))
"""
SHARED = st.dictionaries(st.integers(0, 14).map("{:04x}".format), st.integers(1, 4), max_size=12)


def form(features: dict[str, int]) -> NormalForm:
    return NormalForm(digest=str(sorted(features.items())), size=len(features), features=features)


@pytest.mark.parametrize(
    "edited",
    [
        REPORT.replace("total", "sum_of_all").replace("a.csv", "b.csv"),
        REPORT + "print(len(rows))\n",
        REPORT.replace("    total +=", "    if row['price']:\n        total +="),
        REPORT.replace('float(row["price"])', "price").replace(
            "    total +=", '    price = float(row["price"])\n    total +='),
        REPORT.replace('float(row["price"])', "price(row)") + "def price(row):\n    return float(row['price'])\n",
        "try:" + REPORT.replace("\n", "\n    ") + "\nexcept OSError as error:\n    print(error)",
        "def main():" + REPORT.replace("\n", "\n    ") + "\nmain()",
        REPORT.replace("round(total, 2)", "total"),
    ],
    ids=["names and values", "print", "condition", "variable", "helper", "try", "main", "call"],
)  # fmt: skip
def test_a_small_edit_leaves_programs_alike(edited: str) -> None:
    assert alike(normal_form(REPORT), normal_form(edited))


def test_different_programs_are_not_alike() -> None:
    forms = [normal_form(code) for code in SCRIPTS.read_text("utf-8").split("\n# ---\n")]
    assert groups(forms) == [[at] for at in range(len(forms))]


def test_small_programs_need_more_than_a_frame_in_common() -> None:
    upper, lower = (normal_form(f"def f(text):\n    return text.{name}()") for name in ("upper", "lower"))
    assert likeness(upper, lower) < ALIKE_FROM


@given(SHARED, SHARED)
def test_likeness_is_a_symmetric_share(one: dict[str, int], other: dict[str, int]) -> None:
    found = likeness(form(one), form(other))
    assert found == likeness(form(other), form(one))
    assert 0 <= found <= 1
    assert likeness(form(one), form(one)) == 1


def test_what_is_added_counts_a_third() -> None:
    words = [f"{index:04x}" for index in range(16)]
    assert likeness(form(dict.fromkeys(words[:10], 1)), form(dict.fromkeys(words, 1))) == pytest.approx(
        10 / 12
    )


def test_a_function_of_its_own_changes_next_to_nothing() -> None:
    one = normal_form("for line in open(path):\n    print(line.strip().split(',')[0].upper())")
    other = normal_form(
        "def f(line):\n    return line.strip().split(',')[0]\nfor line in open(path):\n    print(f(line).upper())"
    )
    assert likeness(one, other) > 0.85


@settings(deadline=None)
@given(st.lists(SHARED, max_size=12))
def test_groups_are_those_that_comparing_all_finds(features: list[dict[str, int]]) -> None:
    forms = [form(each) for each in features]
    found: dict[int, list[int]] = {}
    same: dict[str, list[int]] = {}
    for at, each in enumerate(forms):
        same.setdefault(each.digest, []).append(at)
    for members in sorted(same.values(), key=lambda each: (-len(each), each[0])):
        scored = [(likeness(forms[members[0]], forms[leader]), -leader) for leader in found]
        best = max(scored, default=(0.0, 0))
        if best[0] >= ALIKE_FROM:
            found[-best[1]].extend(members)
        else:
            found[members[0]] = list(members)
    assert groups(forms) == sorted(sorted(each) for each in found.values())


def test_runs_of_a_program_stand_in_one_group_whatever_ran_between() -> None:
    other = "import json\nprint(json.loads(text)['a'])"
    codes = [
        REPORT,
        other,
        REPORT + "print(rows)\n",
        other.replace("text", "body"),
        REPORT.replace("row", "line"),
    ]
    assert groups([normal_form(code) for code in codes]) == [[0, 2, 4], [1, 3]]


def test_like_by_way_of_a_third_is_not_one_group() -> None:
    chain = [form({f"{at + step:04x}": 1 for step in range(10)}) for at in (0, 3, 6)]
    assert [alike(chain[0], chain[1]), alike(chain[1], chain[2]), alike(chain[0], chain[2])] == [
        True,
        True,
        False,
    ]
    assert groups(chain) == [[0, 1], [2]]


def test_forms_that_were_cut_are_compared_by_what_both_kept() -> None:
    def long(seed: int) -> str:
        drawn = random.Random(seed)
        lines = [f"x{index} = a.method{index}(x{drawn.randrange(index + 1)})" for index in range(600)]
        return "\n".join([*lines, "print(x0)"])

    code = long(1)
    short = "\n".join(code.splitlines()[:450])
    whole, part = normal_form(code), normal_form(short)
    assert len(whole.features) == len(part.features) == MAX_FEATURES
    assert alike(whole, part)
    assert not alike(whole, normal_form(code.replace("method", "other")))


def test_two_thousand_programs_are_grouped_without_comparing_each_with_each() -> None:
    drawn, words = random.Random(5), [f"{index:04x}" for index in range(4000)]
    bases = [dict.fromkeys(drawn.sample(words, 60), 1) for _ in range(500)]
    forms = [form({**base, **dict.fromkeys(drawn.sample(words, 6), 1)}) for base in bases for _ in range(4)]
    assert groups(forms) == [list(range(at, at + 4)) for at in range(0, 2000, 4)]
