"""One long task end to end, by the real command: research, two new tools, real data, memory when it is asked again."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest

from benchmarks.agent import materials, site
from tests.agent import made_tools, scripted_solver, scripts, talk
from tests.agent.talk import Call, Opened, Turns

pytestmark = [pytest.mark.process, pytest.mark.exhaustive]

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 300
FILES = ("orders.csv", "invoice.pdf")
FIRST = (
    "Which region ordered the most pieces in orders.csv, counting orders with the status shipped only? Take the "
    "discount of that region, which a page of {site}/ lists, off the right total of invoice.pdf (VAT on the net sum "
    "of each rate, rounded to the cent). How many euros are left, with two decimals?"
)
AGAIN = (
    "Please compute the right total of invoice.pdf (VAT on the net sum of each rate, rounded to the cent), and take "
    "off it the discount that {site}/ lists for the region that ordered the most pieces in orders.csv, shipped orders "
    "only. How many euros are left? Two decimals."
)
VAT = made_tools.Written(
    specification={
        "name": "total_with_vat",
        "description": "Adds up lines of an invoice and the VAT on the net sum of each rate, rounded to the cent.",
        "signature": "def total_with_vat(quantities: list[int], prices: list[float], rates: list[int]) -> float",
        "rules": [
            "The lists have the same length; otherwise ValueError is raised.",
            "VAT is computed once for each rate on the net sum of its lines and rounded half up to the cent.",
            "Without lines the total is 0.0; a negative rate raises ValueError.",
        ],
        "use_when": [
            "total of an invoice with VAT", "gross sum of lines with two VAT rates", "check an invoice total",
            "add 19 percent and 7 percent VAT by rate", "what should this bill come to",
        ],
    },
    suites=(
        [
            {"arguments": {"quantities": [1], "prices": [100.0], "rates": [19]}, "expected": 119.0},
            {"arguments": {"quantities": [2, 1], "prices": [10.0, 5.0], "rates": [7, 19]}, "expected": 27.35},
            {"arguments": {"quantities": [], "prices": [], "rates": []}, "expected": 0.0},
            {"arguments": {"quantities": [3], "prices": [0.5], "rates": [0]}, "expected": 1.5},
            {"arguments": {"quantities": [1], "prices": [], "rates": [19]}, "raises": "ValueError"},
            {"arguments": {"quantities": [1], "prices": [1.0], "rates": [-1]}, "raises": "ValueError"},
        ],
        [
            {"arguments": {"quantities": [1, 1], "prices": [0.5, 0.5], "rates": [7, 7]}, "expected": 1.07},
            {"arguments": {"quantities": [10], "prices": [1.99], "rates": [19]}, "expected": 23.68},
            {"arguments": {"quantities": [4, 2], "prices": [25.0, 50.0], "rates": [19, 19]}, "expected": 238.0},
            {"arguments": {"quantities": [1, 2], "prices": [1.0], "rates": [19, 7]}, "raises": "ValueError"},
        ],
    ),
    code='''from decimal import ROUND_HALF_UP, Decimal


def total_with_vat(quantities: list[int], prices: list[float], rates: list[int]) -> float:
    """Adds up lines of an invoice and the VAT on the net sum of each rate, rounded to the cent.

    Args:
        quantities: How many, for each line.
        prices: Net price of one, for each line.
        rates: VAT in per cent, for each line.
    """
    if not len(quantities) == len(prices) == len(rates):
        raise ValueError("the lists differ in length")
    if any(rate < 0 for rate in rates):
        raise ValueError("a rate is negative")
    total = Decimal(0)
    for rate in sorted(set(rates)):
        net = sum(
            (count * Decimal(str(price)) for count, price, own in zip(quantities, prices, rates) if own == rate),
            Decimal(0),
        )
        total += net + (net * rate / 100).quantize(Decimal("0.01"), ROUND_HALF_UP)
    return float(total)
''',
)  # fmt: skip
NEEDS_VAT = {
    "need": "total of an invoice with VAT on the net sum of each rate",
    "request": {
        "description": "total_with_vat: the total of an invoice's lines, with VAT on the net sum of each rate, "
        "rounded to the cent.",
        "reason": "Invoices come every month.",
    },
}
COMPOSED = scripts.HALF_UP + scripts.CELLS + (
    "from alita_tools import top_group_by_sum, total_with_vat\n"
    "region = top_group_by_sum(text=orders, group='region', value='quantity', where='status', equals='shipped')\n"
    "found = re.findall(r'(\\d+)\\W+(\\d+\\.\\d\\d)\\W+(7|19)\\b', invoice)\n"
    "total = total_with_vat(quantities=[int(q) for q, _, _ in found], prices=[float(p) for _, p, _ in found], "
    "rates=[int(r) for _, _, r in found])\n"
    "off = {row[0]: int(row[1].split()[0]) for row in cells(page) if row[1].endswith('%')}\n"
    "print(f'ANSWER[{rounded(Decimal(str(total)) * (100 - off[region]) / 100, 2)}]')"
)  # fmt: skip


def solver(opened: Opened) -> Turns:
    """Researches, builds and composes; with a memory of it, composes at once."""
    known = "top_group_by_sum" in opened.memory and "total_with_vat" in opened.memory
    discounts = f"{opened.site}/discounts"
    if not known:
        (index,) = yield (talk.read_page(f"{opened.site}/"),)
        found = re.search(r"http://[\w.:]+/discounts", index)
        discounts = found[0] if found else discounts
        yield from talk.with_tool("top_group_by_sum", **made_tools.TOP_GROUP)
        yield from talk.with_tool("total_with_vat", **NEEDS_VAT)
    page, invoice = yield (talk.read_page(discounts), talk.read_file("invoice.pdf"))
    (seen,) = yield (
        Call(
            "run_code",
            {
                "code": COMPOSED,
                "arguments": {
                    "orders": {"$file": "orders.csv"},
                    "page": talk.part(page),
                    "invoice": talk.part(invoice),
                },
                "reason": "Two tools of the library in one program.",
            },
        ),
    )
    answer = talk.answer_in(seen)
    yield (talk.finish(answer, seen) if answer else talk.give_up(),)


def expected() -> str:
    """By the records themselves."""
    pieces: dict[str, int] = {}
    for order in materials.orders():
        pieces[order.region] = pieces.get(order.region, 0) + order.quantity * (order.status == "shipped")
    off = site.pages.DISCOUNTS[max(pieces, key=lambda region: pieces[region])]
    left = Decimal(materials.invoice_total() * (100 - off)) / 10_000
    return str(left.quantize(Decimal("0.01"), ROUND_HALF_UP))


def solve(task: str, files: list[Path], url: str, host: str, home: Path) -> dict[str, Any]:
    """`alita solve` as a process."""
    given = {"HOME": str(home), "SANDBOX": "wasm", "MODEL": scripted_solver.MODEL, "MODEL_BASE_URL": url,
             "WEB_ALLOW": host}  # fmt: skip
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ALITA_")}
    environment |= {f"ALITA_{name}": value for name, value in given.items()}
    words = [word for file in files for word in ("--file", str(file))]
    done = subprocess.run(
        [sys.executable, "-m", "alita_mcp.cli.main", "solve", task, *words, "--yes", "--json"],
        capture_output=True, text=True, timeout=PATIENCE_S, check=False, env={**environment, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout[-1_000:], done.stderr[-2_000:])
    return dict(json.loads(done.stdout))


def test_a_task_is_researched_built_and_solved_and_asked_again_it_is_remembered(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    files = materials.write(data, FILES, data)
    asked: list[dict[str, Any]] = []
    model = scripted_solver.Solver(
        script_for=lambda _task: solver, written={**made_tools.WRITTEN, "total_with_vat": VAT}
    )
    with scripted_solver.serving(asked, model) as url, site.served() as web:
        first = solve(FIRST.format(site=web.url), files, url, web.host, tmp_path / "home")
        asked_first = len(asked)
        again = solve(AGAIN.format(site=web.url), files, url, web.host, tmp_path / "home")
    assert first["answer"] == expected()
    assert sorted(first["tools_made"]) == ["top_group_by_sum", "total_with_vat"]
    assert {"top_group_by_sum", "total_with_vat"} <= set(first["tools_used"])
    ways = [step["decision"]["way"] for step in first["steps"] if step["decision"]]
    assert ways == ["build", "build", "compose"]
    assert any(source["url"] == f"{web.url}/discounts" for source in first["sources"])
    assert again["recalled"]
    assert (again["answer"], again["tools_made"]) == (expected(), [])
    assert {"top_group_by_sum", "total_with_vat"} <= set(again["tools_used"])
    assert again["calls"] < first["calls"]
    assert len(asked) - asked_first < asked_first
    assert len(again["steps"]) < len(first["steps"])
    sent = max(len(json.dumps(body)) for body in asked)
    assert sent < 60_000 < files[0].stat().st_size
