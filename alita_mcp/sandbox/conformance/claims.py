"""Claims of the conformance suite, and helpers to try them.

Programs are bounded in themselves: on a back end that limits and isolates nothing they must not harm the machine.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import anyio

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.interface import Broker, Environment, Job, RunResult, Sandbox
from alita_mcp.values import Grants, Limits

PATIENCE_SECONDS = 120.0
"""How long one call may take in all, its sandbox's start included, before the back end counts as hanging."""
_LACKING = frozenset({"AttributeError", "ImportError", "ModuleNotFoundError"})


class Broken(Exception):
    """Error: a claim does not hold; the text says what was seen."""


class Lacking(Exception):
    """Error: the back end does not have what the claim is about, so nothing can be too weak about it."""


class Untried(Exception):
    """Error: the claim cannot be tried here and now; the text says why."""


class Subject:
    """Back end under test."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox

    async def run(
        self, code: str, arguments: dict[str, Any] | None = None, *, limits: Limits | None = None,
        grants: Grants | None = None, broker: Broker | None = None, environment: Environment | None = None,
    ) -> RunResult:  # fmt: skip
        """Runs one call of the function `f`.

        Raises:
            Broken: it did not end in time, or the sandbox failed where it had to give a result.
            SandboxRefused: the back end does not offer this.
        """
        job = Job(
            code=code,
            function="f",
            arguments=arguments or {},
            limits=limits or Limits(),
            grants=grants or Grants(),
            environment=environment,
        )
        try:
            with anyio.fail_after(PATIENCE_SECONDS):
                return await self.sandbox.run(job, broker)
        except TimeoutError:
            raise Broken(f"the call did not end within {PATIENCE_SECONDS:g} s") from None

    async def value(self, code: str, arguments: dict[str, Any] | None = None, **words: Any) -> Any:
        """Result value of a call; `words` as for `run`.

        Raises:
            Broken: it gives none.
            Lacking: the program needs what there is not.
        """
        result = await self.run(code, arguments, **words)
        if not result.ok:
            raise_if_lacking(result)
            raise Broken(shown(result))
        return result.value


Holds = Callable[[RunResult], bool]


class Claim(NamedTuple):
    """Claim about every back end: one sentence, and how it is tried."""

    chapter: str
    sentence: str
    attempt: Callable[[Subject], Awaitable[None]]
    """Returns when the claim holds, raises Broken when it does not."""
    essential: bool = False
    """Whether a back end that refuses it is of no use at all."""


def of_result(
    sentence: str, code: str, holds: Holds, arguments: dict[str, Any] | None = None, *, limits: Limits | None = None,
    may_lack: bool = False, essential: bool = False,
) -> Claim:  # fmt: skip
    """Makes a claim about one call's result; its chapter is set by `chapter`."""

    async def attempt(subject: Subject) -> None:
        result = await subject.run(code, arguments, limits=limits)
        if not holds(result):
            if may_lack:
                raise_if_lacking(result)
            raise Broken(shown(result))

    return Claim("", sentence, attempt, essential)


def chapter(name: str, *claims: Claim) -> tuple[Claim, ...]:
    """Groups claims under the name of a chapter."""
    return tuple(claim._replace(chapter=name) for claim in claims)


def raise_if_lacking(result: RunResult) -> None:
    """Tells a program that found no such module or function from one that was let through."""
    if result.status in {"error", "load_failed"} and result.error_type in _LACKING:
        raise Lacking(f"{result.error_type}: {result.message}")


def gives(value: Any) -> Holds:
    """Check of a call that gives exactly this value, types included."""
    return lambda result: result.ok and _same(result.value, value)


def ends(*statuses: str) -> Holds:
    """Check of a call that ends in one of these ways."""
    return lambda result: result.status in statuses


def fails(kind: str, *words: str) -> Holds:
    """Check of a call whose code raises `kind` with these words and a trace."""
    return lambda result: (
        (result.status, result.error_type) == ("error", kind)
        and all(word in result.message for word in words)
        and bool(result.trace)
    )


def hits(status: str, *words: str) -> Holds:
    """Check of a call that a limit ends; the message names the limit and its value."""
    return lambda result: result.status == status and all(word in result.message for word in words)


def shown(result: RunResult) -> str:
    """Result in one line."""
    said = f"{result.error_type}: {result.message}" if result.error_type else result.message
    return f"{result.status}: {(said or repr(result.value))[:300]}"


def said(problem: SandboxError) -> str:
    """Sandbox error in one line."""
    return " ".join(str(problem).split())[:300]


def _same(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_same(left[name], right[name]) for name in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)
