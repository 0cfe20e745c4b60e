from __future__ import annotations

import sys
from pathlib import Path

import anyio
import pytest

from alita_mcp.values import Example
from benchmarks.synthesis.caller import ServerUnderTest
from benchmarks.synthesis.delivery import Trial, deliver
from benchmarks.synthesis.tool_requests import ToolRequest

pytestmark = pytest.mark.process

SERVER = Path(__file__).with_name("scripted_server.py")
DOUBLES = Example(arguments={"x": 4}, expected=8)


@pytest.fixture
def server(tmp_path: Path) -> ServerUnderTest:
    return ServerUnderTest(
        sandbox="wasm",
        home=tmp_path / "home",
        log=tmp_path / "log",
        command=(sys.executable, str(SERVER)),
    )


def request(name: str, *hidden: Example) -> ToolRequest:
    return ToolRequest(
        task_id=f"T/{name}",
        name=name,
        description="Doubles.",
        code=f"def {name}(x: int) -> int:\n    return 2 * x\n",
        tests=(DOUBLES,),
        hidden=hidden,
    )


async def delivered(server: ServerUnderTest, *requests: ToolRequest) -> tuple[list[Trial], list[str]]:
    said: list[str] = []
    with anyio.fail_after(120):
        trials = await deliver(requests, server, said.append)
    assert [trial.task_id for trial in trials] == [each.task_id for each in requests]
    return list(trials), said


async def test_a_published_tool_is_called_with_its_hidden_examples(server: ServerUnderTest) -> None:
    wrong = Example(arguments={"x": 4}, expected=9)
    unlucky = Example(arguments={"x": 13}, raises="ValueError")
    lucky = Example(arguments={"x": 1}, raises="ValueError")
    failing = Example(arguments={"x": 13}, expected=26)
    (trial,), said = await delivered(server, request("plain", DOUBLES, wrong, unlucky, lucky, failing))
    assert (trial.status, trial.trust, trial.listed) == ("created", "verified", True)
    assert (trial.right, trial.hidden) == (2, 5)
    assert [text.partition(" gave ")[2] for text in trial.wrong] == [
        '{"result": 8}',
        '{"result": 2}',
        "ValueError: unlucky",
    ]
    assert trial.software == {"alita": "0"}
    assert trial.seconds_by_gate == {"static": 0.5}
    assert said[0].startswith("1/1 plain: created verified 2/5")


async def test_a_tool_that_is_not_listed_is_called_through_run_tool(server: ServerUnderTest) -> None:
    (trial,), _ = await delivered(server, request("unlisted", DOUBLES))
    assert not trial.listed
    assert (trial.right, trial.wrong) == (1, ())


async def test_an_object_is_compared_as_it_is(server: ServerUnderTest) -> None:
    right = Example(arguments={"x": 4}, expected={"twice": 8})
    wrong = Example(arguments={"x": 4}, expected={"twice": 9})
    (trial,), _ = await delivered(server, request("object", right, wrong))
    assert (trial.right, len(trial.wrong)) == (1, 1)


async def test_working_is_asked_again_until_the_job_is_done(server: ServerUnderTest) -> None:
    (trial,), _ = await delivered(server, request("slow"))
    assert trial.status == "created"


async def test_a_taken_name_is_handed_in_again_under_another(server: ServerUnderTest) -> None:
    (trial,), _ = await delivered(server, request("taken", DOUBLES))
    assert (trial.status, trial.tool, trial.renamed) == ("created", "taken_2", True)
    assert trial.right == 1


async def test_a_rejection_is_reported_in_one_line(server: ServerUnderTest) -> None:
    (refused, wordless), _ = await delivered(server, request("refused", DOUBLES), request("wordless"))
    assert (refused.status, refused.stage, refused.right) == ("rejected", "examples", 0)
    assert refused.reason == 'wrong result | case {"x": 1} | expected 2 | got 3'
    assert (wordless.status, wordless.reason) == ("failed", "something went wrong")


async def test_a_result_that_does_not_fit_its_schema_is_wrong_and_nothing_else(
    server: ServerUnderTest,
) -> None:
    (trial, plain), _ = await delivered(server, request("unfit", DOUBLES), request("plain"))
    assert (trial.status, trial.right, trial.broke_off) == ("created", 0, False)
    assert "Invalid structured content" in trial.wrong[0]
    assert plain.status == "created"


async def test_a_server_that_dies_costs_one_request(server: ServerUnderTest) -> None:
    trials, _ = await delivered(server, request("plain"), request("dies"), request("plain"))
    assert [trial.status for trial in trials] == ["created", "failed", "created"]
    assert trials[1].broke_off
    assert "last words before the end" in server.last_words()


async def test_a_tool_whose_call_kills_the_server_stays_published(server: ServerUnderTest) -> None:
    trials, _ = await delivered(server, request("fragile", DOUBLES, DOUBLES), request("plain", DOUBLES))
    assert [trial.status for trial in trials] == ["created", "created"]
    assert [trial.right for trial in trials] == [0, 1]
    assert trials[0].broke_off
    assert len(trials[0].wrong) == 1


async def test_a_hung_call_costs_one_request(server: ServerUnderTest) -> None:
    impatient = server.model_copy(update={"call_within_s": 5.0})
    trials, _ = await delivered(impatient, request("hangs"), request("refused"))
    assert [trial.status for trial in trials] == ["failed", "rejected"]
    assert trials[0].reason == "no answer in time"


async def test_a_server_that_never_starts_fails_every_request_and_ends(server: ServerUnderTest) -> None:
    dead = server.model_copy(update={"command": (*server.command, "--silent")})
    trials, said = await delivered(dead, *(request(f"plain{number}") for number in range(5)))
    assert {trial.status for trial in trials} == {"failed"}
    assert "does not start" in trials[0].reason
    assert len(said) == 2
    nowhere = server.model_copy(update={"command": (str(server.home / "no-such-program"),)})
    trials, _ = await delivered(nowhere, request("plain"))
    assert trials[0].status == "failed"
