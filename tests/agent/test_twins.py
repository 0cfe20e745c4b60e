"""Twins of tasks in real processes: what the first one found out, the second one does not find out again."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.models.openai_server import Request, Sends, openai_server
from tests.research.local_site import Reply, local_site
from tests.server.processes import PATIENCE_S, ROOT

Call = tuple[str, dict[str, Any]]


class Twin(NamedTuple):
    """A task, and how a model goes about it that knows nothing."""

    task: str
    answer: str
    steps: Sequence[Call]
    """Its calls, one a turn; the last one gives the answer."""
    values: Mapping[str, Any]
    """What differs in the twin: the other one's value → this one's."""
    files: Sequence[str] = ()


SALES = "day,amount\n" + "".join(f"2024-01-{day:02},{day}\n" for day in range(1, 29)) + "x,n/a\n"
ORDERS = "day,price\n" + "".join(f"2024-02-{day:02},{2 * day}\n" for day in range(1, 29)) + "x,n/a\n"
NAIVE = "import csv\nsum(float(row['{column}']) for row in csv.DictReader(open('{file}')))"
ADDS = """import csv

# rows without a number do not count
values = [row["{column}"] for row in csv.DictReader(open("{file}"))]
sum(float(value) for value in values if value.replace(".", "").isdigit())
"""
PRIMES = """limit = {number}
is_prime = [True] * limit
total = 0
for candidate in range(2, limit):
    if is_prime[candidate]:
        total += candidate
        for multiple in range(candidate * candidate, limit, candidate):
            is_prime[multiple] = False
total
"""


def table(file: str, column: str, answer: str) -> Twin:
    code = {"file": file, "column": column}
    return Twin(
        f"What is the sum of {column} in {file}? Answer with the number alone.", answer,
        [
            ("read_file", {"name": file}), ("run_code", {"code": NAIVE.format(**code), "reason": "add"}),
            ("run_code", {"code": ADDS.format(**code), "reason": "add what are numbers"}),
        ],
        {"sales.csv": "orders.csv", "amount": "price"}, (file,),
    )  # fmt: skip


def calculation(number: int, answer: str) -> Twin:
    return Twin(
        f"What is the sum of all primes below {number:,}? Answer with the number alone.", answer,
        [
            ("search_capabilities", {"query": "sum of primes"}),
            ("run_code", {"code": f"sum(filter(is_prime, range({number})))", "reason": "add"}),
            ("run_code", {"code": PRIMES.format(number=number), "reason": "sieve"}),
        ],
        {"3000": 5000},
    )  # fmt: skip


def page(place: str, town: str, answer: str) -> Twin:
    home = f"http://{place}/"
    return Twin(
        f"How many inhabitants has {town}, by the statistics of {home} ? Answer with the number alone.", answer,
        [("read_page", {"url": url}) for url in (home, f"{home}areas", f"{home}areas/towns")], {},
    )  # fmt: skip


PAGES = {
    "/": "<h1>Statistics</h1><p>Read about the <a href='/areas'>areas</a> of the country and its people.</p>",
    "/areas": "<h1>Areas</h1><p>There are <a href='/areas/towns'>towns</a> and villages in each area.</p>",
    "/areas/towns": "<h1>Towns</h1><table><tr><th>town</th><th>people</th></tr><tr><td>Lyon</td><td>522250</td></tr>"
    "<tr><td>Nice</td><td>348085</td></tr></table>",
}  # fmt: skip


def reply(twin: Twin, request: Request) -> Sends:
    """The model: what it reads of earlier runs decides what it does; a token has four characters."""
    opening = next(str(each["content"]) for each in request.messages if each["role"] == "user")
    seen = [str(each["content"]) for each in request.messages if each["role"] == "tool"]
    known = re.search(r'run_code\(code=\{"\$ref": "(m\d+)/code"\}, arguments=(\{.*?\})\)', opening)
    read = re.search(r"Read before at (\S+):", opening)
    steps = list(twin.steps)
    if known:
        values = {name: twin.values.get(str(value), value) for name, value in json.loads(known[2]).items()}
        steps = [
            ("run_code", {"code": {"$ref": f"{known[1]}/code"}, "arguments": values, "reason": "as before"})
        ]
    elif read:
        steps = [("read_page", {"url": read[1]})]
    if len(seen) < len(steps):
        name, arguments = steps[len(seen)]
    else:
        assert twin.answer in seen[-1], seen[-1]
        reference = re.search(r'name="(\w+)"', seen[-1])
        assert reference
        claim = {"claim": f"It is {twin.answer}", "reference": reference[1], "quote": twin.answer}
        name, arguments = "finish", {"answer": twin.answer, "solved": True, "claims": [claim]}
    call = {"name": name, "arguments": json.dumps(arguments)}
    calls = [{"id": f"c{len(seen)}", "type": "function", "function": call}]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    prompt, completion = len(json.dumps(request.body)) // 4, len(json.dumps(message)) // 4
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    said = {"id": "1", "object": "chat.completion", "created": 1, "model": "scripted", "usage": usage}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    return Sends(json.dumps({**said, "choices": [choice]}).encode())


def solve(twin: Twin, home: Path, **settings: str) -> dict[str, Any]:
    """The solution of a real process."""
    with openai_server(lambda request: reply(twin, request)) as (url, _):
        given = {
            **{name: value for name, value in os.environ.items() if not name.startswith("ALITA_")},
            "ALITA_HOME": str(home), "ALITA_SANDBOX": "wasm", "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "sk-test",
            "ALITA_MODEL": "openai/scripted", "ALITA_MODEL_BASE_URL": url, **settings,
        }  # fmt: skip
        files = [word for name in twin.files for word in ("--file", str(home.parent / name))]
        words = [
            sys.executable,
            "-m",
            "alita_mcp.cli.main",
            "solve",
            twin.task,
            "--json",
            "--plans",
            "0",
            *files,
        ]
        done = subprocess.run(
            words, env=given, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    assert done.returncode == 0, done.stderr + done.stdout
    solution: dict[str, Any] = json.loads(done.stdout)
    assert solution["answer"] == twin.answer
    return solution


@pytest.mark.process
@pytest.mark.sample(1)
@pytest.mark.parametrize("sort", ["table", "calculation", "page"])
def test_the_second_of_two_like_tasks_takes_half_the_steps_and_60_percent_of_the_tokens(
    sort: str, home: Path, tmp_path: Path
) -> None:
    (home.parent / "sales.csv").write_text(SALES)
    (home.parent / "orders.csv").write_text(ORDERS)
    pages = {path: Reply(f"<html><body>{body}</body></html>".encode()) for path, body in PAGES.items()}
    with local_site(pages) as site:
        first, second = {
            "table": (table("sales.csv", "amount", "406.0"), table("orders.csv", "price", "812.0")),
            "calculation": (calculation(3000, "593823"), calculation(5000, "1548136")),
            "page": (page(site.place, "Lyon", "522250"), page(site.place, "Nice", "348085")),
        }[sort]
        one, two = (solve(twin, home, ALITA_WEB_ALLOW=site.place) for twin in (first, second))
    assert (len(one["steps"]), len(two["steps"])) == (3, 1)
    assert two["tokens"] <= 0.6 * one["tokens"]
    assert one["proposal"] is None
    if sort == "calculation":
        assert [each["expected"] for each in two["proposal"]["tests"]] == [593823, 1548136]
