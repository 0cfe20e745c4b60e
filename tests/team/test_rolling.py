"""Replicas that are restarted one after the other behind HAProxy, as it is shipped, while clients go on calling."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import anyio
import anyio.to_thread
import httpx
import pytest

from benchmarks.load.client import Address, Lost, connect
from tests.server.connections import publish_spin
from tests.server.processes import PATIENCE_S
from tests.team.replicas import Replica, running_team

pytestmark = [pytest.mark.postgres, pytest.mark.process, pytest.mark.extra("team")]
CALLERS = 6


class Callers:
    """Clients of the newer era that call again and again through the balancer."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self.outcomes: Counter[str] = Counter()

    async def call_on(self) -> None:
        while True:
            try:
                async with connect(self._address) as client:
                    while client.is_open:
                        called = await client.call_tool("spin_around", {"turns": 50_000})
                        self.outcomes["answered" if not called["isError"] else "failed"] += 1
            except Lost as lost:
                self.outcomes[str(lost)] += 1


async def serves(replica: Replica) -> None:
    """Waits until a replica is ready and has answered a call that the balancer gave it."""
    await anyio.to_thread.run_sync(replica.wait_until_served)
    said = 'alita_work_seconds_count{kind="call",outcome="ok"}'
    await says(
        next(line.split()[-1] for line in replica.said().splitlines() if "serving metrics at" in line), said
    )


async def says(url: str, text: str) -> None:
    """Waits until a page says it."""
    with anyio.fail_after(PATIENCE_S):
        async with httpx.AsyncClient(timeout=PATIENCE_S) as http:
            while text not in (await http.get(url)).text:  # noqa: ASYNC110 - another process
                await anyio.sleep(0.1)


@pytest.mark.exhaustive
async def test_replicas_are_restarted_one_by_one_without_a_lost_call(tmp_path: Path, balancers: None) -> None:
    folder = tmp_path / "team"
    await publish_spin(folder / "shared")
    drain = {
        "home": str(folder / "shared"),
        "drain_grace_s": "2",
        "drain_limit_s": str(PATIENCE_S),
        "metrics": "127.0.0.1:0",
    }
    with running_team(folder, "", 2, **drain) as team:
        await says(team.url.replace("/mcp", "/readyz"), '"ready"')
        callers = Callers(team.address)
        async with anyio.create_task_group() as tasks:
            for _ in range(CALLERS):
                tasks.start_soon(callers.call_on)
            for replica in team.replicas:
                await serves(replica)
            for replica in team.replicas:
                before = callers.outcomes["answered"]
                replica.terminate()
                assert await anyio.to_thread.run_sync(replica.ended, PATIENCE_S) == 143
                assert callers.outcomes["answered"] > before
                assert "did not finish" not in replica.said()
                replica.kill()
                replica.start()
                await serves(replica)
            tasks.cancel_scope.cancel()
        assert list(callers.outcomes) == ["answered"], callers.outcomes
