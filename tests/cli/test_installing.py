"""`alita install` and `alita uninstall` over real shapes of clients' files: nothing but our entry changes."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.clients.table import CLIENTS
from tests.cli.conftest import Alita

ADDRESS = "127.0.0.1:8765"
URL = f"http://{ADDRESS}/mcp"
FIXTURES = {path.name: path for path in sorted((Path(__file__).parent / "data").iterdir())}
IN_ONE_LINE = {
    "claude-code.one_line.json", "codex.inline.toml", "copilot-cli.empty_object.json", "goose.crlf_flow.yaml",
    "vscode-user.tabs.json", "windsurf.json",
}  # fmt: skip
"""The fixtures in which our entry goes into a line of theirs."""


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home folder with no client in it, and no program of one on PATH."""
    person = tmp_path / "person"
    person.mkdir()
    for variable in ("HOME", "USERPROFILE", "APPDATA"):
        monkeypatch.setenv(variable, str(person))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(person / ".config"))
    monkeypatch.setenv("PATH", "")
    for variable in [name for name in os.environ if name.startswith("ALITA_")]:
        monkeypatch.delenv(variable)
    monkeypatch.chdir(tmp_path)
    return person


def client_of(fixture: str) -> str:
    return fixture.partition(".")[0]


def parsed(client: str, content: bytes) -> Any:
    """The document as an independent reader of the format sees it; ours for JSON with comments."""
    from alita_mcp.clients.changes import format_of

    return format_of(CLIENTS[client]).read(content.removeprefix(b"\xef\xbb\xbf"))


def entry_in(client: str, content: bytes) -> Any:
    servers = parsed(client, content)[CLIENTS[client].servers_key]
    entries = {each["name"]: each for each in servers} if isinstance(servers, list) else servers
    return entries["alita"]


def test_every_client_has_a_fixture() -> None:
    assert {client_of(name) for name in FIXTURES} == {*CLIENTS}


@pytest.mark.parametrize("fixture", FIXTURES)
def test_install_adds_our_entry_alone_and_uninstall_restores_every_byte(
    fixture: str, alita: Alita, tmp_path: Path
) -> None:
    client, file = client_of(fixture), tmp_path / fixture
    before = FIXTURES[fixture].read_bytes()
    file.write_bytes(before)
    key = CLIENTS[client].servers_key

    said = alita("install", client, "--file", str(file), "--env", "GITHUB_TOKEN=ghp_givenGivenGiven")
    assert (said.status, said.err.count("ALITA_HOME")) == (0, 1), said.err
    after = file.read_bytes()
    assert sys.executable in json.dumps(entry_in(client, after))
    assert "ghp_givenGivenGiven" in json.dumps(entry_in(client, after))
    old, new = parsed(client, before), parsed(client, after)
    strip = {name: value for name, value in new.items() if name != key}
    assert strip == {name: value for name, value in old.items() if name != key}
    others = [each for each in new[key] if each not in ("alita", entry_in(client, after))]
    assert others == list(old.get(key) or ())
    lines = [Counter(side.decode().replace(",", "").splitlines()) for side in (before, after)]
    lost = [*(lines[0] - lines[1])]
    assert len(lost) == (fixture in IN_ONE_LINE), lost
    assert (b"\r\n" in before) == (b"\r\n" in after)
    if b"\r\n" in before:
        assert after.count(b"\n") == after.count(b"\r\n")
    for secret in (
        "fixtureFixture",
        "fixture-key",
        "fixture0000",
        "fixture-0000",
        "fixture-sqlite",
        "ghp_given",
    ):
        assert secret not in said.out + said.err

    again = alita("install", client, "--file", str(file), "--env", "GITHUB_TOKEN=ghp_givenGivenGiven")
    assert "is unchanged" in again.out
    assert file.read_bytes() == after

    gone = alita("uninstall", client, "--file", str(file))
    assert gone.status == 0, gone.err
    assert file.read_bytes() == before
    assert "is unchanged" in alita("uninstall", client, "--file", str(file)).out


@pytest.mark.parametrize("fixture", FIXTURES)
def test_uninstall_without_a_backup_leaves_what_others_wrote(
    fixture: str, alita: Alita, tmp_path: Path
) -> None:
    client, file = client_of(fixture), tmp_path / fixture
    before = FIXTURES[fixture].read_bytes()
    file.write_bytes(before)
    alita("install", client, "--file", str(file))
    for backup in tmp_path.glob("*.alita-backup*"):
        backup.unlink()
    assert alita("uninstall", client, "--file", str(file)).status == 0
    after = file.read_bytes() if file.exists() else b""
    key = CLIENTS[client].servers_key
    if parsed(client, before).get(key):
        assert after == before
    else:  # an object of servers that is empty now may stay
        assert {**parsed(client, after), key: None} == {**parsed(client, before), key: None}


def test_the_plugin_of_claude_code_is_one_folder_that_uninstall_takes_away(
    alita: Alita, machine: Path
) -> None:
    (machine / ".claude").mkdir()
    said = alita("install", "claude-code-plugin", "--env", "ALITA_HOME=/there")
    assert said.status == 0, said.err
    folder = machine / ".claude" / "skills" / "alita"
    files = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    skill = "skills/alita/SKILL.md"
    assert files.keys() == {".mcp.json", ".claude-plugin/plugin.json", "hooks/hooks.json", skill}
    entry = json.loads(files[".mcp.json"].read_text())["mcpServers"]["alita"]
    assert entry["env"]["ALITA_HOME"] == "/there"
    assert json.loads(files[".claude-plugin/plugin.json"].read_text())["name"] == "alita"
    hooks = json.loads(files["hooks/hooks.json"].read_text())["hooks"]
    assert hooks.keys() == {"PreToolUse", "PostToolUse"}
    assert shlex.split(hooks["PreToolUse"][0]["hooks"][0]["command"])[-1] == str(files[".mcp.json"])
    assert "own_files" in json.loads(alita("install", "claude-code-plugin", "--json").out)
    assert "unchanged" in alita("install", "claude-code-plugin").out

    files[skill].write_text("---\nname: alita\ndescription: mine\n---\n")
    refused = alita("install", "claude-code-plugin")
    assert (refused.status, "not this server's" in refused.err) == (2, True), refused.err
    files[skill].unlink()
    assert alita("uninstall", "claude-code-plugin").status == 0
    assert list((machine / ".claude").iterdir()) == []


def test_clients_share_one_skill_which_goes_with_the_last_of_them(alita: Alita, machine: Path) -> None:
    for folder in (".codex", ".cursor", ".cline"):
        (machine / folder).mkdir()
    skill = machine / ".agents" / "skills" / "alita" / "SKILL.md"
    assert alita("install", "cline").status == 0
    assert not skill.exists()
    assert alita("install", "codex", "--dry-run").status == 0
    assert not skill.exists()
    for client in ("codex", "cursor"):
        assert alita("install", client).status == 0
    front = skill.read_text(encoding="utf-8").split("---\n")[1]
    assert re.match(r"name: alita\ndescription: .{1,1024}\n", front)
    assert alita("uninstall", "codex").status == 0
    assert skill.exists()
    assert alita("uninstall", "cursor").status == 0
    assert not (machine / ".agents").exists()
