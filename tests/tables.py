"""Tables of cases as one test: every case is tried, and all that fail are reported together."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

FAILURES = (Exception, pytest.fail.Exception)


def each_case(names: str, cases: Iterable[Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """As `pytest.mark.parametrize`, but one test, for cases that share their fixtures and cost next to nothing."""
    words = [name.strip() for name in names.split(",")]
    table = [case if len(words) > 1 else (case,) for case in cases]
    assert table, f"no cases for {names!r}"

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        def check(**fixtures: Any) -> None:
            failures = []
            for case in table:
                try:
                    test(**fixtures, **dict(zip(words, case, strict=True)))
                except FAILURES as failure:
                    failures.append(_named(failure, words, case))
            _report(failures, len(table))

        async def check_async(**fixtures: Any) -> None:
            failures = []
            for case in table:
                try:
                    await test(**fixtures, **dict(zip(words, case, strict=True)))
                except FAILURES as failure:
                    failures.append(_named(failure, words, case))
            _report(failures, len(table))

        decorated: Any = check_async if inspect.iscoroutinefunction(test) else check
        signature = inspect.signature(test)
        left = [it for name, it in signature.parameters.items() if name not in words]
        decorated.__signature__ = signature.replace(parameters=left)
        decorated.__name__, decorated.__doc__ = test.__name__, test.__doc__
        decorated.__module__, decorated.__qualname__ = test.__module__, test.__qualname__
        decorated.pytestmark = list(getattr(test, "pytestmark", []))
        return decorated

    return decorate


def _named(failure: BaseException, words: list[str], case: Iterable[Any]) -> BaseException:
    failure.add_note(", ".join(f"{word}={value!r}" for word, value in zip(words, case, strict=True))[:500])
    return failure


def _report(failures: list[BaseException], tried: int) -> None:
    if failures:
        raise BaseExceptionGroup(f"{len(failures)} of {tried} cases", failures)
