"""Metrics of a server as Prometheus scrapes and parses them."""

from __future__ import annotations

from pathlib import Path

import anyio
import httpx
import pytest

from alita_mcp.errors import UsageError
from alita_mcp.settings import Settings
from benchmarks.load.client import Address, connect
from tests.server.connections import http_process, publish_spin
from tests.server.processes import PATIENCE_S, Peer
from tests.server.test_http import HEADERS, listening, opened_session
from tests.tables import each_case

pytestmark = pytest.mark.extra("team")
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


async def scrape(peer: Peer) -> Samples:
    """All samples of one scrape, by name and labels."""
    from prometheus_client.parser import text_string_to_metric_families

    address = (await peer.says("serving metrics at")).split()[-1]
    async with httpx.AsyncClient(timeout=PATIENCE_S) as http:
        answer = await http.get(address)
    assert answer.status_code == 200
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def labels(**said: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(said.items()))


@pytest.mark.process
async def test_what_an_operator_and_an_autoscaler_read_can_be_scraped(tmp_path: Path) -> None:
    await publish_spin(tmp_path / "home")
    settings = {"metrics": "127.0.0.1:0", "max_workers": "4", "drain_limit_s": "0"}
    async with http_process(tmp_path / "home", **settings) as (url, peer):
        before = await scrape(peer)
        assert before["process_resident_memory_bytes", ()] > 0
        address = Address(int(url.split(":")[2].split("/", maxsplit=1)[0]))
        async with httpx.AsyncClient(timeout=PATIENCE_S) as http, connect(address) as client:
            session = await opened_session(http, url)
            await client.call_tool("spin_around", {"turns": 10})
            await client.call_tool("spin_around", {"turns": 20})
            wrong = await client.call_tool("spin_around", {"turns": "many"})
            assert wrong["isError"]
            await client.call_tool("search_capabilities", {"query": "add up numbers"})
            after = await scrape(peer)
            assert session.keys() > HEADERS.keys()
        seconds = "alita_work_seconds_count"
        assert after[seconds, labels(kind="call", outcome="ok")] == 2
        assert after[seconds, labels(kind="call", outcome="refused")] == 1
        assert (
            sum(
                value
                for (name, said), value in after.items()
                if name == seconds and ("kind", "search") in said
            )
            == 1
        )
        assert after["alita_sessions", ()] == 1
        assert after["alita_works", labels(part="sandbox")] in (0, 1)
        assert ("alita_mirror_age_seconds", ()) not in after
        assert after["alita_sandbox_workers", labels(state="busy")] == 0
        assert after["alita_sandbox_workers", labels(state="idle")] >= 1
        assert not any("spin_around" in str(said) for _, said in after)

        async with anyio.create_task_group() as tasks:
            for _ in range(6):
                tasks.start_soon(spin_for_ever, address)
            with anyio.fail_after(PATIENCE_S):
                while (full := await scrape(peer))["alita_sandbox_waiting", ()] == 0:  # noqa: ASYNC110
                    await anyio.sleep(0.05)
            busy = full["alita_sandbox_workers", labels(state="busy")]
            waiting = full["alita_sandbox_waiting", ()]
            assert full["alita_sandbox_utilization_ratio", ()] == (busy + waiting) / 4
            tasks.cancel_scope.cancel()


@pytest.mark.process
@pytest.mark.postgres
async def test_what_a_shared_library_adds_can_be_scraped(tmp_path: Path, postgres_url: str) -> None:
    async with http_process(tmp_path / "home", metrics="127.0.0.1:0", library=postgres_url) as (url, peer):
        async with httpx.AsyncClient(timeout=PATIENCE_S) as http:
            await opened_session(http, url)
        works = "alita_works", labels(part="database")
        with anyio.fail_after(PATIENCE_S):
            while (found := await scrape(peer)).get(works) != 1:  # noqa: ASYNC110 - another process
                await anyio.sleep(0.05)
        assert 0 <= found["alita_mirror_age_seconds", ()] < PATIENCE_S


async def spin_for_ever(address: Address) -> None:
    """A call that ends when its client goes."""
    async with connect(address) as client:
        await client.call_tool("spin_around", {"turns": 10**12})


@each_case("address", ["127.0.0.1", "9464", "a b:1", "127.0.0.1:123456"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="metrics"):
        Settings(metrics=address)


async def test_an_address_that_is_taken_is_named(settings: Settings) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(BaseException) as raised:  # noqa: PT011 - in a group
            async with listening(settings.model_copy(update={"metrics": address})):
                pass
    assert raised.group_contains(UsageError, match=f"Cannot serve metrics at {address}")
