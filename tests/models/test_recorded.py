"""Exchanges with models as files: readable, without keys, answered again without network or settings."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest

from alita_mcp.errors import ModelError, UsageError
from alita_mcp.models.interface import Completion, Message
from alita_mcp.models.recording.recorded import Recorder, Replayer
from alita_mcp.models.roles import ROLES, RoleModels
from alita_mcp.models.scripted import ScriptedModel
from alita_mcp.settings import Settings
from tests.models.openai_server import openai_server

HELLO = [Message(role="system", content="be brief"), Message(role="user", content="hello\nthere")]


def recording(folder: Path, *answers: str | Completion, home: Path) -> RoleModels:
    model = ScriptedModel(answers)
    return RoleModels(Settings(home=home), source=lambda _role: model, exchanges=Recorder(folder))


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def replaying(folder: Path, home: Path) -> RoleModels:
    return RoleModels(Settings(home=home), exchanges=Replayer(folder))


async def test_what_was_recorded_over_http_is_replayed_without_a_server_a_model_or_a_key(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    folder = tmp_path / "exchanges"
    with openai_server("a\nb", "c") as (url, asked):
        settings = Settings(home=home, model="openai/scripted", model_base_url=url)
        opened = RoleModels(settings, exchanges=Recorder(folder)).open()
        first = await opened.role("coder").complete(HELLO, seed=1, temperature=0.5)
        second = await opened.role("tester").complete(HELLO)
    assert len(asked.requests) == 2
    for file in files(folder):
        assert "0123456789" not in file.read_text()
        assert "127.0.0.1" not in file.read_text()
    again = replaying(folder, home).open()
    assert await again.role("tester").complete(HELLO) == second
    assert await again.role("coder").complete(HELLO, seed=1, temperature=0.9) == first
    assert again.usage.prompt_tokens == opened.usage.prompt_tokens


async def test_a_file_is_made_to_be_read(home: Path, tmp_path: Path) -> None:
    await recording(tmp_path, "a\nb", home=home).open().role("coder").complete(HELLO, seed=3)
    (file,) = files(tmp_path)
    assert file.name.startswith("0001-coder-")
    content = json.loads(file.read_text())
    assert content["asked"]["messages"][1] == {"role": "user", "content": ["hello", "there"]}
    assert content["answered"]["text"] == ["a", "b"]
    assert '      "a",\n' in file.read_text()


async def test_a_key_in_a_text_is_not_written(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "correct horse battery")
    asked = [Message(role="user", content="is correct horse battery a key?")]
    await recording(tmp_path, "yes, correct horse battery is", home=home).open().role("coder").complete(asked)
    (file,) = files(tmp_path)
    assert "horse" not in file.read_text()
    answer = await replaying(tmp_path, home).open().role("coder").complete(asked)
    assert answer.text == "yes, [key] is"


async def test_the_same_question_gets_its_answers_in_their_order_and_no_more(
    home: Path, tmp_path: Path
) -> None:
    coder = recording(tmp_path, *"abc", home=home).open().role("coder")
    for _ in "abc":
        await coder.complete(HELLO)
    again = replaying(tmp_path, home).open().role("coder")
    assert [(await again.complete(HELLO)).text for _ in "abc"] == ["a", "b", "c"]
    with pytest.raises(ModelError, match="more often than it was recorded"):
        await again.complete(HELLO)
    with pytest.raises(ModelError, match=r"No answer to this question of the judge .* --record DIR"):
        await replaying(tmp_path, home).open().role("judge").complete(HELLO)


async def test_many_answers_at_once_are_all_recorded(home: Path, tmp_path: Path) -> None:
    coder = recording(tmp_path, *(["same"] * 30), home=home).open().role("coder")
    async with anyio.create_task_group() as tasks:
        for _ in range(30):
            tasks.start_soon(coder.complete, HELLO)
    assert len(files(tmp_path)) == 30


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "no recorded exchange: the file: Invalid JSON"),
        (b'{"format": 2, "asked": {}, "answered": {}}', "format"),
        (b'{"asked": {"role": "coder", "messages": []}}', "answered: Field required"),
        (b"\xff", "cannot be read"),
    ],
)
def test_a_file_that_is_no_exchange_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "0001-coder-abc.json").write_bytes(content)
    with pytest.raises(UsageError, match="0001-coder-abc") as raised:
        Replayer(tmp_path)
    assert said in raised.value.message


def test_a_folder_without_exchanges_is_an_error(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(UsageError, match="no recorded exchanges"):
            Replayer(folder)


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="Nothing can be recorded"):
        Recorder(tmp_path / "file" / "folder")


async def test_a_folder_that_goes_away_is_an_error(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "exchanges"
    coder = recording(folder, "a", home=home).open().role("coder")
    folder.rmdir()
    with pytest.raises(ModelError, match="cannot be recorded"):
        await coder.complete(HELLO)


async def test_recording_needs_a_model_and_replaying_none(home: Path, tmp_path: Path) -> None:
    role_models = RoleModels(Settings(home=home), exchanges=Recorder(tmp_path))
    assert not role_models.is_configured
    with pytest.raises(UsageError, match="ALITA_MODEL"):
        role_models.open()
    await recording(tmp_path, "a", home=home).plain().complete(HELLO)
    replayed = replaying(tmp_path, home)
    assert replayed.is_configured
    assert (await replayed.plain().complete(HELLO)).text == "a"


async def test_without_a_model_a_room_says_what_to_set(home: Path) -> None:
    role_models = RoleModels(Settings(home=home))
    assert not role_models.is_configured
    for opening in (role_models.open, role_models.plain):
        with pytest.raises(UsageError, match="ALITA_MODEL"):
            opening()


async def test_each_role_is_asked_from_its_own_source(home: Path) -> None:
    scripts = {role: ScriptedModel([f"by the {role}"]) for role in ROLES}
    opened = RoleModels(Settings(home=home), source=lambda role: scripts[role or "planner"]).open()
    for role in scripts:
        assert (await opened.role(role).complete(HELLO)).text == f"by the {role}"
    assert opened.role("coder").name == "scripted"
