"""What robots.txt allows us, and how often it is asked."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import httpx
import pytest

from alita_mcp.errors import UsageError
from alita_mcp.research import fetcher
from alita_mcp.research.fetcher import Robots

pytestmark = [pytest.mark.anyio, pytest.mark.extra("web")]


class Rules:
    """Answers with the same rules for every origin, and counts how often it is asked."""

    def __init__(self, text: str, status: int = 200) -> None:
        self.asked: list[str] = []
        self._answer = (status, text.encode())

    async def __call__(self, url: httpx.URL) -> tuple[int, bytes]:
        self.asked.append(str(url))
        await anyio.lowlevel.checkpoint()
        return self._answer


async def test_our_own_rules_count_before_those_for_all() -> None:
    rules = Rules(
        "User-agent: *\nDisallow: /\n\nUser-agent: alita-mcp-server\nDisallow: /private\nAllow: /private/a\n"
    )
    asked = Robots(rules)
    await asked.require_allowed(httpx.URL("https://a.example/x"))
    await asked.require_allowed(httpx.URL("https://a.example/private/a"))
    with pytest.raises(UsageError, match="forbids"):
        await asked.require_allowed(httpx.URL("https://a.example/private/b"))
    assert rules.asked == ["https://a.example/robots.txt"]


async def test_many_at_once_ask_once_and_again_after_an_hour() -> None:
    now = [0.0]
    rules = Rules("")
    asked = Robots(rules, clock=lambda: now[0])
    async with anyio.create_task_group() as tasks:
        for number in range(5):
            tasks.start_soon(asked.require_allowed, httpx.URL(f"http://a.example:81/{number}"))
    assert rules.asked == ["http://a.example:81/robots.txt"]
    now[0] += fetcher.RULES_MAX_AGE_S + 1
    await asked.require_allowed(httpx.URL("http://a.example:81/"))
    assert len(rules.asked) == 2


async def test_very_many_rules_are_asked_beside_the_loop() -> None:
    rules = Rules("User-agent: *\n" + "".join(f"Disallow: /*a*b{number}*c$\n" for number in range(3_000)))
    asked = Robots(rules)
    await asked.require_allowed(httpx.URL("http://a.example/" + "ab" * 500))
    with pytest.raises(UsageError, match="forbids"):
        await asked.require_allowed(httpx.URL("http://a.example/a-b7-c"))
