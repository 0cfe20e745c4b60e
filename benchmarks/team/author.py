"""Tools that add a number, as a client hands them in and as a scripted model writes them behind the real litellm."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.models.openai_server import Calls, Reply, Request, openai_server

_NUMBER = re.compile(r"\bnumber (\d+)\b")
_PAIRS = ((0, 0), (1, 2), (-5, 3), (1000, 24), (2**40, 1))


def tool_name(number: int) -> str:
    """Name of the tool that adds the number; each is made once."""
    return f"add_and_shift_{number}"


def _code(number: int) -> str:
    return f"def {tool_name(number)}(a: int, b: int) -> int:\n    return a + b + {number}\n"


def _tests(number: int) -> list[dict[str, Any]]:
    return [{"arguments": {"a": a, "b": b}, "expected": a + b + number} for a, b in _PAIRS]


def request_with_code(number: int) -> dict[str, Any]:
    """Arguments of `synthesize_tool` with code and tests."""
    return {
        "name": tool_name(number),
        "description": f"Adds two integers and the number {number}.",
        "code": _code(number),
        "tests": _tests(number),
    }


def request_for_model(number: int) -> dict[str, Any]:
    """Arguments of `synthesize_tool` that leave the writing to the server's model."""
    return {"description": f"Adds two integers and the number {number}."}


def task(number: int) -> str:
    """A task whose answer is the number."""
    return f"Say which number this is: number {number}"


class Author:
    """The model: it writes what was asked for, and solves tasks at once."""

    def __init__(self) -> None:
        self.asked: Counter[tuple[str, int]] = Counter()
        """How often for what: (`spec`, number), (`task`, number)."""

    def __call__(self, request: Request) -> Reply:
        """The answer to one request."""
        found = _NUMBER.search(request.text)
        number = int(found[1]) if found else 0
        if request.tools:
            self.asked["task", number] += 1
            return Calls(("finish", {"answer": str(number), "solved": True}))
        if "Specify a tool" in request.text:
            self.asked["spec", number] += 1
            return {
                "name": tool_name(number),
                "description": f"Adds two integers and the number {number}.",
                "signature": f"def {tool_name(number)}(a: int, b: int) -> int",
                "rules": [f"The result is the sum of both and of the number {number}."],
                "use_when": [
                    f"add two integers and the number {number}",
                    f"sum plus {number}",
                    f"shift by {number}",
                ],
            }
        if "Test this tool" in request.text:
            return {"tests": _tests(number)}
        return json.dumps({"code": _code(number), "packages": []})


@contextmanager
def running_author() -> Iterator[tuple[str, Author]]:
    """The base URL of the model, and what it was asked."""
    author = Author()
    with openai_server(author) as (url, _):
        yield url, author
