"""Budgets of one synthesis: what is spent stops the work and says which setting it was; usage is counted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from alita_mcp.errors import BudgetSpent, ModelError
from alita_mcp.models.budget import Budget, Meter
from alita_mcp.models.interface import Completion, LanguageModel, Message
from alita_mcp.models.roles import Models, RoleModels
from alita_mcp.models.scripted import ScriptedModel
from alita_mcp.settings import FixedLimits, Settings
from alita_mcp.values import Usage

HELLO = [Message(role="user", content="hello")]
COSTLY = Completion(text="a", model="m", prompt_tokens=60, completion_tokens=40, cost_usd=0.5)


class Sleeper:
    """A model that never answers."""

    name = "sleeper"

    def __init__(self) -> None:
        self.at_once = self.most_at_once = 0

    async def complete(self, messages: Sequence[Message], **options: Any) -> Completion:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await anyio.sleep_forever()
        raise AssertionError


def models(model: LanguageModel, home: Path, **limits: float) -> Models:
    usd = limits.pop("usd", 2.0)
    fixed = FixedLimits.model_validate({f"synthesis_{name}": limit for name, limit in limits.items()})
    settings = Settings(home=home, budget_usd=usd, limits=fixed)
    return RoleModels(settings, source=lambda _role: model).open_models()


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"calls": 2}, "2 model calls"),
        ({"tokens": 200}, r"200 tokens \(200 used\)"),
        ({"usd": 1.0}, r"1 USD \(1.0000 used\).*ALITA_BUDGET_USD"),
    ],
)
async def test_a_limit_that_is_reached_is_named(home: Path, limits: dict[str, float], said: str) -> None:
    opened = models(ScriptedModel([COSTLY] * 9), home, **limits)
    await opened.role("coder").complete(HELLO)
    await opened.role("tester").complete(HELLO)
    with pytest.raises(BudgetSpent, match=said):
        await opened.role("judge").complete(HELLO)
    assert opened.usage.calls == 2


async def test_usage_is_the_sum_of_all_roles(home: Path) -> None:
    opened = models(ScriptedModel([COSTLY] * 9), home)
    for role in ("planner", "coder", "coder"):
        await opened.role(role).complete(HELLO)
    usage = opened.usage
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens, usage.cost_usd) == (3, 180, 120, 1.5)
    assert usage.seconds >= 0
    assert (
        Usage.model_validate({**usage.model_dump(), "by_role": {}, "cached": 2}) == usage
    )  # an older report


async def test_a_price_that_nobody_knows_makes_the_sum_unknown(home: Path) -> None:
    free = COSTLY.model_copy(update={"cost_usd": None})
    opened = models(ScriptedModel([COSTLY, free]), home, usd=0.6)
    await opened.role("coder").complete(HELLO)
    await opened.role("tester").complete(HELLO)
    assert opened.usage.cost_usd is None
    assert models(ScriptedModel([]), home).usage.cost_usd == 0.0


async def test_a_call_that_fails_is_counted(home: Path) -> None:
    opened = models(ScriptedModel([]), home, calls=1)
    with pytest.raises(ModelError, match="script"):
        await opened.role("coder").complete(HELLO)
    with pytest.raises(BudgetSpent):
        await opened.role("coder").complete(HELLO)


async def test_a_call_under_way_ends_when_the_time_is_over(home: Path) -> None:
    opened = models(Sleeper(), home, seconds=0.2)
    with anyio.fail_after(60), pytest.raises(BudgetSpent, match=r"0\.2 seconds"):
        await opened.role("coder").complete(HELLO)
    with pytest.raises(BudgetSpent, match=r"0\.2 seconds"):
        await opened.role("coder").complete(HELLO)
    assert opened.usage.calls == 1


async def test_calls_at_once_are_bounded_and_none_slips_past_the_limit(home: Path) -> None:
    sleeper = Sleeper()
    opened = models(sleeper, home, calls=30, seconds=0.5)
    spent: list[str] = []

    async def one() -> None:
        try:
            await opened.role("coder").complete(HELLO)
        except BudgetSpent as reached:
            spent.append(reached.hint)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for _ in range(40):
                tasks.start_soon(one)
    assert len(spent) == 40
    assert sleeper.most_at_once == 8


def test_a_part_counts_for_the_whole_and_ends_with_it() -> None:
    whole = Meter(Budget(tokens=100), work="task")
    part = Meter(Budget(tokens=1_000), within=whole)
    part.begin_call()
    part.add_answer(Completion(text="", model="m", prompt_tokens=60, completion_tokens=60, cost_usd=0.5))
    part.add_seconds(2.0)
    assert (whole.usage.calls, whole.usage.cost_usd, whole.usage.seconds) == (1, 0.5, 2.0)
    assert whole.limit_reached == "tokens"
    assert part.limit_reached == ""
    with pytest.raises(BudgetSpent, match="budget of this task is spent") as spent:
        part.begin_call()
    assert "100 tokens" in spent.value.message
    assert part.usage.calls == 1


def test_a_part_has_no_more_time_than_the_whole() -> None:
    now = [0.0]
    whole = Meter(Budget(seconds=10), lambda: now[0], work="task")
    part = Meter(Budget(seconds=60), lambda: now[0], within=whole)
    now[0] = 4.0
    assert part.seconds_left == 6.0
    now[0] = 11.0
    assert "task" in part.time_error().message


def test_the_limit_that_is_nearest_to_its_end_is_known() -> None:
    now = [0.0]
    meter = Meter(Budget(calls=10, usd=1.0, seconds=100), lambda: now[0])
    assert meter.share_used == 0.0
    meter.begin_call()
    meter.add_answer(Completion(text="", model="m", cost_usd=0.6))
    assert meter.share_used == pytest.approx(0.6)
    now[0] = 90.0
    assert meter.share_used == pytest.approx(0.9)
    assert meter.limit_reached == ""
    now[0] = 100.0
    assert meter.limit_reached == "seconds"
    meter.add_answer(Completion(text="", model="m", cost_usd=0.6))
    now[0] = 50.0
    assert meter.limit_reached == "money"
