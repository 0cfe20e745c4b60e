"""`alita setup`: the dialogue on a real terminal, the same as options, and what is left when it fails or ends early."""

from __future__ import annotations

import os
import re
import sys
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.cli.setup.model import PROVIDERS
from alita_mcp.models.keys import stored_keys
from tests.cli.conftest import PATIENCE_S, Alita
from tests.cli.terminal import Terminal, on_terminal
from tests.models.openai_server import Answer, Fails, Reply, Request, Sends, openai_server
from tests.small_disk import fill, small_disk

pytestmark = pytest.mark.extra("models")
on_posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX terminals")

KEY = "a-key-that-nobody-may-see"
CURSOR = '{\n  // mine\n  "mcpServers": {}\n}\n'


def answer(request: Request) -> Reply:
    """Takes one key."""
    right = request.headers.get("authorization") == f"Bearer {KEY}"
    return "OK" if right else Fails(401, message="Incorrect API key provided")


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Home folder of somebody who has Cursor and no other client."""
    folder = tmp_path / "person"
    (folder / ".cursor").mkdir(parents=True)
    (folder / ".cursor" / "mcp.json").write_text(CURSOR)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(folder))
    for name in ("APPDATA", "XDG_CONFIG_HOME", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.chdir(folder)
    yield folder


@pytest.fixture
def environment(person: Path, environment: dict[str, str]) -> dict[str, str]:
    """Of processes, which find the person's clients too, and not those of whoever runs the tests."""
    return {**environment, "HOME": str(person), "NO_COLOR": "1"}


def is_wired(person: Path) -> bool:
    return '"alita"' in (person / ".cursor" / "mcp.json").read_text()


def kept(home: Path) -> dict[str, Any]:
    """What the settings file says."""
    file = home / "alita.toml"
    return tomllib.loads(file.read_text()) if file.exists() else {}


# ------------------------------------------------------------------------------------------------- options


def test_every_answer_is_an_option_and_the_result_is_one_document(
    alita: Alita, home: Path, person: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    with openai_server(answer) as (url, asked):
        said = alita(
            "setup", "--provider", "compatible", "--base-url", url, "--model", "meta/scripted", "--key-env", "MY_KEY",
            "--clients", "cursor", "--no-prepare", "--json",
        )  # fmt: skip
    assert said.status == 0
    assert said.json["model"]["answered_as"] == "scripted"
    assert [(each["client"], each["state"]) for each in said.json["clients"]] == [("cursor", "is changed")]
    assert said.json["first_question"].endswith("again.")
    assert kept(home) == {"model": "openai/meta/scripted", "model_base_url": url}
    assert asked.requests[-1]["model"] == "meta/scripted"
    assert stored_keys(home) == {f"OPENAI_API_KEY at {url.removesuffix('/v1')}": KEY}
    assert "// mine" in (person / ".cursor" / "mcp.json").read_text()
    assert is_wired(person)
    assert KEY not in said.out + said.err + (person / ".cursor" / "mcp.json").read_text()


@pytest.mark.process
def test_a_key_of_a_variable_is_kept_and_its_model_solves_from_then_on(
    process: Alita, home: Path, person: Path, environment: dict[str, str]
) -> None:
    environment["MY_KEY"] = KEY
    with openai_server(answer) as (url, asked):
        words = (
            "setup",
            "--provider",
            "compatible",
            "--base-url",
            url,
            "--model",
            "other",
            "--key-env",
            "MY_KEY",
            "--yes",
        )
        said = process(*words, "--no-prepare")
        assert said.status == 0, said.err
        assert f"✓ key: kept in {home}/keys.json, which only you can read" in said.err
        assert is_wired(person)
        process("solve", "How much is 1 + 1?", "--max-steps", "1", "--max-seconds", "60")
    assert len(asked.requests) > 2
    assert {headers["authorization"] for headers in asked.headers} == {f"Bearer {KEY}"}


def test_provider_none_and_ollama_need_no_key(alita: Alita, home: Path, person: Path) -> None:
    with openai_server(
        lambda _: Sends(b'{"message": {"role": "assistant", "content": "OK"}, "done": true}')
    ) as (
        url,
        _,
    ):
        address = url.removesuffix("/v1")
        words = ("setup", "--provider", "ollama", "--model", "ollama/qwen3", "--base-url", address)
        said = alita(*words, "--clients", "none", "--no-prepare")
        assert said.status == 0, said.err
    assert kept(home) == {"model": "ollama/qwen3", "model_base_url": address}
    (home / "alita.toml").write_text((home / "alita.toml").read_text() + 'policy = "locked"  # mine\n')
    said = alita("setup", "--provider", "none", "--clients", "none", "--no-prepare")
    assert (said.status, kept(home)) == (0, {"policy": "locked"})
    assert "# mine" in (home / "alita.toml").read_text()
    assert not is_wired(person)


MISSING = [
    ((), ("missing: --provider NAME, --clients NAME,NAME|all|none",)),
    (("--provider", "ollama"), ("missing: --clients",)),
    (("--provider", "anthropic", "--yes"), ("--key-env VARIABLE is missing",)),
    (("--provider", "compatible", "--clients", "none"), ("--base-url URL is missing",)),
    (("--provider", "compatible", "--base-url", "http://h", "--yes"), ("--model NAME is missing",)),
]  # fmt: skip
WRONG = [
    (("--model", "x"), "--model needs --provider"),
    (("--provider", "none", "--key-env", "K"), "--key-env needs --provider"),
    (("--provider", "compatible", "--base-url", "h:80", "--model", "m", "--yes"), "Invalid 'h:80'"),
    (("--provider", "ollama", "--model", "a b", "--clients", "none"), "Invalid 'a b'"),
    (("--provider", "openai", "--key-env", "sk-1234567", "--clients", "none"), "'sk-1234567' of --key-env is not set"),
    (("--provider", "openai", "--key-env", "TWO_LINES", "--clients", "none"), "ASCII characters on one line"),
    (("--provider", "none", "--clients", "emacs"), "'emacs' is no client on this machine"),
    (("--provider", "none", "--clients", "cursor,windsurf"), "'windsurf' is no client on this machine"),
    (("--provider", "nobody"), "nobody"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "said"), [*MISSING, *((words, (said,)) for words, said in WRONG)], ids=range(14)
)
def test_without_a_terminal_it_says_which_options_are_missing_or_wrong(
    alita: Alita, home: Path, person: Path, words: tuple[str, ...], said: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("TWO_LINES", "one-line\nanother-line")
    before = {each.name for each in home.iterdir()}
    done = alita("setup", *words)
    assert done.status == 2
    assert all(part in done.err for part in said), done.err
    assert "one-line" not in done.err
    assert {each.name for each in home.iterdir()} - before <= {"keys.json.lock"}
    assert not is_wired(person)


def test_a_model_that_does_not_answer_leaves_everything_as_it_was(
    alita: Alita, home: Path, person: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "alita.toml").write_text('model = "openai/before"\n')
    monkeypatch.setenv("MY_KEY", KEY)
    with openai_server(lambda _: Fails(401, message=f"Incorrect API key provided: {KEY}")) as (url, _):
        said = alita(
            "setup", "--provider", "compatible", "--base-url", url, "--model", "m", "--key-env", "MY_KEY",
            "--clients", "all",
        )  # fmt: skip
    assert said.status == 8
    assert f"at {url}/chat/completions (status 401): Incorrect API key provided: [key]" in said.err
    assert (kept(home), stored_keys(home)) == ({"model": "openai/before"}, {})
    assert not is_wired(person)


def test_a_client_whose_file_is_broken_does_not_keep_back_the_rest(alita: Alita, person: Path) -> None:
    (person / ".codeium" / "windsurf").mkdir(parents=True)
    (person / ".claude").mkdir()
    (person / ".cursor" / "mcp.json").write_text("{ not json")
    said = alita("setup", "--provider", "none", "--clients", "all", "--no-prepare")
    assert said.status == 1
    assert "✗ Cursor: " in said.out
    assert "Windsurf: " in said.out
    assert (person / ".claude" / "skills" / "alita" / "hooks" / "hooks.json").is_file()
    assert (person / ".cursor" / "mcp.json").read_text() == "{ not json"


def test_it_prepares_the_sandbox(alita: Alita, person: Path) -> None:
    said = alita("setup", "--provider", "none", "--clients", "none")
    assert said.status == 0
    assert "✓ starter tools: proved" in said.out


def test_the_suggested_models_are_ones_that_litellm_knows_with_tool_calling() -> None:
    import litellm

    for provider in PROVIDERS.values():
        names = {provider.model, f"{provider.prefix}/{provider.model}"}
        if provider.keys_at:
            known = [litellm.model_cost[name] for name in names if name in litellm.model_cost]
            assert [each["supports_function_calling"] for each in known][:1] == [True], provider.model


# ------------------------------------------------------------------------------------------------- a terminal


def reply(terminal: Terminal, *turns: tuple[str, str]) -> None:
    """Waits for each question, and types an answer."""
    for question, typed in turns:
        terminal.until(question.encode())
        terminal.said[:] = terminal.said.replace(question.encode(), question.upper().encode())
        terminal.type(typed)


def plain(shown: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).replace("\r", "")


@on_posix
@pytest.mark.process
def test_a_person_is_asked_for_model_key_and_clients_and_told_what_to_ask(
    environment: dict[str, str], home: Path, person: Path
) -> None:
    with openai_server(answer) as (url, asked), on_terminal(["setup"], environment, columns=200) as terminal:
        reply(
            terminal,
            ("(none): ", "nine\n"),
            ("(none): ", "compatible\n"),
            ("as in http://127.0.0.1:8000/v1: ", "nowhere\n"),
            ("as in http://127.0.0.1:8000/v1: ", f"{url}\n"),
            ("Model: ", "two words\n"),
            ("Model: ", "meta/scripted\n"),
            ("(not shown): ", "two words\n"),
            ("(not shown): ", "a-wrong-key\n"),
            ("stays as it is. [y/n] (y): ", "\n"),
            ("(none): ", "compatible\n"),
            ("as in http://127.0.0.1:8000/v1: ", f"{url}\n"),
            ("Model: ", "meta/scripted\n"),
            ("(not shown): ", f"{KEY}\n"),
            ("mcp.json? [y/n] (y): ", "maybe\n"),
            ("mcp.json? [y/n] (y): ", "\n"),
            ("once. [y/n] (y): ", "n\n"),
        )
        status, shown = terminal.end()
    shown = plain(shown)
    assert status == 0, shown
    assert "Please select one of the available options" in shown
    assert "Invalid 'nowhere'" in shown
    assert "without blanks; this is not" in shown
    assert f"did not answer at {url}/chat/completions (status 401)" in shown
    assert "Invalid 'two words'" in shown
    assert '+    "alita": {' in shown.upper().lower()
    assert "Cursor: " in shown
    assert shown.rstrip().splitlines()[-2].startswith("Restart Cursor, then ask there:")
    assert kept(home) == {"model": "openai/meta/scripted", "model_base_url": url}
    assert is_wired(person)
    assert KEY not in shown
    assert "a-wrong-key" not in shown
    assert [headers["authorization"] for headers in asked.headers][-1] == f"Bearer {KEY}"


@on_posix
@pytest.mark.process
def test_what_some_options_leave_out_is_asked_and_a_model_that_is_set_is_kept(
    environment: dict[str, str], home: Path, person: Path
) -> None:
    with openai_server(answer) as (url, _):
        words = ["setup", "--provider", "compatible", "--base-url", url, "--clients", "none", "--no-prepare"]
        with on_terminal(words, environment, columns=200) as terminal:
            reply(terminal, ("Model: ", "other\n"), ("(not shown): ", f"{KEY}\n"))
            status, shown = terminal.end()
        assert (status, kept(home)["model"]) == (0, "openai/other"), shown
        before = (home / "alita.toml").read_bytes()
        with on_terminal(["setup", "--no-prepare"], environment, columns=200) as terminal:
            reply(
                terminal,
                ("The model is openai/other. Keep it? [y/n] (y): ", "\n"),
                ("mcp.json? [y/n]", "n\n"),
            )
            status, shown = terminal.end()
    assert status == 0, shown
    assert "`alita install CLIENT` connects a client, then ask there:" in shown
    assert (home / "alita.toml").read_bytes() == before
    assert not is_wired(person)


QUESTIONS = ["Keep it? [y/n] (y): ", "(none): ", "Model (", "(not shown): ", "once. [y/n] (y): "]


@on_posix
@pytest.mark.process
@pytest.mark.parametrize("end", ["\x03", "\x04"], ids=["Ctrl-C", "end of input"])
@pytest.mark.parametrize("place", range(5))
def test_whoever_ends_it_early_has_the_old_files_or_the_new_ones(
    environment: dict[str, str], home: Path, person: Path, place: int, end: str
) -> None:
    import termios

    before = 'model = "openai/before"  # mine\n'
    (home / "alita.toml").write_text(before)
    with openai_server(answer) as (url, _):
        environment |= {"OPENAI_BASE_URL": url}
        with on_terminal(["setup", "--clients", "cursor"], environment, columns=200) as terminal:
            typed = ("n\n", "openai\n", "scripted\n", f"{KEY}\n")
            reply(terminal, *zip(QUESTIONS[:place], typed[:place], strict=True), (QUESTIONS[place], end))
            status, shown = terminal.end(again=end)
            assert termios.tcgetattr(terminal.handle)[3] & termios.ECHO
    assert status == 130, shown
    assert "Traceback" not in shown
    is_done = place == len(QUESTIONS) - 1
    assert kept(home) == {"model": "openai/scripted" if is_done else "openai/before"}
    assert "# mine" in (home / "alita.toml").read_text()
    assert is_wired(person) is is_done
    assert [each.name for each in home.iterdir() if each.name.startswith(".")] == []


@on_posix
@pytest.mark.process
def test_a_server_that_says_nothing_can_be_left(
    environment: dict[str, str], home: Path, person: Path
) -> None:
    heard = threading.Event()

    def say_nothing(_request: Request) -> Reply:
        heard.set()
        return None

    with openai_server(say_nothing) as (url, _):
        words = [
            "setup",
            "--provider",
            "compatible",
            "--base-url",
            url,
            "--model",
            "other",
            "--clients",
            "none",
        ]
        with on_terminal(words, environment, columns=200) as terminal:
            reply(terminal, ("(not shown): ", "\n"))
            assert heard.wait(PATIENCE_S)
            terminal.type("\x03")
            status, shown = terminal.end(again="\x03")
    assert (status, kept(home)) == (130, {})
    assert "Traceback" not in shown


def test_a_full_disk_leaves_no_half_of_anything(
    alita: Alita, person: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    monkeypatch.setenv("PATH", os.defpath)  # for `mount`
    disk = tmp_path / "disk"
    with openai_server(answer) as (url, _), small_disk(disk):
        full = disk / "home"
        full.mkdir(mode=0o700)
        (full / "alita.toml").write_text('model = "openai/before"\n')
        fill(disk)
        said = alita(
            "--home", str(full), "setup", "--provider", "compatible", "--base-url", url, "--model", "other",
            "--key-env", "MY_KEY", "--clients", "none", "--no-prepare",
        )  # fmt: skip
        assert said.status == 7
        assert "No space left on device" in said.err
        assert kept(full) == {"model": "openai/before"}
        assert [each.name for each in full.iterdir() if each.name.startswith(".")] == []
        assert stored_keys(full) == {}


@on_posix
@pytest.mark.process
def test_the_first_task_without_a_model_offers_to_set_one_up(
    environment: dict[str, str], home: Path, person: Path
) -> None:
    with on_terminal(["solve", "How much is 1 + 1?"], environment, columns=200) as terminal:
        reply(terminal, ("Set one up now? [y/n] (y): ", "n\n"))
        status, shown = terminal.end()
    assert status == 2
    assert "hint: Run `alita setup`, or set ALITA_MODEL" in plain(shown)

    def only_once(request: Request) -> Reply:
        return (
            "OK"
            if len(request.messages) == 1 and "OK" in request.text
            else Fails(402, message="no more money")
        )

    answers: Answer = only_once
    with openai_server(answers) as (url, asked):
        environment |= {"OPENAI_BASE_URL": url}
        with on_terminal(["solve", "How much is 1 + 1?"], environment, columns=200) as terminal:
            reply(
                terminal, ("Set one up now? [y/n] (y): ", "\n"), ("(none): ", "openai\n"), ("Model (", "scripted\n"),
                ("(not shown): ", f"{KEY}\n"),
            )  # fmt: skip
            status, shown = terminal.end()
    assert "no more money" in shown
    assert len(asked.requests) > 1
    assert kept(home) == {"model": "openai/scripted"}


def test_without_a_terminal_the_first_task_says_what_to_run(alita: Alita) -> None:
    said = alita("solve", "x")
    assert said.status == 2
    assert "hint: Run `alita setup`, or set ALITA_MODEL, as in ollama/qwen3." in said.err


@on_posix
@pytest.mark.process
def test_the_first_link_to_the_pages_offers_a_model_once(
    environment: dict[str, str], home: Path, person: Path
) -> None:
    for turns in ((("Set one up now? [y/n] (y): ", "n\n"),), ()):
        with on_terminal(["ui", "--port", "0"], environment, columns=200) as terminal:
            reply(terminal, *turns)
            _, shown = terminal.end()
        assert "nothing answers tasks here: `alita setup` asks for one" in plain(shown)
        assert "ALITA_SHARED is off" in shown
        assert "`alita serve --http 127.0.0.1:8764` serves the pages too" in plain(shown)
    assert "Set one up now?" not in shown
    assert kept(home) == {}
