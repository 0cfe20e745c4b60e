"""Limits of owners: calls a minute at one server, syntheses and model tokens a day at all servers together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from alita_mcp.errors import LibraryError, QuotaSpent, UsageError
from alita_mcp.library.quotas import Quotas
from alita_mcp.owners import USER
from alita_mcp.settings import Settings
from tests.postgres_cluster import PostgresServer

ANN, BOB = "red/ann", "blue/bob"


def limited(settings: Settings, **limits: int) -> Settings:
    return settings.model_copy(update={f"quota_{name}": most for name, most in limits.items()})


async def test_nothing_is_limited_unless_it_is_set(settings: Settings) -> None:
    quotas = Quotas(settings, None)
    for _ in range(1_000):
        quotas.count_call(ANN)
    await quotas.check_model_tokens(ANN)


def test_days_are_counted_in_a_database_alone(settings: Settings) -> None:
    with pytest.raises(UsageError, match="ALITA_QUOTA_MODEL_TOKENS"):
        Quotas(limited(settings, model_tokens=1), None)


async def test_each_owner_has_calls_of_its_own(settings: Settings) -> None:
    quotas = Quotas(limited(settings, calls=3), None)
    for owner in (ANN, BOB):
        for _ in range(3):
            quotas.count_call(owner)
        with pytest.raises(QuotaSpent, match=r"3 calls .* Try again in \d+ s") as spent:
            quotas.count_call(owner)
        assert 1 <= spent.value.retry_after_s <= 60
    for _ in range(10):
        quotas.count_call(USER)


@pytest.mark.postgres
@pytest.mark.extra("team")
class TestAcrossServers:
    @pytest.fixture
    def databases(self, postgres_url: str) -> Iterator[list[Any]]:
        from alita_mcp.postgres.database import Database

        opened = [Database(postgres_url) for _ in range(2)]
        yield list(opened)
        for each in opened:
            each.close()

    async def test_spent_tokens_end_the_day_at_all_servers(
        self, settings: Settings, databases: list[Any]
    ) -> None:
        one, other = (Quotas(limited(settings, model_tokens=1_000), each) for each in databases)
        async with anyio.create_task_group() as tasks:
            for quotas in (one, other, one):
                tasks.start_soon(quotas.add_model_tokens, ANN, 333)
        await other.check_model_tokens(ANN)
        await other.add_model_tokens(ANN, 1)
        for quotas in (one, other):
            with pytest.raises(QuotaSpent, match="Try again in") as spent:
                await quotas.check_model_tokens(ANN)
            assert 0 < spent.value.retry_after_s <= 86_400
        await one.check_model_tokens(BOB)

    async def test_nothing_begins_uncounted(
        self, settings: Settings, databases: list[Any], postgres_server: PostgresServer
    ) -> None:
        quotas = Quotas(limited(settings, model_tokens=4), databases[0])
        postgres_server.stop("immediate")
        try:
            with pytest.raises(LibraryError, match="cannot be reached"):
                await quotas.check_model_tokens(ANN)
        finally:
            postgres_server.start()
