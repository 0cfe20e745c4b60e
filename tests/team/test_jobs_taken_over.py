"""Jobs that begin on one server: asked for at another, taken over when it is killed, done once; revoked tokens."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from benchmarks.load.client import Address, Lost, connect
from benchmarks.team import author
from benchmarks.team.crowd import Crowd
from tests.models.openai_server import Reply, Request, openai_server
from tests.postgres_cluster import PostgresServer
from tests.server.processes import RUN_ALITA
from tests.team.replicas import Team, running_team

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.process,
    pytest.mark.extra("team"),
    pytest.mark.extra("models"),
]
PATIENCE_S = 180


class Patient(author.Author):
    """A model that writes no specification before it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may_write = threading.Event()

    def __call__(self, request: Request) -> Reply:
        reply = super().__call__(request)
        self.may_write.wait(PATIENCE_S)
        return reply


@pytest.fixture(scope="module")
def model() -> Patient:
    return Patient()


@pytest.fixture(scope="module")
def team(
    postgres_server: PostgresServer, balancers: None, model: Patient, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Team]:
    with openai_server(model) as (url, _):
        settings = {
            "model": "openai/scripted",
            "model_base_url": url,
            "memory": "false",
            "answer_within_s": "0.3",
        }
        folder = tmp_path_factory.mktemp("jobs")
        with running_team(folder, postgres_server.make_database(), 3, **settings) as running:
            yield running


async def ask(address: Address, tool: str, **arguments: Any) -> dict[str, Any]:
    async with connect(address) as client:
        return await Crowd(address).answer(client, tool, arguments)


async def outcome(address: Address, tool: str, job: str) -> dict[str, Any]:
    while (told := await ask(address, tool, job_id=job))["status"] == "working":  # noqa: ASYNC110
        await anyio.sleep(0.05)
    return told


async def test_a_job_is_asked_for_anywhere_and_the_same_request_is_one(team: Team, model: Patient) -> None:
    first, second, third = (each.address for each in team.replicas)
    model.may_write.clear()
    request = author.request_for_model(2_001)
    with anyio.fail_after(PATIENCE_S):
        begun = [await ask(each, "synthesize_tool", **request) for each in (first, second, third)]
        assert {told["status"] for told in begun} == {"working"}
        (job,) = {told["job_id"] for told in begun}
        model.may_write.set()
        told = [await outcome(each, "synthesize_tool", job) for each in (third, second, first)]
    assert {(each["status"], each["tool"]) for each in told} == {("created", author.tool_name(2_001))}
    assert model.asked["spec", 2_001] == 1


@pytest.mark.parametrize("kind", ["synthesis", "task"])
async def test_a_job_of_a_killed_server_is_taken_over_and_done_once(
    team: Team, model: Patient, kind: str
) -> None:
    number = {"synthesis": 2_002, "task": 2_003}[kind]
    tool = "synthesize_tool" if kind == "synthesis" else "solve_task"
    request = author.request_for_model(number) if kind == "synthesis" else {"task": author.task(number)}
    model.may_write.clear()
    key = ("spec" if kind == "synthesis" else "task", number)
    with anyio.fail_after(PATIENCE_S):
        begun = await ask(team.replicas[0].address, tool, **request)
        while not model.asked[key]:  # noqa: ASYNC110 - another process asks
            await anyio.sleep(0.02)
        # Any server may work on it: of those that could, two are killed.
        for replica in team.replicas[:2]:
            replica.kill()
        model.may_write.set()
        told = await outcome(team.replicas[2].address, tool, begun["job_id"])
        for replica in team.replicas[:2]:
            replica.start()
            await anyio.to_thread.run_sync(replica.wait_until_served)
        again = await outcome(team.replicas[0].address, tool, begun["job_id"])
    assert told.get("answer", told.get("tool")) in (author.tool_name(number), str(number)), told
    assert again.get("answer", again.get("tool")) == told.get("answer", told.get("tool"))
    if kind == "synthesis":
        card = await ask(team.replicas[1].address, "inspect_tool", name=author.tool_name(number))
        assert card["manifest"]["version"] == 1


def alita(team: Team, *words: str, home: Path) -> str:
    """What a command on the library says."""
    done = subprocess.run(
        [sys.executable, "-c", RUN_ALITA, *words], env=team.replicas[0].environment(home=str(home)),
        capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


async def test_a_revoked_token_is_refused_by_a_server_that_took_it(team: Team, tmp_path: Path) -> None:
    guarded = team.add(token="the-token-of-this-server")
    await anyio.to_thread.run_sync(guarded.wait_until_served)
    made = alita(
        team, "--json", "token", "create", "laptop", "--team", "red", "--subject", "ann", home=tmp_path
    )
    address = Address(guarded.port, json.loads(made)["token"])
    with anyio.fail_after(PATIENCE_S):
        assert "results" in await ask(address, "search_capabilities", query="add two integers")
        alita(team, "token", "revoke", "laptop", home=tmp_path)
        with pytest.raises(Lost, match="status 401"):
            await ask(address, "search_capabilities", query="add two integers")
    guarded.stop()
    team.replicas.remove(guarded)
