"""Programs with gaps for values, and values for them: what people have their agents run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Family:
    """Like programs: one text in which `<<name>>` stands for a value, and several rows of values."""

    name: str
    text: str
    rows: list[dict[str, Any]]

    def programs(self) -> list[str]:
        texts = []
        for row in self.rows:
            text = self.text
            for key, value in row.items():
                text = text.replace(f"<<{key}>>", repr(value))
            texts.append(text)
        return texts


def _of(name: str, text: str, *rows: dict[str, Any]) -> Family:
    return Family(name, text.strip("\n") + "\n", list(rows))


FAMILIES = [
    _of(
        "grouped totals",
        """
import csv, io
from collections import defaultdict
RAW = <<raw>>
totals = defaultdict(float)
for row in csv.DictReader(io.StringIO(RAW)):
    totals[row["region"]] += float(row[<<field>>])
result = {key: round(value, 2) for key, value in sorted(totals.items())}
""",
        {"raw": "region,price,cost\nn,1.5,3\ns,2,1\n", "field": "price"},
        {"raw": "region,price,cost\nn,2.5,4\nn,7,9\n", "field": "cost"},
        {"raw": "region,price,cost\nx,1,1\n", "field": "price"},
    ),
    _of(
        "word counts printed",
        """
import re
text = <<text>>
counts = {}
for word in re.findall(r"[a-z]+", text.lower()):
    counts[word] = counts.get(word, 0) + 1
for word, n in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:<<top>>]:
    print(f"{word}: {n}")
""",
        {"text": "a b a c", "top": 2},
        {"text": "the cat the dog The end", "top": 1},
        {"text": "", "top": 5},
    ),
    _of(
        "dates",
        """
from datetime import date, timedelta
start = date.fromisoformat(<<start>>)
days = [start + timedelta(days=n) for n in range(<<count>>)]
[day.isoformat() for day in days if day.weekday() < 5]
""",
        {"start": "2024-02-27", "count": 4},
        {"start": "2023-12-30", "count": 9},
        {"start": "2025-01-01", "count": 3},
    ),
    _of(
        "regular expression",
        """
import re
pattern = re.compile(<<pattern>>)
found = [m.group(0) for m in pattern.finditer(<<text>>)]
len(found)
""",
        {"pattern": r"\d+", "text": "a1b22"},
        {"pattern": r"[a-z]", "text": "abc1"},
        {"pattern": r"x", "text": "abc"},
    ),
    _of(
        "a dataclass that is printed",
        """
from dataclasses import dataclass, field

@dataclass
class Basket:
    owner: str
    items: list = field(default_factory=list)

    def add(self, name, price):
        self.items.append((name, price))
        return self

    @property
    def total(self):
        return sum(len(price) for _, price in self.items)

basket = Basket(<<owner>>)
for name, price in <<items>>:
    basket.add(name, price)
print(basket)
print(basket.total, type(basket).__name__)
""",
        {"owner": "ann", "items": [["x", "y"]]},
        {"owner": "bob", "items": [["p", "q"], ["r", "s"]]},
        {"owner": "", "items": [["it's", "long"]]},
    ),
    _of(
        "inheritance",
        """
class Shape:
    sides = 0
    def describe(self):
        return f"{type(self).__name__} with {self.sides} sides, {self.area():.2f}"

class Square(Shape):
    sides = 4
    def __init__(self, a):
        self.a = a
    def area(self):
        return self.a ** 2

class Circle(Shape):
    def __init__(self, r):
        self.r = r
    def area(self):
        return 3.14159 * self.r ** 2

[shape.describe() for shape in (Square(<<a>>), Circle(<<r>>))]
""",
        {"a": 2, "r": 1.5},
        {"a": 3, "r": 2.5},
        {"a": 5, "r": 7},
    ),
    _of(
        "recursion",
        """
def hanoi(n, a="A", b="B", c="C"):
    if n == 0:
        return []
    return hanoi(n - 1, a, c, b) + [a + c] + hanoi(n - 1, b, a, c)

moves = hanoi(<<n>>)
{"count": len(moves), "first": moves[:3]}
""",
        {"n": 2},
        {"n": 3},
        {"n": 5},
    ),
    _of(
        "mutual recursion with memory",
        """
memo = {}
def even(n):
    if n not in memo:
        memo[n] = True if n == 0 else odd(n - 1)
    return memo[n]
def odd(n):
    return False if n == 0 else even(n - 1)
N = <<n>>
result = [even(N), odd(N), len(memo)]
result = {"even": result[0], "odd": result[1], "size": result[2]}
""",
        {"n": 3},
        {"n": 8},
        {"n": 0},
    ),
    _of(
        "closures",
        """
def make_counter(step):
    count = 0
    def advance():
        nonlocal count
        count += step
        return count
    return advance

tick = make_counter(<<step>>)
values = [tick() for _ in range(<<times>>)]
values
""",
        {"step": 2, "times": 3},
        {"step": 5, "times": 2},
        {"step": -1, "times": 4},
    ),
    _of(
        "late binding",
        """
n = <<n>>
makers = [lambda x: x * i + n for i in range(3)]
n = n + 1
[make(10) for make in makers]
""",
        {"n": 1},
        {"n": 7},
        {"n": -2},
    ),
    _of(
        "comprehension scopes",
        """
x = <<x>>
rows = [[x * y for x in range(3)] for y in range(2)]
squares = {x: x ** 2 for x in range(x)}
names = [x for x in [x, x + 1]]
result = [sum(map(sum, rows)), sum(squares.values()), x, *names]
""",
        {"x": 3},
        {"x": 5},
        {"x": 9},
    ),
    _of(
        "generators",
        """
def chunks(items, size):
    it = iter(items)
    while batch := [x for _, x in zip(range(size), it)]:
        yield batch

def flatten(nested):
    for each in nested:
        yield from each

parts = list(chunks(<<items>>, <<size>>))
[sum(part) for part in parts] + [sum(flatten(parts))]
""",
        {"items": [1, 2, 3, 4, 5], "size": 2},
        {"items": [9, 8], "size": 5},
        {"items": [1, 1, 1, 1], "size": 3},
    ),
    _of(
        "global state",
        """
total = 0
log = []
def add(n):
    global total
    total += n
    log.append(n)
for n in <<numbers>>:
    add(n)
{"total": total, "calls": len(log)}
""",
        {"numbers": [1, 2]},
        {"numbers": [5]},
        {"numbers": [4, -4, 4]},
    ),
    _of(
        "a global that no statement binds",
        """
def setup(n):
    global rate
    rate = n
def use(x):
    return x * rate
setup(<<rate>>)
use(<<x>>)
""",
        {"rate": 2, "x": 10},
        {"rate": 3, "x": 7},
        {"rate": 4, "x": 4},
    ),
    _of(
        "helpers that read globals",
        """
FACTOR = <<factor>>
UNIT = "km"
def scale(x):
    return x * FACTOR
def label(x):
    return f"{scale(x)} {UNIT}"
[label(v) for v in <<values>>]
""",
        {"factor": 2, "values": [1, 2]},
        {"factor": 10, "values": [3]},
        {"factor": 0, "values": [3, 4, 5]},
    ),
    _of(
        "augmented assignment in loops",
        """
limit = <<limit>>
total = 0
i = 0
while i < limit:
    i += 1
    if i % 3 == 0:
        continue
    total += i
else:
    total *= 2
print("total", total)
print("last", i, sep="=", end="!\\n")
""",
        {"limit": 5},
        {"limit": 10},
        {"limit": 0},
    ),
    _of(
        "errors caught",
        """
import json
out = []
for text in <<texts>>:
    try:
        out.append(json.loads(text))
    except json.JSONDecodeError as error:
        out.append(error.pos)
    finally:
        out.append(-1)
out
""",
        {"texts": ["1", "{"]},
        {"texts": ["7", "x", "8"]},
        {"texts": ["bad"]},
    ),
    _of(
        "errors raised",
        """
class TooSmall(ValueError):
    pass
n = <<n>>
if n < 3:
    raise TooSmall(f"{n} is too small")
n * 2
""",
        {"n": 5},
        {"n": 1},
        {"n": 2},
        {"n": 8},
    ),
    _of(
        "with statements",
        """
import io
from contextlib import contextmanager
events = []
@contextmanager
def section(name):
    events.append("open " + name)
    yield name.upper()
    events.append("close " + name)
with section(<<one>>) as a, section("inner") as b, io.StringIO() as f:
    f.write(a + b)
    events.append(f.getvalue())
events
""",
        {"one": "x"},
        {"one": "title"},
        {"one": ""},
    ),
    _of(
        "walrus",
        """
import re
lines = <<lines>>
values = [int(m.group(1)) for line in lines if (m := re.search(r"=(\\d+)", line))]
last = m
(sum(values), last is None)
total = sum(values)
if (n := len(values)) > 1:
    total += n
total
""",
        {"lines": ["a=1", "b=22"]},
        {"lines": ["x", "y=3"]},
        {"lines": ["z=9", "q=1", "r"]},
    ),
    _of(
        "match",
        """
def act(command):
    match command.split():
        case ["go", direction]:
            return f"going {direction}"
        case ["take", *things] if things:
            return "taking " + ", ".join(things)
        case [single]:
            return single
        case _:
            return "?"
[act(c) for c in <<commands>>]
""",
        {"commands": ["go north", "take a b"]},
        {"commands": ["look"]},
        {"commands": ["a b c", "take", ""]},
    ),
    _of(
        "the same constant in an f-string",
        """
name = <<name>>
width = <<width>>
print(f"[{name:>{width}}]")
print(f"{name!r} {len(name)} of 7: {'x' * 2}")
""",
        {"name": "ann", "width": 6},
        {"name": "it's", "width": 9},
        {"name": "", "width": 3},
    ),
    _of(
        "constants inside f-strings and formats",
        """
value = 3.14159
print(f"Dear friend, {value:.2f} and {<<n>>} %s" % <<who>>)
""",
        {"n": 3, "who": "me"},
        {"n": 4, "who": "you"},
        {"n": 5, "who": ""},
    ),
    _of(
        "docstrings",
        '''
"""This script does things."""
def double(x):
    """Doubles."""
    return x * 2
"a comment as text"
double(<<x>>)
''',
        {"x": 2},
        {"x": 21},
        {"x": -4},
    ),
    _of(
        "star arguments",
        """
def combine(*parts, sep="-", **options):
    text = sep.join(parts)
    return text.upper() if options.get("upper") else text
def call(f, *a, **k):
    return f(*a, **k)
[combine("a", "b"), call(combine, <<one>>, <<two>>, sep=<<sep>>, upper=True)]
""",
        {"one": "x", "two": "y", "sep": "+"},
        {"one": "p", "two": "q", "sep": "::"},
        {"one": "", "two": "z", "sep": " "},
    ),
    _of(
        "lambda defaults",
        """
base = <<base>>
adders = [lambda x, i=i, b=base: x + i + b for i in range(3)]
base = 100
[add(1) for add in adders]
""",
        {"base": 1},
        {"base": 2},
        {"base": 30},
    ),
    _of(
        "async",
        """
import asyncio
async def fetch(n):
    await asyncio.sleep(0)
    return n * n
values = await asyncio.gather(*(fetch(n) for n in <<numbers>>))
sum(values)
""",
        {"numbers": [1, 2, 3]},
        {"numbers": [4]},
        {"numbers": [0, 10]},
    ),
    _of(
        "a list display inside a loop is new each time",
        """
rows = []
for i in range(2):
    row = <<start>>
    row.append(i)
    rows.append(row)
rows
""",
        {"start": [1, 2]},
        {"start": [7]},
        {"start": [0, 0, 0]},
    ),
    _of(
        "the same literal twice, one of them changed",
        """
one = <<items>>
two = <<items>>
one.append(99)
[sum(one), sum(two)]
""",
        {"items": [1, 2]},
        {"items": [5]},
        {"items": [3, 3]},
    ),
    _of(
        "the same number twice, one rebound",
        """
n = <<n>>
n += 1
result = {"n": n, "again": <<n>>}
""",
        {"n": 1},
        {"n": 5},
        {"n": 40},
    ),
    _of(
        "tuples and sets",
        """
point = <<point>>
allowed = <<allowed>>
pairs = <<pairs>>
same = hash(point) == hash(tuple(point)) and isinstance(pairs[0], tuple)
result = [int(same), len(allowed & {1, 2}), sum(a * b for a, b in pairs)]
""",
        {"point": (1, 2), "allowed": {1, 5}, "pairs": [(1, 2), (3, 4)]},
        {"point": (3, 4, 5), "allowed": {2}, "pairs": [(5, 6)]},
        {"point": (9,), "allowed": {1, 2, 3}, "pairs": [(0, 1), (1, 1), (2, 2)]},
    ),
    _of(
        "builtins bound anew",
        """
values = list(<<values>>)
list = sorted(values)
max = max(values)
sum = 0
for v in list:
    sum += v
result = {"list": list, "max": max, "sum": sum}
""",
        {"values": [3, 1]},
        {"values": [5, 9, 2]},
        {"values": [7]},
    ),
    _of(
        "a builtin bound after a helper read it",
        """
def biggest(xs):
    return max(xs)
a = biggest(<<xs>>)
def max(xs):
    return -1
[a, biggest([5])]
""",
        {"xs": [1, 4]},
        {"xs": [2]},
        {"xs": [3, 2, 1]},
    ),
    _of(
        "records",
        """
people = <<people>>
oldest = sorted(people, key=lambda p: p["age"])[-1]
{"name": oldest["name"], "mean": sum(p["age"] for p in people) / len(people)}
""",
        {"people": [{"name": "a", "age": 3}, {"name": "b", "age": 5}]},
        {"people": [{"name": "c", "age": 9}]},
        {"people": [{"name": "d", "age": 1}, {"name": "e", "age": 0}]},
    ),
    _of(
        "options in a dict",
        """
options = {"sep": <<sep>>, "limit": <<limit>>, "upper": True}
words = "one two three four".split()[: options["limit"]]
options["sep"].join(words).upper()
""",
        {"sep": "-", "limit": 2},
        {"sep": "", "limit": 3},
        {"sep": "//", "limit": 9},
    ),
    _of(
        "a main function behind a guard",
        """
import sys
def main(n):
    for i in range(n):
        print("line", i)
    print("done", file=sys.stderr)
if __name__ == "__main__":
    main(<<n>>)
""",
        {"n": 1},
        {"n": 3},
        {"n": 0},
    ),
    _of(
        "a value that may be missing",
        """
table = {"a": 1, "b": 2}
table.get(<<key>>)
""",
        {"key": "a"},
        {"key": "zz"},
        {"key": "b"},
    ),
    _of(
        "result on some ways only",
        """
n = <<n>>
if n > 3:
    result = "big"
elif n > 1:
    result = "small"
""",
        {"n": 5},
        {"n": 2},
        {"n": 1},
    ),
    _of(
        "del and try at the top",
        """
try:
    import zoneinfo
except ImportError:
    zoneinfo = None
import json
text = <<text>>
data = json.loads(text)
del text
keys = sorted(data)
for key in keys:
    pass
[key, len(keys)][0]
""",
        {"text": '{"b": 1, "a": 2}'},
        {"text": '{"z": 1}'},
        {"text": '{"q": 1, "r": 3, "p": 0}'},
    ),
    _of(
        "class that reads names of the program",
        """
RATE = <<rate>>
class Account:
    rate = RATE
    def grow(self, x):
        return x * (1 + self.rate + RATE)
Account().grow(<<x>>)
""",
        {"rate": 0.5, "x": 10},
        {"rate": 0.25, "x": 8},
        {"rate": 1.5, "x": 2},
    ),
    _of(
        "function attributes and caches",
        """
from functools import lru_cache
@lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
def count(x, seen=[]):
    seen.append(x)
    count.calls = len(seen)
    return count.calls
[fib(<<n>>), count(1), count(2), fib.cache_info().misses]
""",
        {"n": 10},
        {"n": 3},
        {"n": 20},
    ),
    _of(
        "enumerations and named tuples",
        """
from enum import Enum
from typing import NamedTuple
class Color(Enum):
    RED = 1
    BLUE = 2
class Point(NamedTuple):
    x: int
    y: int = 2
print(Color(<<c>>), repr(Color.RED), Point(<<x>>))
""",
        {"c": 1, "x": 5},
        {"c": 2, "x": 6},
        {"c": 1, "x": -3},
    ),
    _of(
        "names that are parameters elsewhere",
        """
def shift(text, key):
    return "".join(chr((ord(c) - 97 + key) % 26 + 97) for c in text)
def unshift(text, key):
    return shift(text, -key)
text = <<text>>
coded = shift(text, key=<<key>>)
{"coded": coded, "back": unshift(coded, <<key>>)}
""",
        {"text": "abc", "key": 1},
        {"text": "xyz", "key": 13},
        {"text": "", "key": 5},
    ),
]
