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
    await quotas.begin_job(ANN, 1_000, is_synthesis=True)


@pytest.mark.parametrize("name", ["syntheses", "model_tokens"])
def test_days_are_counted_in_a_database_alone(settings: Settings, name: str) -> None:
    with pytest.raises(UsageError, match="ALITA_QUOTA_SYNTHESES"):
        Quotas(limited(settings, **{name: 1}), None)


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


async def test_an_owner_has_so_many_jobs_at_once(settings: Settings) -> None:
    quotas = Quotas(limited(settings, jobs=2), None)
    await quotas.begin_job(ANN, 1, is_synthesis=False)
    with pytest.raises(QuotaSpent, match="2 of your jobs"):
        await quotas.begin_job(ANN, 2, is_synthesis=False)
    await quotas.begin_job(USER, 2, is_synthesis=False)


@pytest.mark.postgres
@pytest.mark.extra("team")
class TestAcrossServers:
    @pytest.fixture
    def databases(self, postgres_url: str) -> Iterator[list[Any]]:
        from alita_mcp.postgres.database import Database
        from alita_mcp.postgres.migrations import migrate

        opened = [Database(postgres_url) for _ in range(2)]
        migrate(opened[0])
        yield list(opened)
        for each in opened:
            each.close()

    async def test_servers_count_together_also_at_once(
        self, settings: Settings, databases: list[Any]
    ) -> None:
        servers = [Quotas(limited(settings, syntheses=4), each) for each in databases]
        begun: list[str] = []
        refused: list[QuotaSpent] = []

        async def begin(quotas: Quotas, owner: str) -> None:
            try:
                await quotas.begin_job(owner, 0, is_synthesis=True)
                begun.append(owner)
            except QuotaSpent as spent:
                refused.append(spent)

        async with anyio.create_task_group() as tasks:
            for place in range(10):
                tasks.start_soon(begin, servers[place % 2], ANN)
        assert (len(begun), len(refused)) == (4, 6)
        assert all(0 < each.retry_after_s <= 86_400 for each in refused)
        await servers[0].begin_job(BOB, 0, is_synthesis=True)
        await servers[0].begin_job(ANN, 0, is_synthesis=False)

    async def test_spent_tokens_end_the_day(self, settings: Settings, databases: list[Any]) -> None:
        one, other = (Quotas(limited(settings, model_tokens=1_000), each) for each in databases)
        await one.begin_job(ANN, 0, is_synthesis=True)
        await one.add_model_tokens(ANN, 600)
        await other.begin_job(ANN, 0, is_synthesis=False)
        await other.add_model_tokens(ANN, 400)
        for quotas in (one, other):
            for is_synthesis in (True, False):
                with pytest.raises(QuotaSpent, match="Try again in"):
                    await quotas.begin_job(ANN, 0, is_synthesis=is_synthesis)
        await one.begin_job(BOB, 0, is_synthesis=True)

    async def test_nothing_begins_uncounted(
        self, settings: Settings, databases: list[Any], postgres_server: PostgresServer
    ) -> None:
        quotas = Quotas(limited(settings, syntheses=4), databases[0])
        postgres_server.stop("immediate")
        try:
            with pytest.raises(LibraryError, match="cannot be reached"):
                await quotas.begin_job(ANN, 0, is_synthesis=True)
        finally:
            postgres_server.start()
