"""Which back end is chosen: only one that proves itself, once, and never a weaker one afterwards."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import anyio
import pytest

from alita_mcp.errors import SandboxError, SandboxUnavailable
from alita_mcp.sandbox.choose import BACK_ENDS, LazySandbox, open_sandbox, probe_all
from alita_mcp.sandbox.interface import Job
from alita_mcp.settings import Settings
from alita_mcp.values import Lock
from tests.conftest import CACHE
from tests.sandbox.other_back_ends import Isolating

HERE = "tests.sandbox.other_back_ends"
JOB = Job(code="def tool():\n    return 7", function="tool", arguments={})


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    Isolating.made.clear()
    yield
    Isolating.held = None


def with_sandbox(settings: Settings, name: str) -> Settings:
    return settings.model_copy(update={"sandbox": name})


async def test_a_back_end_of_a_third_party_is_loaded_by_its_import_string(settings: Settings) -> None:
    asked = with_sandbox(settings, f"{HERE}:Isolating")
    sandbox = await open_sandbox(asked)

    assert sandbox.kind == "isolating"
    assert Isolating.made[0].settings is asked
    assert not Isolating.made[0].closed


@pytest.mark.parametrize(
    ("name", "told", "hint"),
    [
        (f"{HERE}:Leaky", r"does not work here: leaky \(home unreadable: read it\)", "Mend the leak."),
        (f"{HERE}:Proofless", "nothing was proven", ""),
        (f"{HERE}:Failing", "The engine is on fire", "Put it out."),
        (f"{HERE}:Unmakeable", "No such machine", ""),
        (f"{HERE}:Absent", "cannot be loaded.*Absent", "module:Class"),
        ("no_such_module:Sandbox", "cannot be loaded.*no_such_module", "module:Class"),
        ("os.:x", "cannot be loaded", "module:Class"),
    ],
)
async def test_a_named_one_that_does_not_isolate_is_refused_with_the_reason(
    settings: Settings, name: str, told: str, hint: str
) -> None:
    with pytest.raises(SandboxUnavailable, match=told) as refused:
        await open_sandbox(with_sandbox(settings, name))

    assert hint in refused.value.hint
    assert all(made.closed for made in Isolating.made)


NO_ENGINE = """
import anyio
from alita_mcp.sandbox.choose import LazySandbox, probe_all
from alita_mcp.settings import Settings

async def main():
    settings = Settings()
    sandbox = LazySandbox(settings)
    chosen = await sandbox.choose()
    reports = {report.kind: report for report in await probe_all(settings)}
    print(sandbox.kind, [kind for kind, report in reports.items() if report.isolates])
    print(all(reports[kind].hint for kind in ("docker", "bubblewrap")))
    await sandbox.aclose()

anyio.run(main)
"""


@pytest.mark.process
async def test_auto_ends_with_the_embedded_one_where_nothing_is_installed() -> None:
    bare = {"PATH": "/nowhere", "DOCKER_HOST": "tcp://127.0.0.1:1", "HOME": "/nowhere", **CACHE}
    with anyio.fail_after(120):
        result = await anyio.run_process(
            [sys.executable, "-c", NO_ENGINE], env=bare, stderr=subprocess.STDOUT
        )

    assert result.stdout.decode().splitlines() == ["wasm ['wasm']", "True"]


@pytest.mark.docker
async def test_auto_prefers_docker_where_an_engine_answers(docker_engine: None, settings: Settings) -> None:
    with anyio.fail_after(120):
        sandbox = await open_sandbox(settings)
        await sandbox.aclose()
    assert sandbox.kind == "docker"


@pytest.mark.slow
async def test_doctor_sees_all_back_ends_and_a_named_one(settings: Settings) -> None:
    with anyio.fail_after(120):
        reports = await probe_all(with_sandbox(settings, f"{HERE}:Leaky"))

    assert [report.kind for report in reports] == ["leaky", *BACK_ENDS]
    assert not reports[0].isolates
    assert reports[-1].isolates


async def test_all_that_the_seam_has_is_passed_on(settings: Settings) -> None:
    async def silent(_line: str) -> None:
        return None

    lazy = LazySandbox(with_sandbox(settings, f"{HERE}:Isolating"))

    assert (lazy.kind, Isolating.made) == ("unchosen", [])
    assert (await lazy.probe()).isolates
    assert (await lazy.resolve(("a",), silent)).requirements
    assert (await lazy.prepare(Lock(), silent)).digest
    await lazy.aclose()
    await lazy.aclose()
    assert Isolating.made[0].closed
    with pytest.raises(SandboxError, match="closed"):
        await lazy.run(JOB)


async def test_many_first_users_at_once_choose_once(settings: Settings) -> None:
    Isolating.held = anyio.Event()
    lazy = LazySandbox(with_sandbox(settings, f"{HERE}:Isolating"))
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(lazy.run, JOB)
            await anyio.wait_all_tasks_blocked()
            Isolating.held.set()

    assert len(Isolating.made) == 1
    assert len(Isolating.made[0].jobs) == 10


async def test_a_cancelled_first_user_leaves_the_choice_to_the_next(settings: Settings) -> None:
    Isolating.held = anyio.Event()
    lazy = LazySandbox(with_sandbox(settings, f"{HERE}:Isolating"))
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            first = anyio.CancelScope()

            async def impatient() -> None:
                with first:
                    await lazy.run(JOB)

            tasks.start_soon(impatient)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(lazy.run, JOB)
            await anyio.wait_all_tasks_blocked()
            first.cancel()
            await anyio.wait_all_tasks_blocked()
            Isolating.held.set()

    assert [(made.closed, len(made.jobs)) for made in Isolating.made] == [(True, 0), (False, 1)]


async def test_all_who_wait_for_a_choice_that_fails_hear_why_and_it_is_made_once(settings: Settings) -> None:
    lazy, told = LazySandbox(with_sandbox(settings, f"{HERE}:Leaky")), []

    async def want() -> None:
        with pytest.raises(SandboxUnavailable, match="home unreadable") as refused:
            await lazy.run(JOB)
        told.append(refused.value)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as callers:
            for _ in range(5):
                callers.start_soon(want)
        assert len(Isolating.made) == 1
        await want()
        assert len(Isolating.made) == 2
    assert len({id(failure) for failure in told}) == 6
    assert {failure.hint for failure in told} == {"Mend the leak."}
