"""The benchmark of tasks: scored as GAIA scores, with answers from the records, in arms that differ as they say."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from alita_mcp.errors import UsageError
from benchmarks import agent
from benchmarks.agent import arms, materials, tally, task_file
from benchmarks.agent.scoring import exact_answer
from benchmarks.agent.site import pages

TASKS = task_file.read_tasks(task_file.OURS)


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        ("17.0", "17"), ("$1,234.50", "1234.5"), ("85%", "85"), ("1e3", "1000"), ("St. Petersburg", "st petersburg"),
        ("BRÜCKE!", "brücke"), ("Tarn, 1891", "tarn,1891.0"), ("a; b; c", "a,b,c"), (None, "None"),
    ],
)  # fmt: skip
def test_an_answer_counts_that_differs_in_form_alone(got: str | None, expected: str) -> None:
    assert exact_answer(got, expected)


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        ("17 metres", "17"), ("", "17"), ("nan", "17"), ("17.01", "17"), ("1891, Tarn", "Tarn, 1891"),
        ("Tarn", "Tarn, 1891"), ("Tarn, 1891, more", "Tarn, 1891"), ("the gull", "gull"), ("anything", "inf"),
    ],
)  # fmt: skip
def test_an_answer_does_not_count_that_says_more_less_or_something_else(got: str, expected: str) -> None:
    assert not exact_answer(got, expected)


def rounded(number: Fraction, places: int) -> str:
    exact = Decimal(number.numerator) / number.denominator
    return str(exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))


def euros(order: materials.Order) -> Fraction:
    return Fraction(order.quantity * order.cents, 100) / Fraction(
        materials.rates()[f"{order.day.month:02}"][order.currency]
    )


def most_pieces(group: str, status: str) -> str:
    pieces: Counter[str] = Counter()
    for order in materials.orders():
        pieces[getattr(order, group)] += order.quantity * (order.status == status)
    return pieces.most_common(1)[0][0]


def dollars_of_may() -> str:
    wanted = [o for o in materials.orders() if (o.status, o.currency, o.day.month) == ("shipped", "USD", 5)]
    return rounded(sum(map(euros, wanted), Fraction()), 2)


def discounted() -> str:
    wanted = [o for o in materials.orders() if (o.status, o.product) == ("shipped", "sextant")]
    return rounded(sum((euros(o) * (100 - pages.DISCOUNTS[o.region]) / 100 for o in wanted), Fraction()), 0)


def best_month(product: str) -> str:
    pieces: Counter[str] = Counter()
    for order in materials.orders():
        pieces[f"{order.day.month:02}"] += order.quantity * (order.product == product and order.day.month < 7)
    return pieces.most_common(1)[0][0]


ANSWERS: dict[str, Callable[[], str]] = {
    "returned-north": lambda: str(
        sum((o.status, o.region) == ("returned", "North") for o in materials.orders())
    ),
    "most-pieces": lambda: most_pieces("product", "shipped"),
    "top-region": lambda: most_pieces("region", "cancelled"),
    "members-2011": lambda: str(pages.MEMBERS[2011]),
    "dollars-of-may": dollars_of_may,
    "misprint": lambda: rounded(Fraction(materials.MISPRINT, 100), 2),
    "old-books": lambda: str(sum(book.year < 1900 for book in pages.books())),
    "sunday-bridge": lambda: pages.BRIDGE["Sunday"],
    "discounted": discounted,
    **{
        f"{kind}-{number}": partial(best_month, materials.PRODUCTS[3 * (number - 1) + place])
        for number in (1, 2, 3)
        for place, kind in enumerate(("pages", "packed", "three"))
    },
    "invoice-in-yen": lambda: rounded(
        Fraction(materials.invoice_total(), 100) * Fraction(materials.rates()["03"]["JPY"]), 0
    ),
}
"""By the records, never from the files or pages."""


def test_each_task_has_the_answer_that_the_records_give() -> None:
    assert {task.id: task.answer for task in TASKS} == {id_: answer() for id_, answer in ANSWERS.items()}
    assert {name for task in TASKS for name in task.files} == set(materials.MADE)


def test_tasks_in_gaias_own_form_are_read(tmp_path: Path) -> None:
    line = {
        "task_id": "a1",
        "Question": "How many?",
        "Level": 2,
        "Final answer": 7,
        "file_name": "a.csv",
        "x": 1,
    }
    file = tmp_path / "metadata.jsonl"
    file.write_text(f"{json.dumps(line)}\n\n{json.dumps({**line, 'file_name': ''})}\n")
    first, second = task_file.read_tasks(file)
    assert (first.id, first.level, first.answer, first.files) == ("a1", 2, "7", ("a.csv",))
    assert second.files == ()
    for text, said in (("{", "is no JSON"), ('{"id": "a"}', "question"), ("\n", "no such task")):
        file.write_text(text)
        with pytest.raises(UsageError, match=said):
            task_file.read_tasks(file)


def test_figures_add_up_and_the_table_names_what_was_missed() -> None:
    trials = [
        arms.Trial(id="a", level=1, answer="5", expected="5", right=True, claimed=True, steps=3, calls=4, tokens=70,
                   cost_usd=0.25, seconds=1.5),
        arms.Trial(id="b", level=2, answer="6\n| x", expected="7", right=False, claimed=True, steps=2, failed_steps=1,
                   long=True, calls=2, tokens=30, cost_usd=None, stopped="steps", seconds=0.5),
        arms.Trial(id="c", level=2, answer="", expected="8", right=False, problem="ModelError: silent", cost_usd=0.0),
    ]  # fmt: skip
    found = tally.figures(trials)
    assert (found["solved"], found["tasks"], found["by_level"]) == (1, 3, {"1": [1, 1], "2": [0, 2]})
    assert (found["claimed_and_wrong"], found["stopped"], found["broken"]) == (1, 1, 1)
    assert (found["calls"], found["tokens"], found["cost_usd"], found["seconds"]) == (6, 100, None, 2.0)
    assert found["long"] == {"right": 0, "steps": 2, "failed_steps": 1, "calls": 2, "tokens": 30}
    shown = tally.as_table({"compare": found, "react": tally.figures(trials[:1])})
    assert "| solved, exact answer | 1 of 3 | 1 of 1 |" in shown
    assert "| long tasks: steps / failed | 2 / 1 | 0 / 0 |" in shown
    assert "- b: '6 | x', expected '7'" in shown
    assert "- c: 'no answer', expected '8' (ModelError: silent)" in shown


@pytest.mark.slow
def test_plans_cost_short_tasks_no_call_and_save_long_ones_failed_steps(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ALITA_HOME", str(tmp_path))
    monkeypatch.delenv("ALITA_MODEL", raising=False)
    parser = argparse.ArgumentParser()
    agent.add_arguments(parser)
    found = agent.run(
        parser.parse_args(["--sandbox", "wasm", "--id", "returned-north", "pages-1", "pages-2"])
    )
    react, plan, compare = (cast("dict[str, Any]", found[arm]) for arm in arms.PLANS)
    assert react["solved"] == plan["solved"] == compare["solved"] == 3
    assert react["short"]["calls"] == plan["short"]["calls"] == compare["short"]["calls"]
    assert react["long"]["failed_steps"] == plan["long"]["failed_steps"] > compare["long"]["failed_steps"]
