"""`alita install` and `alita uninstall` over real shapes of clients' files: nothing but our entry changes."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.clients.changes import apply_change, find_clients, plan_install
from alita_mcp.clients.table import CLIENTS, Launch
from alita_mcp.errors import UsageError
from tests.cli.conftest import Alita, Said
from tests.tables import each_case

ADDRESS = "127.0.0.1:8765"
URL = f"http://{ADDRESS}/mcp"
FIXTURES = {path.name: path for path in sorted((Path(__file__).parent / "data").iterdir())}
IN_ONE_LINE = {
    "claude-code.one_line.json", "copilot-cli.empty_object.json", "goose.crlf_flow.yaml",
    "vscode.tabs.json", "windsurf.json",
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
    return servers["alita"]


def test_every_client_has_a_fixture() -> None:
    assert {client_of(name) for name in FIXTURES} == {*CLIENTS}


@pytest.mark.parametrize("fixture", FIXTURES)
def test_install_adds_our_entry_alone_and_uninstall_leaves_every_byte_of_others(
    fixture: str, alita: Alita, tmp_path: Path
) -> None:
    client, file = client_of(fixture), tmp_path / f"[a] {fixture}"
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
    others = [each for each in new[key] if each != "alita"]
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
    left = file.read_bytes() if file.exists() else b""
    if old.get(key):
        assert left == before
    else:  # an object of servers that is empty now may stay
        assert {**parsed(client, left), key: None} == {**old, key: None}
    assert "is unchanged" in alita("uninstall", client, "--file", str(file)).out


OWN = {
    "cursor": (
        '{\n  "mcpServers": {\n    // mine\n    "alita": {\n      "command": "old", // since May\n'
        '      "env": { "GITHUB_TOKEN": "ghp_keptKeptKept", "ALITA_HOME": "/old" },\n'
        '      "disabled": true,\n      "autoApprove": ["calculate"],\n    },\n  },\n}\n'
    ),
    "cline": (
        '{"mcpServers": {"alita": {"transport": {"type": "stdio", "command": "old", "args": [], '
        '"env": {"GITHUB_TOKEN": "ghp_keptKeptKept"}}, "timeout": 300, "disabled": true, '
        '"autoApprove": ["calculate"]}}}'
    ),
    "codex": (
        '[mcp_servers.alita] # mine\ncommand = "old" # since May\nstartup_timeout_sec = 5\ndisabled = true\n'
        'autoApprove = ["calculate"]\nenv = { GITHUB_TOKEN = "ghp_keptKeptKept" }\n\n# next\n[tui]\n'
    ),
    "goose": (
        "extensions:\n  # mine\n  alita:\n    cmd: old # since May\n    args:\n    - one\n    - two\n    timeout: 9\n"
        "    disabled: true\n    autoApprove: [calculate]\n    envs:\n      GITHUB_TOKEN: ghp_keptKeptKept\n"
        "    # inside\n# after\nother: 1\n"
    ),
}


@each_case("client, before", OWN.items())
def test_what_a_person_set_in_our_own_entry_stays(
    client: str, before: str, alita: Alita, tmp_path: Path
) -> None:
    file = tmp_path / "config"
    file.write_text(before, encoding="utf-8")
    said = alita("install", client, "--file", str(file))
    assert said.status == 0, said.err
    after = file.read_text(encoding="utf-8")
    entry = entry_in(client, after.encode())
    start = entry.get("transport", entry)
    assert (start.get("command") or start["cmd"]) == sys.executable
    variables = start.get("env") or start["envs"]
    assert variables["GITHUB_TOKEN"] == "ghp_keptKeptKept"
    assert variables["ALITA_HOME"] == os.environ["ALITA_HOME"]
    assert (entry["disabled"], entry["autoApprove"]) == (True, ["calculate"])
    assert "The entry is switched off in the file, and stays so." in said.out
    for words in (
        "// mine",
        "# mine",
        "since May",
        "300",
        "sec = 5",
        "timeout: 9",
        "\n\n# next\n[tui]",
    ):
        assert words not in before or words in after, words
    assert "ghp_kept" not in said.out
    file.chmod(0o600)
    to_http = alita("install", client, "--file", str(file), "--http", ADDRESS)
    entry = entry_in(client, file.read_bytes())
    assert to_http.status == 0, to_http.err
    assert URL in entry.values()
    assert not entry.keys() & {"command", "cmd", "args", "transport", "env", "envs"}
    assert (entry["disabled"], entry["autoApprove"]) == (True, ["calculate"])
    alita("uninstall", client, "--file", str(file))
    text, rest = file.read_text(encoding="utf-8"), parsed(client, file.read_bytes())
    assert "alita" not in json.dumps(rest)
    assert "# inside" not in text
    for words in ("# next\n[tui]", "# after\nother: 1"):
        assert words not in before or words in text, words


BROKEN: list[tuple[str, bytes, str]] = [
    ("cursor", b"{not json", "line 1, column 2"),
    ("cursor", b'{\n  "mcpServers": {}\n} trailing', "line 3, column 3"),
    ("cursor", b'{\n  "mcpServers": { "a": 1,, }\n}', "line 2, column 28"),
    ("cursor", b"{'mcpServers': {}}", "line 1, column 2"),
    ("cursor", b'{"a": 1 /* no end', "line 1"),
    ("cursor", b"[]", "its top level is not an object"),
    ("cursor", b'"text"', "its top level is not an object"),
    ("cursor", b'{"mcpServers": []}', "'mcpServers' in"),
    ("cursor", b'{"mcpServers": null}', "'mcpServers' in"),
    ("cursor", b"[" * 100_000, "nested too deeply"),
    ("cursor", b'{"a":' * 700 + b"1" + b"}" * 700, "nested too deeply"),
    ("cursor", b'{"a": "\xff"}', "line 1 is not UTF-8"),
    ("cursor", '{"a": 1}'.encode("utf-16"), "line 1 is not UTF-8"),
    ("cursor", b'{"a": "' + b"x" * (1 << 20) + b'"}', "larger than 1 MB"),
    ("codex", b'model = "x"\n[mcp_servers\n', "line 2, column 13"),
    ("codex", b"a = 1\na = 2\n", "line 2"),
    ("codex", b"[[mcp_servers]]\n", "'mcp_servers' in"),
    ("goose", b"extensions:\n  a: [1\nb: 2\n", "line 3"),
    ("goose", b"- a\n- b\n", "its top level is not a mapping"),
    ("goose", b"extensions: []\n", "'extensions' in"),
    ("goose", b"a: 1\n---\nb: 2\n", "line 2"),
    ("goose", b"base: &base {x: 1}\nextensions: *base\n", "cannot be edited"),
    ("codex", b"mcp_servers = { x = { command = 'y' } } # all in one line\n", "cannot be edited"),
]


@each_case("client, content, words", BROKEN)
def test_a_file_that_is_not_what_the_client_reads_is_left_alone(
    client: str, content: bytes, words: str, alita: Alita, tmp_path: Path
) -> None:
    file = tmp_path / "config"
    file.write_bytes(content)
    for command in ("install", "uninstall"):
        said = alita(command, client, "--file", str(file))
        if command == "uninstall" and "cannot be edited" in words:
            continue
        assert said.status == 2, said
        assert str(file) in said.err
        assert words in said.err
        assert file.read_bytes() == content
    assert {*tmp_path.iterdir()} <= {file, tmp_path / "home", tmp_path / "person"}


@each_case("client, content", [
    ("cursor", '{"mcpServers": {}, "mcpServers": {"a": {"command": "x"}}}'),
    ("goose", "extensions: {}\nextensions:\n  a: {cmd: x}\n"),
])  # fmt: skip
def test_of_a_key_that_stands_twice_the_last_counts_as_for_clients(
    client: str, content: str, alita: Alita, tmp_path: Path
) -> None:
    file = tmp_path / "config"
    file.write_text(content, encoding="utf-8")
    assert alita("install", client, "--file", str(file)).status == 0
    assert entry_in(client, file.read_bytes())
    assert alita("uninstall", client, "--file", str(file)).status == 0
    assert file.read_text(encoding="utf-8") == content


def test_an_entry_that_a_document_merges_is_left_to_the_person(alita: Alita, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    content = "base: &base {alita: {cmd: x}}\nextensions:\n  <<: *base\n"
    file.write_text(content, encoding="utf-8")
    assert refuses(alita("uninstall", "goose", "--file", str(file)), "it is merged from elsewhere")
    assert file.read_text(encoding="utf-8") == content


def test_tables_of_ours_go_from_between_those_of_others(alita: Alita, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    ours = '[mcp_servers.alita]\ncommand = "x"\n', '[mcp_servers.alita.env]\nA = "b"\n'
    content = '{}# about tui\n[tui]\na = """\n[mcp_servers.alita]\n"""\n{}# end\n[end]\n'
    file.write_text(content.format(*ours), encoding="utf-8")
    assert alita("uninstall", "codex", "--file", str(file)).status == 0
    assert file.read_text(encoding="utf-8") == content.format("", "")


def refuses(said: Said, *words: str) -> bool:
    assert said.status == 2, said
    return all(word in said.err for word in words)


def test_a_folder_a_pipe_and_a_circle_of_links_are_refused(alita: Alita, tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to(tmp_path / "round")
    (tmp_path / "round").symlink_to(tmp_path / "circle")
    os.mkfifo(tmp_path / "pipe")
    for name, words in [
        ("circle", "it is a link"),
        ("pipe", "not a regular file"),
        (".", "not a regular file"),
    ]:
        for command in ("install", "uninstall"):
            assert refuses(alita(command, "cursor", "--file", str(tmp_path / name)), words)


def test_a_link_stays_a_link_and_the_answer_names_its_target(alita: Alita, tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    real, link = tmp_path / "dotfiles" / "real.json", tmp_path / "mcp.json"
    link.symlink_to(real)  # a link that leads nowhere yet: the file is made where it leads
    for content in (None, "{}"):
        if content is not None:
            real.write_text(content, encoding="utf-8")
        said = alita("install", "cursor", "--file", str(link))
        assert f"{link}, a link to {real}, is" in said.out
        assert link.is_symlink()
        assert "alita" in real.read_text(encoding="utf-8")
        alita("uninstall", "cursor", "--file", str(link))
        assert link.is_symlink()
        assert "alita" not in (real.read_text(encoding="utf-8") if real.exists() else "")


def test_mode_and_owner_stay_and_those_of_the_backup_are_the_same(alita: Alita, tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text("{}", encoding="utf-8")
    file.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(file, 12345, 23456)
    before = file.stat()
    backup = Path(alita("install", "cursor", "--file", str(file), "--json").json["backup"])
    for each in (file, backup):
        found = each.stat()
        assert (found.st_mode, found.st_uid, found.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    alita("install", "cursor", "--file", str(tmp_path / "new.json"))
    assert stat.S_IMODE((tmp_path / "new.json").stat().st_mode) == 0o600


def test_a_read_only_file_and_one_of_another_user_stay(
    alita: Alita, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mcp.json"
    file.write_text("{}", encoding="utf-8")
    file.chmod(0o444)
    assert refuses(alita("install", "cursor", "--file", str(file)), "is read-only")
    file.chmod(0o666)
    monkeypatch.setattr(os, "geteuid", lambda: file.stat().st_uid + 1)
    assert refuses(alita("install", "cursor", "--file", str(file)), "belongs to another user")
    assert file.read_text(encoding="utf-8") == "{}"
    assert not [*tmp_path.glob("*backup*"), *tmp_path.glob(".mcp*")]


def test_a_file_that_changes_while_it_is_edited_stays_as_it_became(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text("{}", encoding="utf-8")
    change = plan_install(CLIENTS["cursor"], Launch("x", (), {}), file)
    file.write_text('{"theme": 1}', encoding="utf-8")
    with pytest.raises(UsageError, match="changed meanwhile"):
        apply_change(change)
    assert file.read_text(encoding="utf-8") == '{"theme": 1}'


def test_a_client_that_is_not_on_this_machine_gets_no_file_unless_forced(alita: Alita, machine: Path) -> None:
    file = machine / ".cursor" / "mcp.json"
    said = alita("install", "cursor")
    assert refuses(
        said,
        f"Cursor is not on this machine: there is no {file.parent} and no `cursor` on PATH.",
        f"--file {file}",
    )
    assert "would be made" in alita("install", "cursor", "--dry-run").out
    assert not file.parent.exists()
    assert "is made" in alita("install", "cursor", "--file", str(file)).out
    assert "alita" in file.read_text(encoding="utf-8")


def test_all_takes_every_client_that_is_here_and_one_that_fails_keeps_none_back(
    alita: Alita, machine: Path, tmp_path: Path
) -> None:
    assert refuses(alita("install", "--all"), "No client was found")
    assert refuses(alita("install"), "Name one client, or --all")
    for folder in (".cursor", ".codex", ".config/goose", ".claude", ".gemini"):
        (machine / folder).mkdir(parents=True)
    (machine / ".gemini" / "settings.json").write_text("{broken", encoding="utf-8")
    dry = alita("install", "--all", "--dry-run", "--json")
    assert {each["state"] for each in dry.json} == {"would be made", "failed"}
    said = alita("install", "--all", "--json")
    states = {each["client"]: each["state"] for each in said.json}
    assert (said.status, states) == (
        2,
        dict.fromkeys(("claude-code-plugin", "cursor", "codex", "goose"), "is made") | {"gemini-cli": "failed"},
    )  # fmt: skip
    assert (
        "Claude Code: its file is a project's: run `alita install claude-code` there."
        in alita("install", "--all").err
    )
    (machine / ".gemini" / "settings.json").write_text("{}", encoding="utf-8")
    wired = ["claude-code-plugin", "cursor", "codex", "goose"]
    assert [each.name for each, is_wired, _ in find_clients() if is_wired] == wired
    alita("install", "claude-code")
    assert alita("uninstall", "--all").status == 0
    assert [path.name for path in machine.rglob("*") if path.is_file()] == ["settings.json"]
    assert not (tmp_path / ".mcp.json").exists()


def test_the_settings_of_this_environment_go_along_and_no_key_does(
    alita: Alita, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "ALITA_MODEL": "openai/gpt-5", "ALITA_WORKSPACE": "work", "ALITA_TOKEN": "s3cret-of-sixteen-letters",
        "OPENAI_API_KEY": "sk-environment-key", "ALITA_MODLE": "typo", "ALITA_POLICY": "",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    file = tmp_path / "mcp.json"
    said = alita("install", "cursor", "--file", str(file), "--env", "A=b=c", "--env", "ALITA_MODEL=mine")
    env = entry_in("cursor", file.read_bytes())["env"]
    assert env.pop("ALITA_HOME") == os.environ["ALITA_HOME"]
    assert env.pop("ALITA_SANDBOX")
    assert env == {"ALITA_MODEL": "mine", "ALITA_WORKSPACE": str(tmp_path / "work"), "A": "b=c"}
    assert (
        "Carried over to the client: ALITA_HOME, ALITA_MODEL, ALITA_SANDBOX, ALITA_WORKSPACE, A." in said.err
    )
    for wrong in ("NAME", "=x", "A B=c", "A=line\nbreak"):
        assert refuses(alita("install", "cursor", "--file", str(file), "--env", wrong), "--env")
    assert refuses(
        alita("install", "cursor", "--http", ADDRESS, "--env", "A=b"), "with --http it starts none"
    )


# --- a server over HTTP


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_of_a_running_server_gets_its_address_and_token_and_a_project_only_the_variable(
    name: str, alita: Alita, home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "config"
    dry = alita("install", name, "--http", ADDRESS, "--dry-run", "--file", str(file))
    assert not (home / "http_token").exists()
    assert not file.exists()
    if name == "claude-desktop":
        assert refuses(dry, "takes no server over HTTP")
        return
    assert URL in dry.out
    file.write_bytes(b"")
    said = alita("install", name, "--http", ADDRESS, "--file", str(file))
    assert said.status == 0, said.err
    text = file.read_text(encoding="utf-8")
    assert URL in text
    if CLIENTS[name].reference:
        assert CLIENTS[name].reference in text
        assert f"ALITA_TOKEN set to the token, which the server keeps in {home / 'http_token'}" in said.err
    else:
        token = (home / "http_token").read_text(encoding="ascii").strip()
        assert f"Bearer {token}" in text
        assert token not in said.out + said.err
        assert {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.glob("config*")} == {0o600}


@each_case(
    "address, url", [("[::1]:80", "http://[::1]:80/mcp"), ("80", "http://127.0.0.1:80/mcp"), ("h:x", None)]
)
def test_an_address_is_read_as_serve_reads_it(address: str, url: str | None, alita: Alita) -> None:
    said = alita("install", "gemini-cli", "--http", address, "--dry-run", "--json")
    assert said.status == (2 if url is None else 0)
    assert url is None or f'"url": "{url}"' in said.json["difference"]


@each_case(
    "client, words",
    [
        ("claude-code", ("approve", "claude-code-plugin", "claude -p")),
        ("cline", ("`timeout`", "3 seconds")),
        ("codex", ("`required = true`",)),
        ("gemini-cli", ("trust",)),
    ],
)
def test_what_a_client_needs_beyond_its_file_is_said(
    client: str, words: tuple[str, ...], alita: Alita
) -> None:
    said = alita("install", client, "--dry-run")
    assert [word for word in words if word not in said.out] == []


def test_the_example_configuration_is_what_clients_read() -> None:
    example = json.loads((Path(__file__).parents[2] / "mcp.json.example").read_text(encoding="utf-8"))
    server = example["mcpServers"]["alita"]
    assert (server["command"], server["args"]) == ("alita-mcp-server", [])


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

    words = files[skill].read_text(encoding="utf-8")
    files[skill].write_text("---\nname: alita\ndescription: mine\n---\n")
    refused = alita("install", "claude-code-plugin")
    assert (refused.status, "not this server's" in refused.err) == (2, True), refused.err
    files[skill].write_text(f"{words}\nMore.\n", encoding="utf-8")
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


@pytest.mark.process
def test_what_clients_start_imports_nothing_from_the_project_in_which_they_start_it(
    alita: Alita, tmp_path: Path
) -> None:
    file = tmp_path / "mcp.json"
    assert alita("install", "cursor", "--file", str(file)).status == 0
    entry = entry_in("cursor", file.read_bytes())
    (tmp_path / "alita_mcp.py").write_text("raise SystemExit('imported from the project')", encoding="utf-8")
    ran = subprocess.run(
        [entry["command"], *entry["args"], "--version"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
