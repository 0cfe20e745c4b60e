"""`alita calibrate` as a person uses it: what it will cost, the work, what it did cost, stopping and going on."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest

from alita_mcp.synthesis.calibration.tasks import calibration_tasks
from alita_mcp.synthesis.model_records.records import ModelRecords
from alita_mcp.synthesis.model_records.result import TaskResult
from tests.cli.conftest import Alita
from tests.models.openai_server import Fails, Reply, Request, Says, openai_server
from tests.synthesis.calibrated import Calibrated, task_of, wrong_code

pytestmark = pytest.mark.slow
MODEL = "openai/scripted"
TASKS = calibration_tasks().tasks


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    monkeypatch.setenv("ALITA_MODEL", MODEL)


def shown(alita: Alita) -> Any:
    return alita("calibrate", "--show", "--json").json


def test_a_model_is_calibrated_with_its_cost_before_and_after(
    alita: Alita, monkeypatch: pytest.MonkeyPatch
) -> None:
    with openai_server(Calibrated()) as (url, asked):
        monkeypatch.setenv("ALITA_MODEL_BASE_URL", url)
        done = alita("calibrate", "--limit", "2", "--yes", "--json")
        assert done.status == 0, done.err
        assert len(asked.requests) == 6
        assert f"{MODEL}: 2 tasks, 6 calls, about " in done.err
        assert done.err.index("2 tasks, 6 calls") < done.err.index("1/2 ")
        assert "2 of 2 tasks done, 6 calls, 42 tokens asked and 30 answered, price unknown" in done.err
        assert done.json["expected"]["calls"] == done.json["spent"]["calls"] == 6
        assert done.json["expected"]["prompt_tokens"] > 1_000
        assert done.json["tasks_left"] == len(TASKS) - 2
        more = alita("calibrate", "--limit", "1", "--yes")
        assert len(asked.requests) == 9
    assert "(2 done already)" in more.err
    assert more.out.splitlines()[1].split()[:4] == [MODEL, "3", "100.0%", "of"]
    assert [(record["model"], record["tasks"]) for record in shown(alita)] == [(MODEL, 3)]
    assert "100.0% of 3" in alita("calibrate", "--show").out


def test_the_price_is_told_where_it_is_known_and_no_key_goes_to_another_providers_server(
    alita: Alita, monkeypatch: pytest.MonkeyPatch
) -> None:
    with openai_server(lambda _request: Says("", model="gpt-4o")) as (url, asked):
        monkeypatch.setenv("ALITA_MODEL_BASE_URL", url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-0123456789")
        monkeypatch.setenv("ANTHROPIC_API_BASE", "http://127.0.0.1:1")
        dear = alita("calibrate", "--model", "openai/gpt-4o", "--limit", "1", "--yes", "--json")
        assert dear.json["expected"]["cost_usd"] > 0.001
        assert dear.json["spent"]["cost_usd"] > 0
        assert dear.json["record"]["candidates"] == {
            "right": 0.0,
            "wrong": 1.0,
        }  # nothing that it said was readable
        count = len(asked.requests)
        assert alita("calibrate", "--model", "anthropic/claude-x", "--limit", "1", "--yes").status == 8
        assert len(asked.requests) == count


def test_a_wrong_model_is_counted_so_and_again_starts_over(
    alita: Alita, monkeypatch: pytest.MonkeyPatch
) -> None:
    with openai_server(Calibrated(wrong_code)) as (url, _asked):
        monkeypatch.setenv("ALITA_MODEL_BASE_URL", url)
        first = alita("calibrate", "--limit", "1", "--yes", "--json")
        assert first.json["record"]["candidates"] == {"right": 0.0, "wrong": 1.0}
    with openai_server(Calibrated()) as (url, _asked):
        monkeypatch.setenv("ALITA_MODEL_BASE_URL", url)
        again = alita("calibrate", "--limit", "1", "--yes", "--again", "--json")
    assert again.json["tasks_left"] == len(TASKS) - 1
    assert again.json["record"]["candidates"] == {
        "right": 0.0,
        "wrong": 1.0,
    }  # it counts until the new one is whole


def test_without_a_model_a_terminal_or_a_sensible_word_nothing_is_asked(
    alita: Alita, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    with openai_server(Calibrated()) as (url, asked):
        monkeypatch.setenv("ALITA_MODEL_BASE_URL", url)
        refused = alita("calibrate", "--limit", "1")
        assert refused.status == 2
        assert "--yes" in refused.err
        for words in (["--limit", "0"], ["--limit", "-1"], ["--limit", "many"], ["--limit", "9999999"]):
            assert alita("calibrate", "--yes", *words).status == 2
        for name in ("", "two words", "x" * 201, "openai/\x1b[31m"):
            assert alita("calibrate", "--yes", "--model", name).status == 2
        monkeypatch.delenv("ALITA_MODEL")
        nothing = alita("calibrate", "--yes")
        assert nothing.status == 2
        assert "ALITA_MODEL" in nothing.err
        assert asked.requests == []
    assert shown(alita) == []
    assert "no model is known" in alita("calibrate", "--show").out
    assert not list((home / "model_records").glob("*.json"))


def test_a_provider_that_fails_stops_it_with_what_is_done_kept(
    alita: Alita, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Calibrated()

    def fails_later(request: Request) -> Reply:
        return Fails(401, message="no such key") if task_of(request) == TASKS[1] else whole(request)

    with openai_server(fails_later) as (url, _asked):
        monkeypatch.setenv("ALITA_MODEL_BASE_URL", url)
        stopped = alita("calibrate", "--limit", "2", "--yes")
    assert stopped.status == 8
    assert "1 of 2 tasks done" in stopped.err
    assert "the next run goes on" in stopped.err
    assert shown(alita)[0]["tasks"] == 1


def test_two_models_that_write_here_are_both_calibrated(
    alita: Alita, monkeypatch: pytest.MonkeyPatch
) -> None:
    with openai_server(Calibrated()) as (url, asked):
        monkeypatch.setenv("ALITA_MODEL_BASE_URL", url)
        monkeypatch.setenv("ALITA_MODEL_TESTER", "openai/another")
        both = alita("calibrate", "--limit", "1", "--yes", "--json")
    assert [each["model"] for each in both.json] == [MODEL, "openai/another"]
    assert {request["model"] for request in asked.requests} == {"scripted", "another"}


def test_a_person_at_the_terminal_is_asked_first(alita: Alita, environment: dict[str, str]) -> None:
    with openai_server(Calibrated()) as (url, asked):
        env = {**environment, "ALITA_MODEL_BASE_URL": url}
        assert b"Go on? [y/N]" in at_a_terminal(env, b"n\n", 130)
        assert asked.requests == []
        assert b"1 of 1 tasks done" in at_a_terminal(env, b"y\n", 0)
        assert len(asked.requests) == 3


def at_a_terminal(env: dict[str, str], said: bytes, status: int) -> bytes:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "alita_mcp.cli.main", "calibrate", "--limit", "1"]
    with subprocess.Popen(command, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, env=env) as process:
        os.close(theirs)
        os.write(ours, said)
        told = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # its end closed the terminal
                break
            if not part:
                break
            told += part
        process.communicate(timeout=120)
    os.close(ours)
    assert process.returncode == status, told
    return told


def test_ctrl_c_loses_the_task_under_way_at_most_and_a_second_process_is_refused_meanwhile(
    alita: Alita, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, go_on, whole = threading.Event(), threading.Event(), Calibrated()

    def stays_silent(request: Request) -> Reply:
        if task_of(request) == TASKS[1] and not go_on.is_set():
            reached.set()
            return None
        return whole(request)

    with openai_server(stays_silent) as (url, _asked):
        env = {**environment, "ALITA_MODEL_BASE_URL": url}
        monkeypatch.setenv("ALITA_MODEL_BASE_URL", url)
        command = [sys.executable, "-m", "alita_mcp.cli.main", "calibrate", "--limit", "3", "--yes"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, env=env, text=True) as process:
            assert reached.wait(120)
            second = alita("calibrate", "--limit", "1", "--yes")
            assert second.status == 7
            assert "by another process" in second.err
            process.send_signal(signal.SIGINT)
            told = process.communicate(timeout=60)[1]
        assert process.returncode == 130
        assert "1 of 3 tasks done" in told
        assert "Traceback" not in told
        assert shown(alita)[0]["tasks"] == 1
        go_on.set()
        whole.asked.clear()
        assert alita("calibrate", "--limit", "1", "--yes").status == 0
    assert {name for _, name in whole.asked} == {TASKS[1].name}
    assert shown(alita)[0]["tasks"] == 2


def test_a_damaged_record_is_said_and_begun_anew(
    alita: Alita, home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with openai_server(Calibrated()) as (url, _asked):
        monkeypatch.setenv("ALITA_MODEL_BASE_URL", url)
        assert alita("calibrate", "--limit", "1", "--yes").status == 0
        record = next((home / "model_records").glob("*.json"))
        record.write_text(json.dumps({**json.loads(record.read_text()), "model": "openai/another"}))
        assert shown(alita) == []
        assert alita("calibrate", "--limit", "1", "--yes").status == 0
    assert "ignored" in caplog.text
    assert shown(alita)[0]["tasks"] == 1


def test_a_calibration_that_is_complete_asks_nothing_more(
    alita: Alita, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def finish() -> None:
        records = ModelRecords(home)
        await records.begin(MODEL, calibration_tasks().version)
        for task in TASKS:
            await records.add(MODEL, task.name, TaskResult(right=True), len(TASKS))

    anyio.run(finish)
    with openai_server(Calibrated()) as (url, asked):
        monkeypatch.setenv("ALITA_MODEL_BASE_URL", url)
        done = alita("calibrate", "--json")
        assert asked.requests == []
    assert done.status == 0, done.err
    assert "--again starts over" in done.err
    assert (done.json["spent"], done.json["tasks_left"]) == (None, 0)
    assert done.json["record"]["tasks"] == len(TASKS)
