"""The arms of the benchmark and what is counted of them, with the scripted solver behind the real litellm."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.errors import UsageError
from alita_mcp.models.interface import Completion, Message, ToolCall, ToolSpec
from alita_mcp.models.scripted import ScriptedModel
from benchmarks import agent
from benchmarks.agent import arms, scripted_solver, site, tally

ROOT = Path(__file__).resolve().parents[2]
OFFERED = tuple(
    ToolSpec(name=name, description="", parameters={"type": "object"})
    for name in ("search_capabilities", "run_code", "build_tool", "read_page", "delegate", "finish")
)


def asking(*names: str) -> Completion:
    calls = tuple(ToolCall(id=str(place), name=name) for place, name in enumerate(names))
    return Completion(text="", model="scripted", calls=calls)


def offered_to(model: ScriptedModel) -> list[str]:
    return [tool.name for tool in model.options[-1].get("tools", ())]


def options(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    agent.add_arguments(parser)
    return parser.parse_args(words)


async def test_plain_react_is_offered_no_way_to_make_tools() -> None:
    model = ScriptedModel([asking("run_code"), "yes"])
    limited = arms.NothingBuilt(model)
    await limited.complete([Message(role="user", content="x")], tools=OFFERED, temperature=0.0)
    assert offered_to(model) == ["search_capabilities", "run_code", "read_page", "finish"]
    assert (await limited.complete([Message(role="user", content="judge")])).text == "yes"


async def test_one_run_of_code_is_one_whatever_the_model_asks_for() -> None:
    model = ScriptedModel(
        [asking("read_page", "run_code", "run_code"), asking("run_code"), asking("finish"), "yes"]
    )
    limited = arms.OneRunOfCode(model)
    talk = [Message(role="user", content="x")]
    first = await limited.complete(talk, tools=OFFERED)
    assert (offered_to(model), [call.name for call in first.calls]) == (["run_code", "finish"], ["run_code"])
    talk += [
        Message(role="assistant", content="", calls=first.calls),
        Message(role="tool", content="5", call_id="1"),
    ]
    second = await limited.complete(talk, tools=OFFERED)
    assert (offered_to(model), second.calls) == (["finish"], ())
    assert [call.name for call in (await limited.complete(talk, tools=OFFERED)).calls] == ["finish"]
    assert (await limited.complete(talk)).text == "yes"


def test_figures_add_up_and_the_table_names_what_was_missed() -> None:
    trials = [
        arms.Trial(id="a", level=1, answer="5", expected="5", right=True, claimed=True, steps=3, calls=4, tokens=70,
                   tools_made=1, cost_usd=0.25, seconds=1.5),
        arms.Trial(id="b", level=2, answer="6\n| x", expected="7", right=False, claimed=True, steps=2, failed_steps=1,
                   tools_reused=1, calls=2, tokens=30, cost_usd=0.5, stopped="steps", seconds=0.5),
        arms.Trial(id="c", level=2, answer="", expected="8", right=False, problem="ModelError: silent", cost_usd=0.0),
    ]  # fmt: skip
    found = tally.figures(trials)
    assert (found["solved"], found["tasks"], found["by_level"]) == (1, 3, {"1": [1, 1], "2": [0, 2]})
    assert (found["claimed_and_wrong"], found["stopped"], found["broken"]) == (1, 1, 1)
    assert (found["steps"], found["failed_steps"], found["tools_made"], found["tools_reused"]) == (5, 1, 1, 1)
    assert (found["calls"], found["tokens"], found["cost_usd"], found["seconds"]) == (6, 100, 0.75, 2.0)
    shown = tally.as_table({"alita": found, "react": tally.figures(trials[:1])})
    assert "| solved, exact answer | 1 of 3 | 1 of 1 |" in shown
    assert "- b: '6 | x', expected '7'" in shown
    assert "- c: 'no answer', expected '8' (ModelError: silent)" in shown
    assert "Not solved by plain ReAct" not in shown
    unknown = tally.figures([trials[0].model_copy(update={"cost_usd": None})])
    assert unknown["cost_usd"] is None
    assert "unknown" in tally.as_table({"code_once": unknown})


def test_the_three_arms_differ_in_what_they_make_and_find_again() -> None:
    """Two tasks that one tool serves, and one that needs a page."""
    ids = ["most-pieces", "part-time-hours", "members-2011"]
    result: dict[str, Any] = agent.run(options("--scripted", "--sandbox", "wasm", "--id", *ids))
    made = {arm: [trial["tools_made"] for trial in result[arm]["trials"]] for arm in arms.NAMES}
    reused = {arm: [trial["tools_reused"] for trial in result[arm]["trials"]] for arm in arms.NAMES}
    right = {arm: [trial["right"] for trial in result[arm]["trials"]] for arm in arms.NAMES}
    assert made == {"alita": [1, 0, 0], "react": [0, 0, 0], "code_once": [0, 0, 0]}
    assert reused == {"alita": [0, 1, 0], "react": [0, 0, 0], "code_once": [0, 0, 0]}
    assert right == {"alita": [True] * 3, "react": [True] * 3, "code_once": [True, True, False]}
    assert [trial["steps"] for trial in result["code_once"]["trials"]] == [1, 1, 0]
    assert all(result[arm]["calls"] and result[arm]["tokens"] for arm in arms.NAMES)
    assert "measure the harness, not a model" in agent.table(result)


def test_mistakes_cost_steps_and_not_the_answer() -> None:
    ids = ["most-404", "dollars-of-may", "best-paid", "warmest-day"]
    result: dict[str, Any] = agent.run(
        options("--scripted", "--sandbox", "wasm", "--only", "react", "--id", *ids)
    )
    figures = result["react"]
    assert (figures["solved"], figures["failed_steps"]) == (4, 4)
    assert "alita" not in result


def test_a_wrong_answer_that_an_observation_says_counts_as_wrong() -> None:
    wanted = ("--scripted", "--sandbox", "wasm", "--only", "code_once", "--id", "most-letters")
    result: dict[str, Any] = agent.run(options(*wanted))
    assert (result["code_once"]["solved"], result["code_once"]["claimed_and_wrong"]) == (0, 1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--scripted", "--model", "openai/x"), "no other model"),
        ((), "needs a model"),
        (("--id", "nowhere"), "no such task"),
    ],
)
def test_what_cannot_be_measured_says_so(
    words: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ALITA_HOME", str(tmp_path))
    monkeypatch.delenv("ALITA_MODEL", raising=False)
    with pytest.raises(UsageError, match=said):
        agent.run(options(*words))


@pytest.mark.parametrize(
    "words", [("--model", " "), ("--limit", "0"), ("--only", "all"), ("--max-steps", "x")]
)
def test_options_that_make_no_sense_are_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit):
        options(*words)


def test_a_task_file_may_bring_its_own_site_and_files(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "index.html").write_text("<h1>Own</h1>")
    (tmp_path / "note.txt").write_text("5")
    task = {"id": "own", "question": "Read note.txt and {site}/index.html", "files": ["note.txt"], "site": "pages",
            "answer": "unknown"}  # fmt: skip
    (tmp_path / "tasks.jsonl").write_text(json.dumps(task))
    found: dict[str, Any] = agent.run(
        options(
            "--scripted", "--sandbox", "wasm", "--only", "code_once", "--tasks", str(tmp_path / "tasks.jsonl")
        )
    )
    (trial,) = found["code_once"]["trials"]
    assert (trial["answer"], trial["right"], trial["claimed"]) == ("unknown", True, False)
    with site.served_folder(tmp_path / "pages") as served:
        (tmp_path / "tasks.jsonl").write_text(json.dumps({**task, "site": f"{served.url}/"}))
        wanted = (
            "--scripted",
            "--sandbox",
            "wasm",
            "--only",
            "code_once",
            "--tasks",
            str(tmp_path / "tasks.jsonl"),
        )
        assert agent.run(options(*wanted))["code_once"]["solved"] == 1  # type: ignore[index]
    for place in ("..", "nowhere", "note.txt"):
        (tmp_path / "tasks.jsonl").write_text(json.dumps({**task, "site": place}))
        with pytest.raises(UsageError, match="no folder beside"):
            agent.run(options("--scripted", "--tasks", str(tmp_path / "tasks.jsonl")))
    (tmp_path / "tasks.jsonl").write_text(f"{json.dumps(task)}\n{json.dumps({**task, 'site': 'other'})}")
    with pytest.raises(UsageError, match="2 sites"):
        agent.run(options("--scripted", "--tasks", str(tmp_path / "tasks.jsonl")))


def test_a_model_that_is_not_there_breaks_a_trial_and_not_the_run() -> None:
    wanted = (
        "--model",
        "openai/x",
        "--base-url",
        "http://127.0.0.1:9/v1",
        "--sandbox",
        "wasm",
        "--limit",
        "1",
    )
    result: dict[str, Any] = agent.run(options(*wanted, "--only", "react"))
    (trial,) = result["react"]["trials"]
    assert (result["react"]["broken"], trial["right"]) == (1, False)
    assert "ModelError" in trial["problem"]


def test_a_solver_that_knows_no_script_gives_up() -> None:
    tools = [{"type": "function", "function": {"name": "finish"}}]
    body = {"messages": [{"role": "user", "content": "What is love?"}], "tools": tools}
    (call,) = scripted_solver.answer_to(body)["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"answer": "unknown", "solved": False, "claims": []}


def test_a_solver_that_is_asked_for_plans_or_judgements_answers_in_their_shape() -> None:
    plans = scripted_solver.answer_to({"messages": [{"role": "user", "content": 'Answer {"plans": […]}'}]})
    assert [plan["estimate"] for plan in json.loads(plans["content"])["plans"]] == [0.5, 0.6]
    judged = scripted_solver.answer_to({"messages": [{"role": "user", "content": "Which claims hold?"}]})
    assert json.loads(judged["content"])["claims"] == []


@pytest.mark.process
def test_the_command_prints_one_document(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "alita_mcp.cli.main", "bench", "agent", "--scripted", "--sandbox", "wasm",
               "--only", "react", "--id", "flour", "--json")  # fmt: skip
    environment = {**os.environ, "ALITA_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=300, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["react"]["solved"] == 1
    assert "react 1/1 flour: right" in done.stderr
