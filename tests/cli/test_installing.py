from __future__ import annotations

import json
import os
import stat
import sys
import tomllib
from pathlib import Path

import pytest

from alita_mcp.cli.setup.clients import CLIENTS, Launch, Remote, codex_toml
from alita_mcp.cli.setup.install import launch_command, merge_entry
from alita_mcp.settings import Settings
from tests.cli.conftest import Alita
from tests.tables import each_case

LAUNCH = Launch("/opt/python", ("-m", "server"), {"ALITA_HOME": "/data"})
ADDRESS = "127.0.0.1:8765"
URL = f"http://{ADDRESS}/mcp"
OTHERS = {
    "theme": "dark",
    "mcpServers": {"files": {"command": "npx", "args": ["-y", "files"], "env": {"KEY": "s3cret"}}},
}


def test_install_prints_what_a_client_needs_and_writes_nothing(alita: Alita, tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    said = alita("install", "cursor", "--file", str(file))
    assert said.status == 0
    entry = said.json["mcpServers"]["alita"]
    assert entry["command"] == sys.executable
    assert entry["args"] == ["-m", "alita_mcp.server.transports.entry"]
    assert str(file) in said.err
    assert not file.exists()


@pytest.mark.parametrize("name", CLIENTS)
def test_every_client_gets_its_entry_into_a_new_file(name: str, tmp_path: Path) -> None:
    client = CLIENTS[name]
    file = tmp_path / "deep" / "config.json"
    assert merge_entry(file, client, LAUNCH) is None
    document = json.loads(file.read_text(encoding="utf-8"))
    assert document == client.document(LAUNCH)
    assert "/opt/python" in json.dumps(document[client.servers_key]["alita"])
    assert "/data" in json.dumps(document[client.servers_key]["alita"])


def test_other_servers_and_settings_survive_and_the_old_file_is_kept_beside(
    alita: Alita, tmp_path: Path
) -> None:
    file = tmp_path / "claude_desktop_config.json"
    before = json.dumps(OTHERS)
    file.write_text(before, encoding="utf-8")
    said = alita("install", "claude-desktop", "--write", "--file", str(file), "--json")
    assert said.status == 0
    after = json.loads(file.read_text(encoding="utf-8"))
    assert after["theme"] == "dark"
    assert after["mcpServers"]["files"] == OTHERS["mcpServers"]["files"]  # type: ignore[index]
    assert list(after["mcpServers"]) == ["files", "alita"]
    assert Path(said.json["backup"]).read_text(encoding="utf-8") == before


def test_installing_twice_changes_nothing_the_second_time(alita: Alita, tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    alita("install", "vscode", "--write", "--file", str(file))
    first = file.stat().st_mtime_ns
    said = alita("install", "vscode", "--write", "--file", str(file), "--json")
    assert said.json["backup"] is None
    assert file.stat().st_mtime_ns == first
    assert [path.name for path in tmp_path.iterdir() if path.name != "home"] == ["mcp.json"]


@each_case(
    "broken",
    [
        "{not json",
        '{"mcpServers": {}} // a comment',
        "[]",
        '"text"',
        '{"mcpServers": []}',
        "[" * 100_000,
        "\udcff",
    ],
)
def test_a_file_that_is_no_json_object_is_left_alone(broken: str, alita: Alita, tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_bytes(broken.encode("utf-8", "surrogateescape"))
    before = file.read_bytes()
    said = alita("install", "cursor", "--write", "--file", str(file))
    assert said.status == 2
    assert str(file) in said.err
    assert file.read_bytes() == before
    assert {*tmp_path.iterdir()} <= {file, tmp_path / "home"}


@pytest.mark.skipif(os.name == "nt", reason="no permission bits")
def test_a_private_file_stays_private_and_so_does_its_backup(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps(OTHERS), encoding="utf-8")
    file.chmod(0o600)
    backup = merge_entry(file, CLIENTS["cursor"], LAUNCH)
    assert backup is not None
    assert [stat.S_IMODE(path.stat().st_mode) for path in (file, backup)] == [0o600, 0o600]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_linked_configuration_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles.json", tmp_path / "mcp.json"
    real.write_text("{}", encoding="utf-8")
    link.symlink_to(real)
    merge_entry(link, CLIENTS["cursor"], LAUNCH)
    assert link.is_symlink()
    assert "alita" in real.read_text(encoding="utf-8")


def test_codex_gets_toml_with_which_it_waits_for_the_server(alita: Alita) -> None:
    entry = tomllib.loads(alita("install", "codex").out)["mcp_servers"]["alita"]
    assert (entry["args"], entry["required"]) == (["-m", "alita_mcp.server.transports.entry"], True)
    assert tomllib.loads(codex_toml(LAUNCH))["mcp_servers"]["alita"]["env"] == {"ALITA_HOME": "/data"}
    refused = alita("install", "codex", "--write")
    assert (refused.status, "TOML" in refused.err) == (2, True)


def test_cline_gives_the_server_a_minute(alita: Alita) -> None:
    entry = alita("install", "cline").json["mcpServers"]["alita"]
    assert (entry["timeout"], entry["transport"]["type"]) == (60, "stdio")


@pytest.mark.parametrize("present", [b"", b"  \n", "\ufeff{}".encode()], ids=["empty", "blank", "BOM"])
def test_an_empty_file_and_one_with_a_byte_order_mark_are_understood(present: bytes, tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_bytes(present)
    merge_entry(file, CLIENTS["cursor"], LAUNCH)
    assert "alita" in json.loads(file.read_text(encoding="utf-8"))["mcpServers"]


def test_the_server_starts_with_the_settings_a_person_made_and_without_secrets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ALITA_DOCKER_IMAGE", raising=False)
    launch = launch_command(Settings(home=Path("/data"), sandbox="wasm", token="s3cret-of-sixteen-letters"))  # type: ignore[arg-type]
    assert launch.env == {"ALITA_HOME": str(Path("/data")), "ALITA_SANDBOX": "wasm"}
    published = launch_command(Settings(), uvx=True)
    assert (Path(published.command).stem, published.args, published.env) == ("uvx", ("alita-mcp-server",), {})


@each_case(
    "client, words",
    [
        ("claude-code", ("approve", "claude mcp add", "claude -p")),
        ("cline", ("`timeout`", "3 seconds")),
        ("codex", ("`required = true`",)),
        ("gemini-cli", ("trust",)),
    ],
)
def test_what_a_client_needs_beyond_its_file_is_printed(
    client: str, words: tuple[str, ...], alita: Alita, tmp_path: Path
) -> None:
    printed = alita("install", client)
    assert [word for word in words if word not in printed.err] == []
    if client != "codex":
        written = alita("install", client, "--write", "--file", str(tmp_path / "config.json"))
        assert [word for word in words if word not in written.out] == []


def test_a_folder_in_the_files_place_is_refused(alita: Alita, tmp_path: Path) -> None:
    said = alita("install", "cursor", "--write", "--file", str(tmp_path))
    assert said.status == 2
    assert str(tmp_path) in said.err


def test_two_changes_within_a_second_keep_both_backups(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps(OTHERS), encoding="utf-8")
    first = merge_entry(file, CLIENTS["cursor"], LAUNCH)
    second = merge_entry(file, CLIENTS["cursor"], Launch("uvx", ("alita-mcp-server",), {}))
    assert first is not None
    assert second is not None
    assert json.loads(first.read_text(encoding="utf-8")) == OTHERS
    assert "/opt/python" in second.read_text(encoding="utf-8")


# --- a server over HTTP


@pytest.mark.parametrize("name", [*CLIENTS, "codex"])
def test_a_client_of_a_running_server_gets_its_address_and_token_and_a_project_only_the_variable(
    name: str, alita: Alita, home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "config.json"
    file.write_text("{}", encoding="utf-8")
    said = alita("install", name, "--http", ADDRESS, "--write", "--file", str(file))
    if name in ("claude-desktop", "codex"):  # its file takes no such server; it is TOML
        assert (said.status, file.read_text(encoding="utf-8")) == (2, "{}")
        return
    text = file.read_text(encoding="utf-8")
    assert URL in text
    if CLIENTS[name].reference:
        assert f"Bearer {CLIENTS[name].reference}" in text
        assert "ALITA_TOKEN set to the token, which the server keeps in" in said.out
    else:
        token = (home / "http_token").read_text(encoding="ascii").strip()
        assert f"Bearer {token}" in text
        assert token not in said.out + said.err
        assert os.name == "nt" or {
            stat.S_IMODE(each.stat().st_mode) for each in tmp_path.glob("config*")
        } == {0o600}


@each_case("name", [*CLIENTS.keys() - {"claude-desktop"}, "codex"])
def test_nothing_that_is_printed_holds_the_token_or_makes_one(name: str, alita: Alita, home: Path) -> None:
    printed = alita("install", name, "--http", ADDRESS)
    assert URL in printed.out
    assert str(home / "http_token") in printed.err
    assert not (home / "http_token").exists()


@each_case(
    "address, url", [("[::1]:80", "http://[::1]:80/mcp"), ("80", "http://127.0.0.1:80/mcp"), ("h:x", None)]
)
def test_an_address_is_read_as_serve_reads_it(address: str, url: str | None, alita: Alita) -> None:
    said = alita("install", "gemini-cli", "--http", address)
    assert said.status == (2 if url is None else 0)
    assert url is None or said.json["mcpServers"]["alita"]["url"] == url


def test_codex_reads_the_token_from_the_environment() -> None:
    entry = tomllib.loads(codex_toml(Remote(URL, "")))["mcp_servers"]["alita"]
    assert (entry["url"], entry["bearer_token_env_var"], entry["required"]) == (URL, "ALITA_TOKEN", True)


def test_the_example_configuration_is_what_clients_read() -> None:
    example = json.loads((Path(__file__).parents[2] / "mcp.json.example").read_text(encoding="utf-8"))
    server = example["mcpServers"]["alita"]
    assert (server["command"], server["args"]) == ("alita-mcp-server", [])
