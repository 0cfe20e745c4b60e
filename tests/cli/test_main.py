"""The command as a process: streams, exit statuses, signals, pipes, terminals."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters

from alita_mcp import __version__
from alita_mcp.cli.library.tool import ACTIONS
from alita_mcp.cli.main import parse_words
from tests.cli.conftest import PATIENCE_S, Alita, Said
from tests.cli.terminal import on_terminal
from tests.cli.test_approving import changed
from tests.tables import each_case

GROUPS = {
    "Setting up": ("status", "setup", "install", "uninstall", "prepare", "doctor", "demo"),
    "Library": ("search", "run", "synthesize", "list", "show", "log", "tool", "library"),
    "Trust": ("review", "approve", "revoke"),
    "Tasks": ("solve", "runs", "memory"),
    "Server": ("ui", "serve", "stop"),
}
ALITA = [sys.executable, "-m", "alita_mcp.cli.main"]
TOOL = [["tool", action] for action in ACTIONS]
COMMANDS = [
    *([name] for names in GROUPS.values() for name in names if name not in ("tool", "library")),
    *TOOL,
    ["library", "copy"],
]


def test_help_and_version_need_no_library_and_load_nothing_heavy(home: Path, process: Alita) -> None:
    shutil.rmtree(home)
    assert process("--version").out == f"alita {__version__}\n"
    said = process("--help", env={"PYTHONPROFILEIMPORTTIME": "1"})
    for title, commands in GROUPS.items():
        (listed,) = re.findall(rf"^{title}:\n((?:  .*\n)+)", said.out, re.MULTILINE)
        names = [line.split(":")[0].strip() for line in listed.splitlines()]
        assert names == list(commands)
    imported = {line.rpartition("|")[2].strip() for line in said.err.splitlines()}
    assert not imported & {"pydantic", "anyio", "alita_mcp.settings", "alita_mcp.library.library"}
    assert not home.exists()


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_examples_that_it_takes(words: list[str], alita: Alita) -> None:
    said = alita(*words, "--help")
    assert said.status == 0
    assert said.out.startswith(f"Usage: alita {' '.join(words)} ")
    assert "--json" in said.out
    _, _, examples = said.out.partition("\nExamples:\n")
    lines = [shlex.split(line) for line in examples.splitlines()]
    assert lines
    for line in lines:
        assert line[: len(words) + 1] == ["alita", *words] or line == ["alita"]
        assert parse_words(line[1:])


@each_case(
    "words, says",
    [
        ("serach x", 'Did you mean "search"?'),
        ("tool pni x", 'Did you mean "pin"?'),
        ("log --gap", "Did you mean --gaps?"),
        ("--jsn list", "Did you mean --json?"),
        ("install cursr", 'Did you mean "cursor"?'),
        ("frobnicate", 'Unknown command "frobnicate".'),
        ("show", "NAME is missing."),
        ("search", "WORDS is missing."),
        ("tool", "`alita tool` needs an action."),
        ("library", "`alita library` needs an action."),
        ("library copy", "--to needs a value."),
        ("tool pin a b", "Unexpected argument 'b'."),
        ("--home", "--home needs a value."),
        ("search x --limit 0", 'Invalid value "0" for --limit.'),
    ],
)
def test_words_that_make_no_command_say_what_is_meant(words: str, says: str, alita: Alita) -> None:
    said = alita(*words.split())
    assert (said.status, said.out) == (2, "")
    assert says in said.err
    assert re.search(r"^hint: `alita .*--help` ", said.err, re.MULTILINE)


@each_case("words", ["--json {}", "{} --json"])
def test_json_goes_before_or_after_the_command_and_holds_for_errors(words: str, alita: Alita) -> None:
    assert isinstance(alita(*words.format("list").split()).json, list)
    missing = alita(*words.format("show nothing_here").split())
    assert missing.json == {
        "error": {
            "type": "ToolNotFound",
            "message": "There is no tool 'nothing_here'.",
            "hint": "A search finds tools by what they do.",
            "exit_status": missing.status,
        }
    }
    assert missing.err.startswith("error: There is no tool 'nothing_here'.\nhint: ")
    wrong = alita(*words.format("serach").split())
    assert (wrong.status, wrong.json["error"]["type"]) == (2, "UsageError")


def test_after_two_dashes_nothing_is_an_option(alita: Alita) -> None:
    assert alita("search", "--", "--json", "--limit").err.startswith("No match.")


def test_alita_alone_says_what_to_do_next(alita: Alita, home: Path, tmp_path: Path) -> None:
    ready = alita()
    library, sandbox, model, blank, *_ = ready.out.splitlines()
    assert re.fullmatch(rf"library  {re.escape(str(home))}: \d+ tools", library)
    assert sandbox.startswith("sandbox  ")
    assert model == "model    none; the connected agent writes the code"
    assert blank == ""
    assert "alita approve" not in ready.out
    changed(home, "one")
    assert alita("--json").json["next"][0]["command"] == "alita approve asker"
    fresh = alita("--home", str(tmp_path / "none"))
    assert fresh.status == 0
    assert f"there is no library in {tmp_path / 'none'}" in fresh.out
    assert "  alita setup" in fresh.out
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_installed_for_a_shell(
    shell: str, alita: Alita, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # whose start-up file of the shell gets a line
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    for name in ("ZSH", "ZSH_CUSTOM"):
        monkeypatch.delenv(name, raising=False)
    script = tmp_path / "alita.sh"
    said = alita("--install-completion", "--shell", shell, "--output", str(script))
    assert said.status == 0
    text = script.read_text(encoding="utf-8")
    for word in ("synthesize", "rollback", "gaps", "json", "claude-desktop"):
        assert word in text
    started = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ""}[shell]
    assert not started or str(tmp_path) in (tmp_path / started).read_text(encoding="utf-8")


def test_a_bad_setting_is_named_without_a_traceback(alita: Alita, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALITA_PROMOTED", "many")
    said = alita("list")
    assert (said.status, said.out) == (2, "")
    assert "ALITA_PROMOTED" in said.err
    assert "Traceback" not in said.err


def test_debugging_shows_the_traceback(process: Alita) -> None:
    said = process("show", "nothing_here", env={"ALITA_LOG_LEVEL": "debug"})
    assert said.status == 2
    assert "Traceback" in said.err


def test_arguments_can_come_through_a_pipe(alita: Alita, monkeypatch: pytest.MonkeyPatch) -> None:
    def piped(text: str, *words: str) -> Said:
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        return alita(*words, "-")

    tests = [
        {"arguments": {"text": "ab"}, "expected": "ba"},
        {"arguments": {"text": ""}, "expected": ""},
        {"arguments": {"text": "xyz"}, "expected": "zyx"},
    ]
    code = 'def mirror(text: str) -> str:\n    """Mirrors a text."""\n    return text[::-1]\n'
    request = {"name": "mirror", "description": "Mirrors a text.", "code": code, "tests": tests}
    said = piped(json.dumps(request), "synthesize")
    assert said.status == 0, said
    assert said.out.startswith("created mirror v1")
    assert piped('{"text": "été"}', "run", "mirror").out == "été\n"
    assert piped("[1]", "run", "mirror").status == 2


@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes")
def test_a_reader_that_goes_away_is_no_error(environment: dict[str, str]) -> None:
    line = f"{' '.join(ALITA)} --help | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", line], env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.stdout.strip() in ("0", "1", "141")
    assert "Traceback" not in done.stderr


@pytest.mark.sample(1)
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize(
    ("number", "start"),
    [
        (signal.SIGINT, []),
        (signal.SIGTERM, []),
        (signal.SIGTERM, ["bash", "-c", 'trap "" INT; exec "$@"', "-"]),
    ],
    ids=["SIGINT", "SIGTERM", "SIGTERM where SIGINT is ignored"],
)
def test_a_stopped_command_ends_with_130_and_leaves_no_tool(
    number: signal.Signals, start: list[str], environment: dict[str, str], tmp_path: Path, process: Alita
) -> None:
    code = 'def spin(text: str) -> str:\n    """Spins."""\n    while True:\n        text = text + ""\n'
    tests = [{"arguments": {"text": str(each)}, "expected": str(each)} for each in range(3)]
    file = tmp_path / "spin.json"
    file.write_text(
        json.dumps({"name": "spin", "description": "Spins.", "code": code, "tests": tests}), encoding="utf-8"
    )
    with subprocess.Popen(
        [*start, *ALITA, "synthesize", str(file)],
        env={**environment, "ALITA_SANDBOX": "wasm"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stderr is not None
        for line in running.stderr:
            if "examples" in line:
                break
        running.send_signal(number)
        out, err = running.communicate(timeout=PATIENCE_S)
    assert (running.returncode, out) == (130, "")
    assert "error: Interrupted." in err
    assert "Traceback" not in err
    assert "spin" not in process("list").out


@pytest.mark.skipif(os.name == "nt", reason="POSIX terminals")
def test_a_terminal_gets_a_moving_sign_and_a_pipe_gets_lines(
    environment: dict[str, str], process: Alita
) -> None:
    assert process("prepare").err.startswith("prepare: sandbox\n")
    with on_terminal(["prepare"], environment) as terminal:
        status, shown = terminal.end()
    assert status == 0
    assert "Tools run in: wasm" in shown
    assert "\x1b[" in shown
    assert not shown.startswith("prepare: ")
    assert "\nprepare: sandbox\r\n" not in shown


def test_serve_refuses_an_address_that_is_none(alita: Alita) -> None:
    for address in ("localhost", "127.0.0.1:99999", ":80", "127.0.0.1:", "127.0.0.1:http", "1.2.3.4:²"):
        said = alita("serve", "--http", address)
        assert said.status == 2, address
        assert "127.0.0.1:8765" in said.err
    assert alita("serve", "--allow-host", "example.org").status == 2


@each_case(
    "words, token, says",
    [
        (["--http", "0.0.0.0:0", "--no-token"], "", "'0.0.0.0' without a token"),
        (
            ["--http", "0", "--no-token", "--allow-host", "tools.example.org"],
            "",
            "'tools.example.org' without a token",
        ),
        (["--http", "0", "--no-token"], "a-token-of-sixteen", "--no-token asks for none"),
        (["--http", "0", "--allow-host", "http://tools.example.org"], "", "Invalid host name"),
        (["--http", "0", "--allow-host", "tools.example.org:80"], "", "Invalid host name"),
        *(
            (["--http", "0", "--allow-origin", origin], "", "Invalid origin")
            for origin in (
                "*",
                "null",
                "example.org",
                "https://a.b/",
                "https://a.b:443",
                "HTTPS://a.b",
                "://a",
            )
        ),
        (
            ["--http", "0", "--no-token", "--allow-origin", "https://app.example.org"],
            "",
            "'https://app.example.org' without a token",
        ),
        (["--http", "0"], "fifteen-letters", "ALITA_TOKEN: a token has at least 16 characters, this one 15"),
        (
            ["--http", "0"],
            "fünfzehn-und-mehr-zeichen",
            "ALITA_TOKEN: a token holds nothing but printable ASCII",
        ),
        (["--no-token"], "", "need --http"),
    ],
)
def test_serve_refuses_to_open_more_than_it_is_told_to(
    alita: Alita, monkeypatch: pytest.MonkeyPatch, words: list[str], token: str, says: str
) -> None:
    monkeypatch.setenv("ALITA_TOKEN", token)
    said = alita("serve", *words)
    assert (said.status, said.out) == (2, "")
    assert says in said.err
    assert not token or token not in said.err


async def test_serve_speaks_mcp_over_stdin_and_stdout(environment: dict[str, str]) -> None:
    parameters = StdioServerParameters(command=sys.executable, args=[*ALITA[1:], "serve"], env=environment)
    with anyio.fail_after(PATIENCE_S):
        async with Client(parameters) as client:
            assert (await client.list_tools()).tools[0].name == "search_capabilities"


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
async def test_serve_speaks_mcp_over_http_until_it_is_told_to_stop(environment: dict[str, str]) -> None:
    with anyio.fail_after(PATIENCE_S):
        async with await anyio.open_process(
            [*ALITA, "serve", "--http", "127.0.0.1:0", "--no-token"],
            env=environment,
            stdin=subprocess.DEVNULL,
        ) as server:
            assert server.stderr is not None
            said = b""
            while not said.endswith(b"/mcp\n"):
                said += await server.stderr.receive()
            url = said.decode().split()[-1]
            async with Client(url) as client:
                assert (await client.list_tools()).tools[0].name == "search_capabilities"
            server.send_signal(signal.SIGTERM)
            assert await server.wait() in (130, 143)
