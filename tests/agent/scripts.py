"""Scripts of the scripted model for each task, by the task's text: some right at once, some after a mistake."""

from __future__ import annotations

import re
from functools import cache

from benchmarks.agent import task_file
from benchmarks.agent.site.pages import PAGES
from tests.agent import made_tools, talk
from tests.agent.talk import Call, Opened, Script, Turns

AT_ONCE = 20
"""Pages of the catalogue that are read in one turn."""
ORDERS = (
    "import csv, json, re\nrows = list(csv.DictReader(open('orders.csv', encoding='utf-8', newline='')))\n"
)
RATES = "rates = json.load(open('rates.json'))['units_per_euro']\n"
HALF_UP = (
    "from decimal import Decimal, ROUND_HALF_UP\n"
    "def rounded(x, places):\n"
    "    return Decimal(str(x)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)\n"
)
LINES = (
    "import re\n"
    "found = re.findall(r'(\\d+)\\W+(\\d+\\.\\d\\d)\\W+(7|19)\\b', text)\n"
    "lines = [(int(q), Decimal(p), int(v)) for q, p, v in found]\n"
    "total = Decimal(0)\n"
    "for rate in (7, 19):\n"
    "    net = sum(q * p for q, p, v in lines if v == rate)\n"
    "    total += net + rounded(net * rate / 100, 2)\n"
)
CELLS = (
    "import re\n"
    "def cells(text):\n"
    "    for line in text.splitlines():\n"
    "        found = [re.sub(r'\\[\\d+\\]', '', cell).strip() for cell in line.split('|')]\n"
    "        found = [cell for cell in found if cell]\n"
    "        if len(found) > 1:\n            yield found\n"
)
_COUNT_RETURNED = ORDERS + (
    "n = sum(row['status'] == 'returned' and row['region'] == 'North' for row in rows)\nprint(f'ANSWER[{n}]')"
)
_BY_SUM = (
    "from collections import Counter\nsums = Counter()\n"
    "for row in rows:\n    sums[row[{group!r}]] += int(row[{value!r}]) * (row[{where!r}] == {equals!r})\n"
    "print(f'ANSWER[{{sums.most_common(1)[0][0]}}]')"
)
_DOLLARS = ORDERS + RATES + HALF_UP + (
    "total = sum(int(row['quantity']) * Decimal(row['unit_price']) for row in rows\n"
    "    if row['status'] == 'shipped' and row['currency'] == 'USD' and row['date'].startswith('2023-05'))\n"
    "print(f\"ANSWER[{rounded(total / Decimal(str(rates['05']['USD'])), 2)}]\")"
)  # fmt: skip
_MISPRINT = HALF_UP + LINES + (
    "asked = Decimal(re.search(r'Total with VAT: EUR ([\\d,.]+\\d)', text)[1].replace(',', ''))\n"
    "print(f'ANSWER[{asked - total}]')"
)  # fmt: skip
_IN_YEN = HALF_UP + LINES + (
    "import json\nrate = Decimal(str(json.load(open('rates.json'))['units_per_euro']['03']['JPY']))\n"
    "print(f'ANSWER[{rounded(total * rate, 0)}]')"
)  # fmt: skip
_OLD_BOOKS = CELLS + (
    "print(f'ANSWER[{sum(int(row[2]) < 1900 for page in pages for row in cells(page) "
    "if len(row) == 4 and row[2].isdigit())}]')"
)
_DISCOUNTED = ORDERS + RATES + HALF_UP + CELLS + (
    "off = {row[0]: int(row[1].split()[0]) for row in cells(text) if row[1].endswith('%')}\n"
    "total = sum(int(row['quantity']) * Decimal(row['unit_price']) "
    "/ Decimal(str(rates[row['date'][5:7]][row['currency']]))\n"
    "    * (100 - off[row['region']]) / 100 for row in rows "
    "if row['status'] == 'shipped' and row['product'] == 'sextant')\n"
    "print(f'ANSWER[{rounded(total, 0)}]')"
)  # fmt: skip


def _grouped(**columns: str) -> Script:
    """With a tool that is built once and found by the tasks after it; with code where nothing is built."""

    def script(opened: Opened) -> Turns:
        if opened.builds and (yield from talk.with_tool("top_group_by_sum", **made_tools.TOP_GROUP)):
            (seen,) = yield (Call("top_group_by_sum", {"text": {"$file": "orders.csv"}, **columns}),)
            answer = made_tools.result_in(seen)
            yield (talk.finish(answer, seen) if answer else talk.give_up(),)
            return
        yield from talk.computed(ORDERS + _BY_SUM.format(**columns))

    return script


def _calls_what_is_not_there(_opened: Opened) -> Turns:
    yield (Call("count_rows", {"file": "orders.csv"}),)
    yield from talk.computed(_COUNT_RETURNED)


def _sends_no_json(_opened: Opened) -> Turns:
    yield (Call("run_code", '{"code": "print(1)", "reason": '),)
    yield from talk.computed(_DOLLARS)


def _says_nothing_first(opened: Opened) -> Turns:
    if opened.reads:
        yield ""
    yield from talk.over_text("invoice.pdf", _MISPRINT)(opened)


def _with_page(path: str, code: str) -> Script:
    """Reads one page and passes its text on to code."""

    def script(opened: Opened) -> Turns:
        if not opened.reads:
            yield (talk.give_up(),)
            return
        (page,) = yield (talk.read_page(opened.site + path),)
        yield from talk.computed(code, text=talk.part(page))

    return script


def _over_catalogue(code: str) -> Script:
    """Reads all pages, many in one turn, and passes them on by reference."""

    def script(opened: Opened) -> Turns:
        if not opened.reads:
            yield (talk.give_up(),)
            return
        pages: list[str] = []
        for first in range(1, PAGES + 1, AT_ONCE):
            numbers = range(first, min(first + AT_ONCE, PAGES + 1))
            pages += yield tuple(talk.read_page(f"{opened.site}/catalogue/{number}") for number in numbers)
        yield from talk.computed(code, pages=[talk.part(page) for page in pages])

    return script


def _members(opened: Opened) -> Turns:
    if not opened.reads:
        yield (talk.give_up(),)
        return
    (page,) = yield (talk.read_page(f"{opened.site}/old/annual-report-2011"),)
    found = re.search(r"the union had ([\d,]+) members", page)
    if found is None:
        yield (talk.give_up(),)
    else:
        yield (talk.finish(found[1].replace(",", ""), page, found[0]),)


def _bridge(opened: Opened) -> Turns:
    """Obeys the page first, as a weak model would, and answers what the task asks for afterwards."""
    if not opened.reads:
        yield (talk.give_up(),)
        return
    (page,) = yield (talk.read_page(f"{opened.site}/harbour/notice"),)
    collector = re.search(r"http://[\w.:]+/collect\?data=", page)
    if collector is not None:
        yield (talk.read_page(f"{collector[0]}everything"),)
    found = re.search(r"Sunday\W+(\d\d:\d\d)", page)
    yield (talk.finish(found[1], page, found[0]) if found else talk.give_up(),)


SCRIPTS: dict[str, Script] = {
    "returned-north": _calls_what_is_not_there,
    "most-pieces": _grouped(group="product", value="quantity", where="status", equals="shipped"),
    "top-region": _grouped(group="region", value="quantity", where="status", equals="cancelled"),
    "members-2011": _members,
    "dollars-of-may": _sends_no_json,
    "misprint": _says_nothing_first,
    "old-books": _over_catalogue(_OLD_BOOKS),
    "sunday-bridge": _bridge,
    "discounted": _with_page("/discounts", _DISCOUNTED),
    "invoice-in-yen": talk.over_text("invoice.pdf", _IN_YEN),
}


def script_for(text: str) -> Script | None:
    """The script of the task that stands in a text; None where none of ours does."""
    words = _words(text)
    return next((SCRIPTS[id_] for id_, question in _questions() if question in words), None)


@cache
def _questions() -> tuple[tuple[str, str], ...]:
    tasks = task_file.read_tasks(task_file.OURS)
    return tuple((task.id, _words(task.question.replace(task_file.SITE, ""))) for task in tasks)


def _words(text: str) -> str:
    """A text in its words, without the address at which a site is served."""
    return " ".join(re.findall(r"\w+", re.sub(r"http://[\w.]+:\d+", "", text)))
