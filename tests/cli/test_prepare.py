"""`alita prepare`, and what `doctor` and `demo` say of it: the sandbox is made ready once, visibly."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from alita_mcp.app.doctor import describe_embedded
from alita_mcp.sandbox.interface import RunResult
from alita_mcp.sandbox.wasm.compiled import CompiledFiles
from alita_mcp.sandbox.wasm.embedded import find_embedded
from alita_mcp.settings import Settings
from tests.cli.conftest import Alita
from tests.in_process import InProcessSandbox
from tests.sandbox.wasm import slow_to_prepare
from tests.scripted_sandbox import ScriptedSandbox

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="the fake compiler uses POSIX limits"),
]


def test_it_makes_the_sandbox_ready_and_says_what_there_is(
    alita: Alita, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALITA_SANDBOX", "wasm")
    first = alita("prepare", "--json")
    assert (first.status, first.json["sandbox"]) == (0, "wasm")
    found = first.json["embedded"]
    assert found["compiled"] is True
    assert found["engine"].startswith("wasmtime ")
    assert Path(found["path"]).stat().st_size == found["bytes"]
    again = alita("prepare")
    assert again.status == 0
    assert "Tools run in: wasm\n✓ embedded Python: component " in again.out
    assert found["path"] in again.out
    assert "✓ starter tools: proved before; nothing to do" in again.out
    assert "prepare: sandbox" in again.err
    assert alita("prepare", "--json").json == first.json


def test_it_proves_the_starter_tools_for_the_sandbox_once(
    alita: Alita, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALITA_SANDBOX", "tests.cli.test_prepare:Elsewhere")
    first = alita("prepare")
    assert first.status == 0
    assert "✓ starter tools: proved just now: calculate, convert_units, text_statistics, " in first.out
    again = alita("prepare", "--json").json
    assert (again["sandbox"], again["proved_now"], again["failed"]) == ("elsewhere", [], {})
    monkeypatch.setenv("ALITA_SANDBOX", "tests.cli.test_prepare:Broken")
    failed = alita("prepare")
    assert "proved" not in failed.out
    assert "✗ 'calculate' v1 fails its gates in the broken sandbox: " in failed.out


class Elsewhere(InProcessSandbox):
    """A kind of sandbox that no starter tool was proved in."""

    def __init__(self, _settings: Settings) -> None:
        super().__init__(kind="elsewhere")


class Broken(ScriptedSandbox):
    """Gives each tool the wrong result."""

    def __init__(self, _settings: Settings) -> None:
        super().__init__(lambda _job: RunResult(status="ok", value="wrong"), "broken")


def test_what_fails_is_said_with_what_to_do(
    alita: Alita, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    slow_to_prepare.set_up(tmp_path / "slow", json.dumps({"ends": "killed"}))
    monkeypatch.setenv("ALITA_SANDBOX", slow_to_prepare.NAME)
    said = alita("prepare")
    assert said.status == 5
    assert "could not be prepared" in said.err
    assert "500 MB of memory" in said.err


async def test_what_there_is_is_told_in_a_line(tmp_path: Path) -> None:
    files = CompiledFiles(tmp_path / "compiled")
    found = await find_embedded(files)
    assert found["compiled"] is False
    assert found["folder"] == str(files.folder)
    assert "not compiled yet (component " in describe_embedded(found).text
    assert "`alita prepare` compiles it" in describe_embedded(found).text
    files.folder.chmod(0o777)
    exposed = describe_embedded(await find_embedded(files))
    assert exposed.state == "problem"
    assert "others may write to it" in exposed.text
