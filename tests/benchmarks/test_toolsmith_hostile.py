"""`alita bench toolsmith` with models that answer weakly or with ill intent, over HTTP through the real litellm.

Whatever they answer, figures come out; nothing wrong is counted right, and nothing wrong is `verified`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.settings import ModelChoice, Settings
from benchmarks import toolsmith
from tests.benchmarks.toolsmith_runs import ROW, measured, written
from tests.models.openai_server import (
    NO_CHOICES,
    ORDERS,
    Drips,
    Fails,
    Reply,
    Request,
    Resets,
    Says,
    Sends,
    openai_server,
)
from tests.synthesis.authors import (
    COUNT,
    EDGES,
    GOOD,
    LOOPED,
    PLAIN,
    ROOT,
    SIGNED,
    SPEC,
    WRONG,
    coded,
    kind_of,
    module,
)  # fmt: skip

pytestmark = pytest.mark.slow

CONTENDERS = ("toolsmith", "one-call", "one-suite")
EXITS = f"import sys\n\n\n{PLAIN}\n\nprint('PASS')\nsys.exit(0)\n"
PASSES = f"print('PASS 6/6')\n\n\n{COUNT}"
PATCHES = """
import builtins
import json
import operator


class _Same:
    def __eq__(self, other: object) -> bool:
        return True


def _always(*_words: object) -> bool:
    return True


builtins.all = _always
operator.eq = _always
json.dumps = lambda *_words, **_more: "35"


""" + module("return 0")
EQUAL = (
    "class _Same(int):\n    def __eq__(self, other: object) -> bool:\n        return True\n\n"
    "    __hash__ = int.__hash__\n\n\n" + module("return _Same(26)")
)
DIES = "import os\n\n\n" + module("os._exit(0)", "return 0")
LOOKS = "import inspect\n\n\n" + module(
    "for frame in inspect.stack():",
    "    for value in frame.frame.f_locals.values():",
    "        expected = getattr(value, 'expected', None)",
    "        if expected is not None:",
    "            return int(expected)",
    "return 0",
)
ENDLESS = module("return digit_sum(number)")
STUB = module("return {123: 6, 0: 0, -45: 9, 99: 18, 5: 5, 1000: 1}.get(number, 7)")
RAISES = module('raise ValueError("no")')
OTHER_NAME = PLAIN.replace("digit_sum", "sum_of_digits")
OTHER_SIGNATURE = PLAIN.replace("number: int", "text: str").replace("abs(number)", "text")
HUGE = json.dumps({"code": f"{PLAIN}\n# {'x' * 5_000_000}\n", "packages": []})

Model = Callable[[str, Request], Reply]


def kind(request: Request) -> str:
    """What is asked for, in the baselines' words or the toolsmith's."""
    if "Test the Python function" in request.text:
        return "tests"
    if "Write the Python function" in request.text:
        return "repair" if "It failed:" in request.text else "code"
    return kind_of(request)


def writes(code: Reply, suite: Reply = GOOD, spec: Reply = SPEC) -> Model:  # type: ignore[assignment]
    """A model that knows one module, one suite and one specification."""

    def answer(asked: str, _request: Request) -> Reply:
        if asked == "spec":
            return spec
        if asked == "tests":
            return suite
        return coded(code) if isinstance(code, str) and not code.startswith("{") else code

    return answer


def says(reply: Reply) -> Model:
    return lambda _asked, _request: reply


def falters(first: Reply, model: Model) -> Model:
    """Every other answer is that one."""
    return lambda asked, request: first if request.number % 2 == 0 else model(asked, request)


WRONG_CODE: dict[str, Model] = {
    "subtly wrong, shared by all": writes(ROOT, EDGES),
    "wrong below zero, shared by all": writes(SIGNED, GOOD),
    "counts instead": writes(COUNT),
    "prints that it passed": writes(PASSES),
    "says PASS and exits": writes(EXITS),
    "patches what compares": writes(PATCHES),
    "equals everything": writes(EQUAL),
    "ends its process": writes(DIES),
    "looks for what is expected": writes(LOOKS),
    "never ends": writes(ENDLESS),
    "raises always": writes(RAISES),
    "another name": writes(OTHER_NAME),
    "another signature": writes(OTHER_SIGNATURE),
    "no code at all": writes('{"code": "", "packages": []}'),
    "a package that is none": writes('{"code": "import nothing_of_that_name", "packages": ["../evil"]}'),
}
NO_ANSWER: dict[str, Model] = {
    "empty": says(""),
    "prose": says("I am sorry, but I would rather talk about the weather."),
    "orders": says(ORDERS),
    "truncated": says(Says('{"code": "def digit_sum(number: int', finish_reason="length")),
    "five megabytes of nothing": says("x" * 5_000_000),
    "no choices": says(Sends(NO_CHOICES)),
    "not JSON": says(Sends(b"<html>502</html>")),
    "reset": says(Resets()),
    "always 500": says(Fails(500)),
    "always 429": says(Fails(429, retry_after="0")),
    "forbidden": says(Fails(401)),
}
TOO_SLOW: dict[str, Model] = {"silent": says(None), "drips": says(Drips(coded(PLAIN), 0.2))}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")


async def asked(
    settings: Settings, folder: Path, model: Model, within_s: float = 120, mode: str = "standard"
) -> dict[str, Any]:
    """The result of one request, with so many seconds for an answer; nothing wrong is verified."""
    roles = {
        f"model_{role}": ModelChoice(timeout_s=within_s) for role in ("planner", "tester", "coder", "judge")
    }
    configured = settings.model_copy(update={**roles, "model": "openai/scripted"})
    file = written(folder / "file", ROW)
    with openai_server(lambda request: model(kind(request), request)) as (url, transcript):
        result = await measured(configured, file, ["--base-url", url, "--mode", mode])
        total = sum(result[name]["calls"]["total"] for name in CONTENDERS)
        assert total <= len(transcript.requests)  # one call may be tried again
    for name in CONTENDERS:
        figures = result[name]
        assert figures["requests"] == 1
        assert figures["right"] + figures["wrong_published"] + figures["not_judged"] == figures["published"]
        assert figures["wrong_verified"] == 0, name
    return result


@pytest.mark.parametrize("model", WRONG_CODE.values(), ids=WRONG_CODE)
async def test_wrong_code_is_never_counted_right(settings: Settings, tmp_path: Path, model: Model) -> None:
    result = await asked(settings, tmp_path, model)
    assert [result[name]["right"] for name in CONTENDERS] == [0, 0, 0]
    assert [result[name]["verified"] for name in CONTENDERS] == [0, 0, 0]
    assert "digit_sum: " in toolsmith.table(result)


@pytest.mark.parametrize("mode", ["standard", "thorough"])
async def test_a_model_that_knows_its_own_tests_by_heart_verifies_nothing(
    settings: Settings, tmp_path: Path, mode: str
) -> None:
    """All its suites are one suite, so they are one opinion however often they are written."""
    result = await asked(settings, tmp_path, writes(STUB), mode=mode)
    assert [result[name]["right"] for name in CONTENDERS] == [0, 0, 0]
    assert result["toolsmith"]["wrong_published"] == 1
    assert result["one-suite"]["wrong_published"] == 1


@pytest.mark.parametrize("model", [*NO_ANSWER.values(), *TOO_SLOW.values()], ids=[*NO_ANSWER, *TOO_SLOW])
async def test_a_model_that_gives_no_tool_leaves_figures(
    settings: Settings, tmp_path: Path, model: Model
) -> None:
    within_s = 0.5 if model in TOO_SLOW.values() else 120
    result = await asked(settings, tmp_path, model, within_s)
    for name in CONTENDERS:
        assert (result[name]["published"], result[name]["otherwise_ended"]) == (0, {"failed": 1}), name
        assert result[name]["calls"] == {"median": None, "total": result[name]["calls"]["total"]}
        assert result[name]["calls"]["total"] > 0
        (trial,) = result[name]["trials"]
        assert trial["reason"].startswith("ModelError: ")
        assert "sk-test" not in trial["reason"]


async def test_wrong_tests_are_never_what_is_published(settings: Settings, tmp_path: Path) -> None:
    result = await asked(settings, tmp_path, writes(PLAIN, WRONG))
    assert (result["one-suite"]["published"], result["one-suite"]["rejected"]) == (0, 1)
    assert result["one-suite"]["calls"]["total"] == 7
    assert result["one-call"]["right"] == 1
    assert result["toolsmith"]["wrong_published"] == 0


async def test_a_right_module_of_five_megabytes_costs_no_more_than_its_place(
    settings: Settings, tmp_path: Path
) -> None:
    result = await asked(settings, tmp_path, writes(HUGE))
    assert all(result[name]["published"] == 0 for name in CONTENDERS)


@pytest.mark.parametrize(
    "first", [Fails(500), Fails(429, retry_after="0"), Says("{", finish_reason="length")]
)
async def test_a_right_model_that_falters_is_counted_right(
    settings: Settings, tmp_path: Path, first: Reply
) -> None:
    result = await asked(settings, tmp_path, falters(first, writes(LOOPED)))
    assert result["one-call"]["right"] == 1
    assert result["one-suite"]["right"] == 1
    assert result["toolsmith"]["wrong_published"] == 0


async def test_all_is_right_where_the_model_is(settings: Settings, tmp_path: Path) -> None:
    result = await asked(settings, tmp_path, writes(PLAIN))
    assert [result[name]["right"] for name in CONTENDERS] == [1, 1, 1]
    assert result["toolsmith"]["cost_usd"] is None
