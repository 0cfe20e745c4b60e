"""Answers kept on disk: found again by the same question only, bounded, shared, and never an error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from alita_mcp.cache_folder import MAX_AGE_S, CacheFolder
from alita_mcp.models.interface import Completion, Message
from alita_mcp.models.roles import RoleModels
from alita_mcp.settings import Settings
from tests.models.openai_server import Says, openai_server

HELLO = [Message(role="user", content="hello")]
ANSWER = Completion(text="an answer", model="m", prompt_tokens=7, completion_tokens=5, cost_usd=0.1)
KEY, OTHER = "ab" * 32, "cd" * 32


def models_at(url: str, home: Path, **settings: Any) -> RoleModels:
    return RoleModels(Settings(home=home, model="openai/scripted", model_base_url=url, **settings))


def replies(folder: Path, max_bytes: int, **options: Any) -> CacheFolder[Completion]:
    return CacheFolder(folder, Completion, max_bytes, noun="An answer of a model", **options)


def files(folder: Path) -> list[Path]:
    return sorted(place for place in folder.rglob("*") if place.is_file())


async def test_the_same_question_is_asked_once(home: Path) -> None:
    with openai_server("first", "second") as (url, asked):
        fresh = await models_at(url, home).open().role("coder").complete(HELLO, seed=1)
        opened = models_at(url, home).open()
        kept = await opened.role("coder").complete(HELLO, seed=1)
    assert (fresh.text, fresh.cached) == ("first", False)
    assert kept == fresh.model_copy(update={"cached": True})
    assert len(asked.requests) == 1
    assert (opened.usage.calls, opened.usage.cached, opened.usage.cost_usd) == (0, 1, 0.0)


@pytest.mark.parametrize(
    "other",
    [{"seed": 2}, {"temperature": 0.5}, {"max_tokens": 9}, {"schema": {"type": "object"}}, {"content": "hello!"},
     {"role": "tester"}, {"model": "openai/other"}, {"model_coder": "temperature=0.3"}, {"elsewhere": True}],
)  # fmt: skip
async def test_everything_that_matters_makes_another_question(home: Path, other: dict[str, Any]) -> None:
    settings = {name: other[name] for name in ("model", "model_coder") if name in other}
    options = {name: other[name] for name in ("temperature", "max_tokens", "schema") if name in other}
    messages = [Message(role="user", content=other.get("content", "hello"))]
    with openai_server("a") as (url, _asked), openai_server("b") as (second_url, _):
        await models_at(url, home).open().role("coder").complete(HELLO, seed=1)
        at = second_url if "elsewhere" in other else url
        if "elsewhere" not in other:
            _asked.replies.append("b")
        changed = RoleModels(
            Settings(**{"home": home, "model": "openai/scripted", "model_base_url": at, **settings})
        )
        answer = await changed.open().role(other.get("role", "coder")).complete(
            messages, seed=other.get("seed", 1), **options
        )  # fmt: skip
    assert (answer.text, answer.cached) == ("b", False)


async def test_where_the_environment_sends_litellm_matters(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with openai_server("a") as (first, _), openai_server("b") as (second, _):
        monkeypatch.setenv("OPENAI_API_KEY", "none-needed")
        answers = []
        for url in (first, second):
            monkeypatch.setenv("OPENAI_BASE_URL", url)
            role_models = RoleModels(Settings(home=home, model="openai/scripted"))
            answers.append((await role_models.open().role("coder").complete(HELLO)).text)
    assert answers == ["a", "b"]


async def test_a_fresh_start_and_no_room_keep_and_use_nothing(home: Path) -> None:
    with openai_server("a", "b", "c", "d", "e") as (url, _asked):
        await models_at(url, home).open(fresh=True).role("coder").complete(HELLO)
        await models_at(url, home, response_cache_mb=0).open().role("coder").complete(HELLO)
        await models_at(url, home).plain().complete(HELLO)
        assert files(home) == []
        kept = await models_at(url, home).open().role("coder").complete(HELLO)
        assert len(files(home)) == 1
        again = await models_at(url, home).open(fresh=True).role("coder").complete(HELLO)
    assert (kept.text, again.text, again.cached) == ("d", "e", False)


async def test_half_answers_and_empty_ones_are_not_kept(home: Path) -> None:
    with openai_server(Says("half", finish_reason="length"), "", "whole") as (url, _asked):
        coder = models_at(url, home).open().role("coder")
        texts = [(await coder.complete(HELLO)).text for _ in range(4)]
    assert texts == ["half", "", "whole", "whole"]


async def test_no_question_and_no_key_lies_on_the_disk(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    with openai_server("a") as (url, _asked):
        await (
            models_at(url, home).open().role("coder").complete([Message(role="user", content="my own words")])
        )
    (file,) = files(home)
    text = file.read_text()
    assert "my own words" not in text
    assert "0123456789" not in text
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"format": 1}',
        b"[" * 100_000,
        b'{"format":1,"kept_at":"x","mark":1}',
    ],
)
async def test_a_damaged_file_is_as_good_as_none(tmp_path: Path, content: bytes) -> None:
    cache = replies(tmp_path, 1 << 20)
    await cache.keep(KEY, ANSWER)
    (file,) = files(tmp_path)
    file.write_bytes(content)
    assert await cache.find(KEY) is None
    await cache.keep(KEY, ANSWER)
    assert await cache.find(KEY) == ANSWER


async def test_a_changed_or_moved_answer_is_no_answer(tmp_path: Path) -> None:
    cache = replies(tmp_path, 1 << 20)
    await cache.keep(KEY, ANSWER)
    (file,) = files(tmp_path)
    moved = tmp_path / OTHER[:2] / f"{OTHER}.json"
    moved.parent.mkdir()
    moved.write_bytes(file.read_bytes())
    assert await cache.find(OTHER) is None
    file.write_text(file.read_text().replace("an answer", "another answer"))
    assert await cache.find(KEY) is None


async def test_an_answer_grows_old(tmp_path: Path) -> None:
    now = [1_000_000.0]
    cache = replies(tmp_path, 1 << 20, clock=lambda: now[0])
    await cache.keep(KEY, ANSWER)
    now[0] += MAX_AGE_S - 1
    assert await cache.find(KEY) is not None
    now[0] += 2
    assert await cache.find(KEY) is None


async def test_the_folder_stays_within_its_bounds_and_keeps_what_was_used_last(tmp_path: Path) -> None:
    room = 40_000
    cache = replies(tmp_path, room)
    answer = ANSWER.model_copy(update={"text": "x" * 1_500})
    for number in range(129):
        await cache.keep(f"{number:064x}", answer)
        assert number == 0 or await cache.find(f"{0:064x}") is not None, number
    left = [place.stat().st_size for place in files(tmp_path)]
    assert sum(left) <= room
    assert len(left) > 10
    assert await cache.find(f"{128:064x}") is not None
    assert await cache.find(f"{1:064x}") is None


async def test_an_answer_too_large_for_the_room_is_not_kept(tmp_path: Path) -> None:
    cache = replies(tmp_path, 16_000)
    await cache.keep(KEY, ANSWER.model_copy(update={"text": "x" * 2_000}))
    assert await cache.find(KEY) is None


async def test_a_folder_that_cannot_be_used_keeps_nobody_waiting(tmp_path: Path) -> None:
    (tmp_path / "responses").write_text("a file where the folder should be")
    cache = replies(tmp_path / "responses", 1 << 20)
    await cache.keep(KEY, ANSWER)
    assert await cache.find(KEY) is None


WRITER = """
import sys, anyio
from pathlib import Path
from alita_mcp.cache_folder import CacheFolder
from alita_mcp.models.interface import Completion

async def main():
    cache = CacheFolder(Path(sys.argv[1]), Completion, 200_000, noun="An answer")
    for number in range(120):
        key = f"{number:064x}"
        found = await cache.find(key)
        assert found is None or found.text == key * 20, found
        await cache.keep(key, Completion(text=key * 20, model="m"))

anyio.run(main)
"""


@pytest.mark.process
def test_processes_share_a_folder_without_hurting_one_another(tmp_path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)]) for _ in range(3)]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    for place in tmp_path.glob("*/*.json"):
        assert json.loads(place.read_text().partition("\n")[2])["value"]["model"] == "m"


async def test_many_tasks_keep_and_find_at_once(tmp_path: Path) -> None:
    cache = replies(tmp_path, 1 << 20)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for _ in range(30):
                tasks.start_soon(cache.keep, KEY, ANSWER)
                tasks.start_soon(cache.find, KEY)
    assert (await cache.find(KEY)) is not None
    assert [place.suffix for place in files(tmp_path)] == [".json"]
