"""Scripts for the tasks over files: some right at once, some after a mistake, one never."""

from __future__ import annotations

import re
from datetime import datetime

from benchmarks.agent.scripts import made_tools, talk
from benchmarks.agent.scripts.talk import Call, Opened, Script, Turns

_DATE = re.compile(r"\d+ [A-Z]\w+ \d{4}")
_CSV = (
    "import csv, json, re\nrows = list(csv.DictReader(open({name!r}, encoding='utf-8', newline=''){more}))\n"
)
ORDERS = _CSV.format(name="orders.csv", more="")
READINGS = _CSV.format(name="readings.csv", more="")
STAFF = _CSV.format(name="staff.csv", more=", delimiter=';'")
RATES = "rates = json.load(open('rates.json'))['units_per_euro']\n"
HALF_UP = (
    "from decimal import Decimal, ROUND_HALF_UP\n"
    "def rounded(x, places):\n"
    "    return Decimal(str(x)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)\n"
)
LOG = (
    "import re\nfrom datetime import datetime, timezone\n"
    "lines = re.findall(r'^(\\S+) - - \\[(.*?)\\] \"(\\S+) (\\S+) .*?\" (\\d+) (\\d+)$', "
    "open('access.log').read(), re.M)\n"
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
HARVEST = (
    "import re\nyears, found = [], {}\n"
    "for line in text.splitlines():\n"
    "    words = re.findall(r'[\\w.]+', line)\n"
    "    if words[:1] == ['District'] and len(words) > 3:\n"
    "        years = [int(word) for word in words[1:]]\n"
    "    elif len(words) == 6 and all(re.fullmatch(r'\\d+\\.\\d', word) for word in words[1:]):\n"
    "        found.setdefault(words[0], {}).update(zip(years, map(float, words[1:])))\n"
)
_COUNT_RETURNED = ORDERS + (
    "n = sum(row['status'] == 'returned' and row['region'] == 'North' for row in rows)\nprint(f'ANSWER[{n}]')"
)
_BY_SUM = (
    "from collections import Counter\nsums = Counter()\n"
    "for row in rows:\n    sums[row[{group!r}]] += int(row[{value!r}]) * (row[{where!r}] == {equals!r})\n"
    "print(f'ANSWER[{{sums.most_common(1)[0][0]}}]')"
)
_KILOS = HALF_UP + (
    "import json\nkg = {'kg': Decimal(1), 'g': Decimal('0.001'), 'lb': Decimal('0.45359237')}\n"
    "stores = json.load(open('inventory.json'), parse_float=Decimal)['warehouses']\n"
    "total = sum(item['count'] * item['weight_each']['value'] * kg[item['weight_each']['unit']]\n"
    "    for store in stores if store['name'] == 'Kaster' for shelf in store['shelves'] for item in shelf['items'])\n"
    "print(f'ANSWER[{rounded(total, 2)}]')"
)
_MOST_404 = LOG + (
    "from collections import Counter\n"
    "counts = Counter(line[0] for line in lines if line[4] == '404')\n"
    "print(f'ANSWER[{counts.most_common(1)[0][0]}]')"
)
_DOLLARS = ORDERS + RATES + HALF_UP + (
    "total = sum(int(row['quantity']) * Decimal(row['unit_price']) for row in rows\n"
    "    if row['status'] == 'shipped' and row['currency'] == 'USD' and row['date'].startswith('2023-05'))\n"
    "print(f\"ANSWER[{rounded(total / Decimal(str(rates['05']['USD'])), 2)}]\")"
)  # fmt: skip
_BEST_PAID = STAFF + HALF_UP + (
    "import statistics\nfrom collections import defaultdict\npaid = defaultdict(list)\n"
    "for row in rows:\n"
    "    if row['contract'] == 'full-time':\n"
    "        paid[row['department']].append(Decimal(row['salary'].replace(',', '.')))\n"
    "medians = {name: statistics.median(values) for name, values in paid.items()}\n"
    "best = max(medians, key=medians.get)\nprint(f'ANSWER[{best}, {rounded(medians[best], 0)}]')"
)  # fmt: skip
_LONGEST = (
    "import json\nfrom datetime import datetime\n"
    "flights = json.load(open('flights.json'))\n"
    "took = lambda f: datetime.fromisoformat(f['arrives']) - datetime.fromisoformat(f['departs'])\n"
    "print(f\"ANSWER[{max(flights, key=took)['flight']}]\")"
)
_GROWTH = HALF_UP + HARVEST + (
    "a, b = (sum(Decimal(str(row[year])) for row in found.values()) for year in (2015, 2020))\n"
    "print(f'ANSWER[{rounded(100 * (b - a) / a, 1)}]')"
)  # fmt: skip
_BEST_2017 = HARVEST + "print(f'ANSWER[{max(found, key=lambda name: found[name][2017])}]')"
_MISPRINT = HALF_UP + LINES + (
    "asked = Decimal(re.search(r'Total with VAT: EUR ([\\d,.]+\\d)', text)[1].replace(',', ''))\n"
    "print(f'ANSWER[{asked - total}]')"
)  # fmt: skip
_IN_YEN = HALF_UP + LINES + (
    "import json\nrate = Decimal(str(json.load(open('rates.json'))['units_per_euro']['03']['JPY']))\n"
    "print(f'ANSWER[{rounded(total * rate, 0)}]')"
)  # fmt: skip
_BYTES = LOG + HALF_UP + (
    "begin, end = (datetime(2024, 2, 29, hour, tzinfo=timezone.utc) for hour in (8, 10))\n"
    "size = sum(int(n) for _, at, method, _, status, n in lines if method == 'GET' and status == '200'\n"
    "    and begin <= datetime.strptime(at, '%d/%b/%Y:%H:%M:%S %z') < end)\n"
    "print(f'ANSWER[{rounded(Decimal(size) / 1048576, 2)}]')"
)  # fmt: skip
_EARLIEST = (
    "import re\nfirst, second = text.split('Ferries Brant')\n"
    "pairs = lambda part: re.findall(r'(\\d\\d:\\d\\d)\\W+(\\d\\d:\\d\\d)', part)\n"
    "minute = lambda clock: int(clock[:2]) * 60 + int(clock[3:])\n"
    "print('ANSWER[%s]' % min(end for leave, at in pairs(first) for on, end in pairs(second)\n"
    "    if leave > '09:40' and minute(on) - minute(at) >= 10))"
)
_LETTERS = (
    "import re\nfrom collections import Counter\nfrom datetime import datetime, date\ncounts = Counter()\n"
    "for line in open('letters.txt'):\n"
    "    found = re.match(r'No. \\d+. (\\w+) .*?, (\\d{4}-\\d\\d-\\d\\d|\\d+ \\w+ \\d{4})\\.', line)\n"
    "    if found:\n"
    "        way = '%Y-%m-%d' if '-' in found[2] else '%d %B %Y'\n"
    "        day = datetime.strptime(found[2], way).date()\n"
    "        counts[found[1]] += date(1887, 5, 1) <= day <= date(1887, 7, 31)\n"
    "print(f'ANSWER[{counts.most_common()[-1][0]}]')"
)
"""Forgets one way to write a date and reads the counts from their end: a wrong answer that an observation says."""
_FLOUR = HALF_UP + (
    "import re\na, b, c, grams = map(int, re.search(r'(\\d+) (\\d)/(\\d) cups flour .1 cup = (\\d+) g', "
    "open('recipe.txt').read()).groups())\n"
    "print(f'ANSWER[{rounded((a + Decimal(b) / c) * grams * 30 / 12, 0)}]')"
)
_DAYS = (
    "import re\nfrom datetime import datetime\n"
    "found = re.findall(r'\\d+ [A-Z]\\w+ \\d{4}', open('minutes.txt').read())\n"
    "days = [datetime.strptime(day, '%d %B %Y') for day in found]\n"
    "print(f'ANSWER[{(max(days) - min(days)).days}]')"
)
_REPORTS = STAFF + (
    "text = open('minutes.txt').read()\n"
    "name = re.search(r'ballots (\\w+ \\w+) was elected chair', text)[1]\n"
    "below = {}\n"
    "for row in rows:\n    below.setdefault(row['manager'], []).append(row['id'])\n"
    "left, n = [row['id'] for row in rows if row['name'] == name], 0\n"
    "while left:\n    direct = below.get(left.pop(), [])\n    n += len(direct)\n    left += direct\n"
    "print(f'ANSWER[{n}]')"
)


def _grouped(file: str, rows: str, delimiter: str, **columns: str) -> Script:
    """With a tool that is built once and found by the tasks after it; with code where nothing is built."""

    def script(opened: Opened) -> Turns:
        if opened.builds and (yield from talk.with_tool("top_group_by_sum", **made_tools.TOP_GROUP)):
            (seen,) = yield (
                Call("top_group_by_sum", {"text": {"$file": file}, "delimiter": delimiter, **columns}),
            )
            answer = made_tools.result_in(seen)
            yield (talk.finish(answer, seen) if answer else talk.give_up(),)
            return
        yield from talk.computed(rows + _BY_SUM.format(**columns))

    return script


def _council_days(opened: Opened) -> Turns:
    if opened.reads:
        (read,) = yield (talk.read_file("minutes.txt"),)
        if opened.builds and (yield from talk.with_tool("days_between", **made_tools.DAYS)):
            days = sorted(datetime.strptime(day, "%d %B %Y").date() for day in _DATE.findall(read))  # noqa: DTZ007
            between = {"first": days[0].isoformat(), "last": days[-1].isoformat()}
            (seen,) = yield (Call("days_between", between),)
            answer = made_tools.result_in(seen)
            yield (talk.finish(answer, seen) if answer else talk.give_up(),)
            return
    yield from talk.computed(_DAYS)


def _calls_what_is_not_there(_opened: Opened) -> Turns:
    yield (Call("count_log_lines", {"file": "access.log", "status": 404}),)
    yield from talk.computed(_MOST_404)


def _sends_no_json(_opened: Opened) -> Turns:
    yield (Call("run_code", '{"code": "print(1)", "reason": '),)
    yield from talk.computed(_DOLLARS)


def _trips_over_gaps(_opened: Opened) -> Turns:
    yield (talk.run_code(_warmest("")),)
    yield from talk.computed(_warmest(" and row['temperature'] not in ('', '-999')"))


def _warmest(guard: str) -> str:
    return READINGS + (
        "from collections import defaultdict\ndays = defaultdict(list)\n"
        "for row in rows:\n"
        f"    if row['station'] == 'Skarn'{guard}:\n"
        "        days[row['time'][:10]].append(float(row['temperature']))\n"
        "print(f'ANSWER[{max(days, key=lambda day: sum(days[day]) / len(days[day]))}]')"
    )


def _refers_to_nothing(_opened: Opened) -> Turns:
    yield (talk.run_code("print(table)", table={"$ref": "o99/rows"}),)
    yield from talk.computed(_BEST_PAID)


def _guesses_first(opened: Opened) -> Turns:
    if not opened.reads:
        yield (talk.give_up(),)
        return
    yield (talk.finish("about 19.7"),)
    yield from talk.over_text("yearbook.pdf", _GROWTH)(opened)


def _says_nothing_first(opened: Opened) -> Turns:
    if opened.reads:
        yield ""
    yield from talk.over_text("invoice.pdf", _MISPRINT)(opened)


SCRIPTS: dict[str, Script] = {
    "returned-north": talk.over_files(_COUNT_RETURNED),
    "most-pieces": _grouped(
        "orders.csv", ORDERS, ",", group="product", value="quantity", where="status", equals="shipped"
    ),
    "best-2017": talk.over_text("yearbook.pdf", _BEST_2017),
    "flour": talk.over_files(_FLOUR),
    "council-days": _council_days,
    "part-time-hours": _grouped(
        "staff.csv", STAFF, ";", group="department", value="hours", where="contract", equals="part-time"
    ),
    "kaster-kg": talk.over_files(_KILOS),
    "most-404": _calls_what_is_not_there,
    "dollars-of-may": _sends_no_json,
    "warmest-day": _trips_over_gaps,
    "best-paid": _refers_to_nothing,
    "longest-flight": talk.over_files(_LONGEST),
    "growth": _guesses_first,
    "misprint": _says_nothing_first,
    "bytes-sent": talk.over_files(_BYTES),
    "earliest-arrival": talk.over_text("timetable.pdf", _EARLIEST),
    "most-letters": talk.over_files(_LETTERS),
    "reports-of-chair": talk.over_files(_REPORTS),
    "invoice-in-yen": talk.over_text("invoice.pdf", _IN_YEN),
}
