"""Exchanges with models as files: readable, cleaned, answered again without network or settings."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest

from alita_mcp.errors import ModelError, UsageError
from alita_mcp.models.interface import (
    Completion,
    LanguageModel,
    Message,
    ToolCall,
    ToolsRefused,
    tools_refused,
)
from alita_mcp.models.recording.recorded import Recorder, Replayer
from alita_mcp.models.roles import ROLES, RoleModels
from alita_mcp.models.scripted import ScriptedModel
from alita_mcp.settings import Settings

HELLO = [Message(role="system", content="be brief"), Message(role="user", content="hello\nthere")]


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def clean(text: str) -> str:
    return text.replace("horse", "[key]")


def recording(folder: Path, *answers: str | Completion) -> LanguageModel:
    return Recorder(folder, clean).between("coder", ScriptedModel(answers))


def replaying(folder: Path) -> RoleModels:
    return RoleModels(Settings(), replayer=Replayer(folder, clean))


async def test_what_was_recorded_is_replayed_without_a_model(tmp_path: Path) -> None:
    call = ToolCall(id="a", name="add", arguments={"x": "horse"})
    said = Completion(text="a\nhorse", model="m", calls=(call,), prompt_tokens=7, completion_tokens=2)
    asked = [*HELLO, Message(role="user", content="is horse a key?")]
    await recording(tmp_path, said).complete(asked, seed=1, temperature=0.5)
    (file,) = files(tmp_path)
    assert file.name.startswith("0001-coder-")
    assert "horse" not in file.read_text()
    content = json.loads(file.read_text())
    assert content["asked"]["messages"][1] == {"role": "user", "content": ["hello", "there"]}
    assert content["answered"]["text"] == ["a", "[key]"]
    again = replaying(tmp_path)
    assert again.is_configured
    models = again.open()
    answer = await models.role("coder").complete(asked, seed=1, temperature=0.9)
    assert (answer.text, answer.calls[0].arguments) == ("a\n[key]", {"x": "[key]"})
    assert models.usage.prompt_tokens == 7


async def test_the_same_question_gets_its_answers_in_their_order_and_no_more(tmp_path: Path) -> None:
    coder = recording(tmp_path, *"abc")
    for _ in "abc":
        await coder.complete(HELLO)
    models = replaying(tmp_path).open()
    assert [(await models.role("coder").complete(HELLO)).text for _ in "abc"] == ["a", "b", "c"]
    with pytest.raises(ModelError, match="more often than it was recorded"):
        await models.role("coder").complete(HELLO)
    with pytest.raises(ModelError, match="No answer to this question of the judge"):
        await models.role("judge").complete(HELLO)


async def test_a_refusal_of_tools_is_replayed_as_one(tmp_path: Path) -> None:
    class Toolless(ScriptedModel):
        async def complete(self, *_: object, **__: object) -> Completion:
            raise tools_refused("toolless")

    with pytest.raises(ToolsRefused):
        await Recorder(tmp_path, clean).between("coder", Toolless([])).complete(HELLO)
    with pytest.raises(ToolsRefused):
        await Replayer(tmp_path, clean).model("coder").complete(HELLO)


async def test_many_answers_at_once_are_all_recorded(tmp_path: Path) -> None:
    coder = recording(tmp_path, *(["same"] * 30))
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
        Replayer(tmp_path, clean)
    assert said in raised.value.message


async def test_a_folder_that_cannot_be_written_costs_no_answer(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert (await recording(tmp_path / "file" / "folder", "a").complete(HELLO)).text == "a"


def test_a_folder_without_exchanges_is_an_error(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(UsageError, match="no recorded exchanges"):
            Replayer(folder, clean)


async def test_without_a_model_it_is_said_what_to_set() -> None:
    role_models = RoleModels(Settings())
    assert not role_models.is_configured
    for opening in (role_models.open, role_models.plain):
        with pytest.raises(UsageError, match="ALITA_MODEL"):
            opening()


async def test_each_role_is_asked_from_its_own_source() -> None:
    scripts = {role: ScriptedModel([f"by the {role}"]) for role in ROLES}
    opened = RoleModels(Settings(), source=lambda role: scripts[role or "planner"]).open()
    for role in scripts:
        assert (await opened.role(role).complete(HELLO)).text == f"by the {role}"
    assert opened.role("coder").name == "scripted"
