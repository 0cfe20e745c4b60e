from __future__ import annotations

import argparse
import ast
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.errors import UsageError
from alita_mcp.synthesis.duplicates.behaviour import INPUTS
from benchmarks.duplicates import Scored, add_arguments, figures, run, table
from benchmarks.duplicates.inputs import MAX_SCHEMAS, as_examples, read_inputs, schemas_of
from benchmarks.duplicates.pairs import Pair, Program, read_pairs, read_program
from benchmarks.duplicates.types_from_use import kinds_of

SUM = "def add(xs):\n    return sum(xs)\n"
LOOP = (
    "def total(values):\n    found = 0\n    for value in values:\n        found += value\n    return found\n"
)
LAST = "def add(xs):\n    return xs[-1] if xs else 0\n"
CHECKS = "".join(f"assert candidate({given}) == {sum(given)}\n" for given in ([1, 2], [4], []))


def pair(a: str, b: str, label: int) -> dict[str, Any]:
    return {"task": "T/1", "a": a, "b": b, "label": label, "jaccard": 0.5}


def lines(path: Path, *rows: Any, zipped: bool = False) -> Path:
    text = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    path.write_bytes(gzip.compress(text) if zipped else text)
    return path


def twice(program: Program) -> Pair:
    return Pair("T", program, program, same=True, likeness=1.0)


def options(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(list(words))


@pytest.mark.parametrize("quick", [False, True])
def test_pairs_are_told_apart_by_running_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, quick: bool
) -> None:
    monkeypatch.setenv("ALITA_HOME", str(tmp_path / "home"))
    pairs = lines(tmp_path / "pairs.gz", pair(SUM, LOOP, 1), pair(SUM, LAST, 0), zipped=True)
    examples, scores = lines(tmp_path / "tests", {"task_id": "T/1", "test": CHECKS}), tmp_path / "scores"
    words = [
        "--pairs",
        str(pairs),
        "--examples",
        str(examples),
        "--scores",
        str(scores),
        "--sandbox",
        "wasm",
    ]
    result = run(options(*words, *(["--quick"] if quick else [])))
    assert (result["auroc"], result["met"], result["precision"], result["recall"]) == (1.0, True, 1.0, 1.0)
    same, other = map(json.loads, scores.read_text().splitlines())
    assert (same["verdict"], other["verdict"]) == (True, False)
    assert same["alike"] > INPUTS // 2
    assert (other["alike"] + other["different"] > INPUTS // 2) is not quick
    assert "Goal: AUROC ≥ 0.95: met." in table(result)


def test_what_parameters_are_is_found_out_where_nothing_says_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALITA_HOME", str(tmp_path / "home"))
    result = run(options("--pairs", str(lines(tmp_path / "pairs", pair(SUM, LOOP, 1))), "--sandbox", "wasm"))
    assert (result["called_same"], result["failed"]) == (1, 0)


def test_a_pair_that_the_sandbox_refuses_counts_as_different(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALITA_HOME", str(tmp_path / "home"))
    odd = "class A:\n    pass\n\ndef add(xs: list[int]) -> int:\n    match xs:\n        case _:\n            return 1\n"
    result = run(options("--pairs", str(lines(tmp_path / "pairs", pair(odd, odd, 1))), "--sandbox", "wasm"))
    assert result["called_same"] == 0


def test_schemas_come_from_examples_then_from_annotations_then_from_guesses(tmp_path: Path) -> None:
    program = read_program("def f(a, b: list[str], c, d: 'str'):\n    pass\n")
    file = lines(
        tmp_path / "x",
        {"task_id": "T", "tests": [{"arguments": {"p": 1, "q": ["x"], "r": {"k": [1]}, "s": None}}]},
        {
            "task_id": "T",
            "test": "candidate(2.5, [], {'k': [2.5]}, 'y')\ncandidate(f(), 1, 2, 3)\ncandidate({1}, 1, 1, 1)",
        },
        {"task_id": "T", "test": "candidate(1)"},
    )
    examples = as_examples(program, read_inputs([file])["T"])
    assert len(examples) == 2
    (schema,) = schemas_of(twice(program), examples)
    number = {"type": "number"}
    assert schema["properties"] == {
        "a": number,
        "b": {"type": "array", "items": {"type": "string"}},
        "c": {"type": "object", "additionalProperties": {"type": "array", "items": number}},
        "d": {"type": "string"},
    }
    guessed = schemas_of(twice(program), [])
    assert 1 < len(guessed) <= MAX_SCHEMAS
    assert {json.dumps(each["properties"]["b"]) for each in guessed} == {
        '{"type": "array", "items": {"type": "string"}}'
    }
    annotated = read_program("def f(a: Optional[int], b: Dict[str, int], c: List, d: float):\n    pass\n")
    (known,) = schemas_of(twice(annotated), [])
    assert [part["type"] for part in known["properties"].values()] == ["integer", "object", "array", "number"]


@pytest.mark.parametrize(
    ("row", "word"),
    [
        ({"task": "T"}, "line 1"),
        (pair("x = 1", SUM, 1), "no function"),
        (pair("def (", SUM, 1), "line 1"),
        (3, "line 1"),
    ],
)
def test_a_line_that_is_no_pair_is_named(tmp_path: Path, row: Any, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        read_pairs(lines(tmp_path / "pairs", row))


def test_a_file_that_is_not_there_or_empty_or_broken_is_an_error(tmp_path: Path) -> None:
    for content in (None, b"", b"{", b"\x1f\x8bxx"):
        path = tmp_path / "pairs"
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(UsageError, match="pairs"):
            read_pairs(path)


def test_a_score_that_is_wrong_about_every_pair_is_not_met() -> None:
    scored = [
        Scored("T", True, 0.2, verdict=False, likeness=0.1),
        Scored("T", False, 0.9, verdict=True, likeness=0.9),
    ]
    found = figures(scored)
    assert (found["auroc"], found["precision"], found["recall"], found["met"]) == (0.0, 0.0, 0.0, False)
    assert "NOT met" in table(found | {"pairs_per_second": 1.0, "sandbox": "wasm"})


def test_programs_keep_their_annotations() -> None:
    program = read_program(f"{SUM}\n\ndef last(a, /, b: int):\n    pass\n")
    assert (program.function, program.parameters) == ("last", ("a", "b"))
    assert isinstance(program.annotations[1], ast.Name)


INT, NUMBER, TEXT = {"type": "integer"}, {"type": "number"}, {"type": "string"}


MANY_WAYS = """for a, b in zip(p, p[1:]):
        if not isinstance(a, str) and (n := len(p)) > -1:
            return f'{a}'
    while p:
        return min(1, len(p))"""


def listed(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("return [i for i in range(2, p) if p % i == 0]", INT),
        ("return p * 0.5 - 1", INT),
        ("if p < 0.5:\n        return 1\n    return 2", NUMBER),
        ("return p.lower().split()", TEXT),
        ("return ''.join(x for x in p if x not in 'aeiou')", TEXT),
        ("return f(p[1:] + p[0]) if p else 0", TEXT),
        ("total = 0\n    for x in p:\n        total += x ** 2\n    return total", listed(INT)),
        ("return sorted(p)[0] - max(p[0], 1)", listed(INT)),
        ("p.sort()\n    return p", listed(INT)),
        ("return [x.upper() for x in p if x.startswith('a')] + p.copy().pop()", listed(TEXT)),
        ("return sum(sum(row) for row in p)", listed(listed(INT))),
        (
            "return {k: v + 1 for k, v in p.items()}, p['a'] - 1",
            {"type": "object", "additionalProperties": INT},
        ),
        ("return list(map(lambda x: x - 1, p)), [abs(x) for x in p]", listed(INT)),
        ("found: list = [y for i, y in enumerate(p) if y > 3]\n    return found", listed(INT)),
        (MANY_WAYS, listed(INT)),
    ],
)
def test_what_a_parameter_is_follows_from_what_is_done_with_it(body: str, kind: dict[str, Any]) -> None:
    code = f"import math\n\ndef f(p):\n    {body}\n"
    assert kind in kinds_of([code], ["f"], 0, "p")[:2]


def test_a_helper_and_the_other_program_tell_what_a_parameter_is() -> None:
    helped = "def odd(n):\n    return n % 2\n\ndef f(a, b):\n    return odd(a) if True else b\n"
    other = "def g(a, b):\n    return b.strip() + 'x' if a else math.sqrt(a)\n"
    assert kinds_of([helped, other], ["f", "g"], 0, "a")[0] == INT
    assert kinds_of([helped, other], ["f", "g"], 1, "b")[0] == TEXT
    assert kinds_of([helped, "def g(a):\n    return a\n"], ["f", "g"], 1, "b"), "the other one may take fewer"


@pytest.mark.parametrize(
    ("name", "said", "kind"),
    [
        ("words", "", listed(INT)),
        ("p", "Of a list.", listed(INT)),
        ("p", "Of a string.", TEXT),
        ("text", "", TEXT),
    ],
)
def test_names_and_docstrings_tell_what_nothing_else_does(name: str, said: str, kind: dict[str, Any]) -> None:
    code = f'def f({name}):\n    """{said}"""\n    return len({name}[::-1])\n'
    assert kinds_of([code], ["f"], 0, name)[0] == kind


def test_strange_programs_are_read_without_an_error() -> None:
    strange = (
        "async def h():\n    pass\n\nclass A:\n    x = 1\n\ndef f(p, *more, **rest):\n"
        "    p = [p]\n    p.append(p)\n    x, (y, *z) = p, [1, *p]\n    p[0] = p\n    del x\n"
        "    with open(p) as q:\n        yield {**rest}\n    print(*more, sep=-p)\n    return (lambda: (yield))() % p\n"
    )
    assert kinds_of([strange], ["f"], 0, "p")
