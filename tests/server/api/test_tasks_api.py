"""Tasks over HTTP: begun, followed, looked at, stopped; the run goes on whoever leaves."""

from __future__ import annotations

import base64
import json
import stat
from pathlib import Path
from typing import Any

import anyio
import pytest

from alita_mcp.server.api import tasks
from alita_mcp.settings import Settings
from tests.server.agents.scripted import Working, never_answers, serving
from tests.server.api.calling import api, begun, code_of, messages, solution_of
from tests.server.in_memory import connected, succeeded
from tests.server.test_run_code_jobs import until


async def test_events_are_streamed_until_the_task_ends_and_later_its_solution_is_there(
    settings: Settings,
) -> None:
    made = serving(settings)
    body = {"task": "add up", "max_steps": 3, "hosts": ["a.example"]}
    async with api(made) as client:
        async with client.stream("POST", "/api/tasks", json=body) as stream:
            assert stream.status_code == 200
            assert stream.headers["content-type"].startswith("text/event-stream")
            told, location = await messages(stream), stream.headers["location"]
        shown = (await client.get(location)).json()
    assert [(each["id"], each["event"]) for each in told] == [
        ("1", "started"),
        ("2", "step"),
        ("3", "finished"),
    ]
    assert json.loads(told[-1]["data"])["data"] == shown["solution"]
    assert (shown["status"], shown["solution"]["answer"]) == ("finished", "ADD UP")
    assert location == f"/api/tasks/{shown['id']}"
    (request,) = made.tasks.begun
    assert (request.budget.steps, request.hosts, made.tasks.clients) == (3, ("a.example",), ["REST"])


async def test_a_caller_that_leaves_ends_neither_the_run_nor_leaves_a_follower(settings: Settings) -> None:
    made = serving(settings, never_answers)
    async with api(made) as client:
        async with client.stream("POST", "/api/tasks", json={"task": "t"}) as stream:
            await messages(stream, 2)
            assert made.runs.followers == 1
        await until(lambda: made.runs.followers == 0)
        assert (await client.get(stream.headers["location"])).json()["status"] == "running"


async def test_a_quiet_stream_has_a_heartbeat(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "HEARTBEAT_S", 0.02)
    async with (
        api(serving(settings, never_answers)) as client,
        client.stream("POST", "/api/tasks", json={"task": "t"}) as stream,
    ):
        async for line in stream.aiter_lines():
            if line == ": still running":
                break
        else:
            pytest.fail("the stream ended without a heartbeat")


async def test_a_run_whose_process_died_is_said_to_have_died(settings: Settings) -> None:
    made = serving(settings, never_answers)
    async with api(made) as client:
        run = await begun(client)
        made.runs.dead.add(run)
        assert (await client.get(f"/api/tasks/{run}")).json()["status"] == "died"


# --- stopping


async def test_a_task_is_stopped_within_a_second(settings: Settings) -> None:
    made = serving(settings, never_answers)
    async with api(made) as client:
        run = await begun(client)
        await until(lambda: run in made.tasks.scopes)
        with anyio.fail_after(1):
            assert (await client.delete(f"/api/tasks/{run}")).status_code == 204
        shown = (await client.get(f"/api/tasks/{run}")).json()
        assert (shown["status"], shown["solution"]["stopped"]) == ("stopped", "cancelled")
        assert code_of(await client.delete(f"/api/tasks/{run}")) == (409, "conflict")


@pytest.mark.slow
async def test_what_is_no_task_is_not_found(settings: Settings) -> None:
    async with api(serving(settings)) as client:
        for run in ("0" * 32, "x", "..%2f..%2fetc", "%00", "0" * 33, "A" * 32):
            for answer in (
                await client.get(f"/api/tasks/{run}"),
                await client.delete(f"/api/tasks/{run}"),
            ):
                assert code_of(answer) == (404, "not_found")


# --- files


async def test_files_are_there_for_the_run_and_gone_after_it(settings: Settings) -> None:
    seen: list[tuple[Path, int, int]] = []

    async def look(work: Working) -> str:
        seen.extend(
            (path, stat.S_IMODE(path.parent.stat().st_mode), path.stat().st_size)
            for path in work.request.files
        )
        return "seen"

    made = serving(settings, look)
    files = [
        {"name": "Zahlen für Öl.csv", "content": "a,b\n1,2\n"},
        {"name": "b.bin", "content_base64": base64.b64encode(b"\x00\xff").decode()},
    ]
    async with api(made) as client:
        assert (await solution_of(client, task="t", files=files))["answer"] == "seen"
        await until(lambda: not seen[0][0].parent.exists())
    assert made.tasks.files == {"Zahlen für Öl.csv": b"a,b\n1,2\n", "b.bin": b"\x00\xff"}
    assert {mode for _, mode, _ in seen} == {0o700}


async def test_files_of_a_task_that_is_refused_leave_nothing(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    body = {"task": "refuse me", "files": [{"name": "a.txt", "content": "x"}]}
    async with api(serving(settings)) as client:
        assert code_of(await client.post("/api/tasks", json=body)) == (422, "invalid")
    assert not [path async for path in anyio.Path(tmp_path).glob("alita-task-*")]


NAMES = [
    "../a", "a/b", "a\\b", "", ".", "..", ".hidden", "con", "NUL.txt", "a\x00", "a\n", "a:b", "b ", "b.", "\u202ea",
    "ü" * 110, "a" * 121,
]  # fmt: skip
UNFIT: list[list[dict[str, Any]]] = [
    *([{"name": name, "content": "x"}] for name in NAMES),
    [{"name": "a"}],
    [{"name": "a", "content": "x", "content_base64": "eA=="}],
    [{"name": "a", "content_base64": "not base64!"}],
    [{"name": "a", "content_base64": "eA"}],
    [{"name": "a", "content": "x"}, {"name": "A", "content": "y"}],
    [{"name": "a", "content": "x", "path": "/etc/passwd"}],
    [{"name": f"f{n}", "content": "x"} for n in range(21)],
]


@pytest.mark.slow
async def test_no_name_of_a_file_leads_elsewhere_and_contents_are_there_once_and_readable(
    settings: Settings,
) -> None:
    made = serving(settings)
    async with api(made) as client:
        await client.get("/api/tasks/" + "0" * 32)
        for files in UNFIT:
            answer = await client.post("/api/tasks", json={"task": "t", "files": files})
            assert code_of(answer) == (422, "invalid"), files
    assert made.tasks.begun == []


# --- one App


async def test_the_api_and_mcp_work_on_the_same_app(settings: Settings, era: str) -> None:
    made = serving(settings)
    server = made.server()
    async with connected(server, era) as client:
        run = (await succeeded(client, "solve_task", task="t"))["run"]
        assert await server.shared.get() is made.tasks.app
        assert (await made.runs.summary(run)).status == "finished"


async def test_without_a_model_a_program_is_told_what_to_set(settings: Settings) -> None:
    async with api(serving(settings, has_model=False)) as client:
        answer = await client.post("/api/tasks", json={"task": "t"})
    assert code_of(answer) == (409, "no_model")
    assert "ALITA_MODEL" in answer.text
