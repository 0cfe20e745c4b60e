"""Stored keys of models: where they go, who may read them, which request they go with, and that nothing shows them."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from alita_mcp.errors import ModelError, UsageError
from alita_mcp.models.choices import Chosen, choose_model
from alita_mcp.models.interface import Message
from alita_mcp.models.keys import check_key, find_key, store_key, stored_keys
from alita_mcp.models.litellm.backoff import Patience
from alita_mcp.models.redaction import presentable, without_keys
from alita_mcp.models.roles import RoleModels
from alita_mcp.models.trial import try_model
from alita_mcp.settings import Settings, keys_in_use
from tests.models.openai_server import Fails, openai_server
from tests.tables import each_case

pytestmark = pytest.mark.extra("models")
keyring = pytest.importorskip("keyring")

from tests.keyrings import Broken, Forgetful, Memory  # noqa: E402 - needs keyring

KEY = "correct-horse-battery-staple"
NAME = "OPENAI_API_KEY"
posix = pytest.mark.skipif(os.name == "nt", reason="POSIX links and modes")


@pytest.fixture(autouse=True)
def no_key_outside(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(NAME, raising=False)
    before = keyring.get_keyring()
    yield
    keyring.set_keyring(before)
    keys_in_use().clear()


def test_a_keyring_that_works_keeps_the_key_and_the_file_only_its_name(home: Path) -> None:
    keyring.set_keyring(Memory())
    assert find_key(home, NAME) is None
    assert store_key(home, NAME, KEY) == "the system keyring"
    assert stored_keys(home) == {NAME: None}
    assert KEY not in (home / "keys.json").read_text()
    assert find_key(home, NAME) == KEY
    assert store_key(home.parent / "other", NAME, "another-key") == "the system keyring"
    assert find_key(home, NAME) == KEY


@pytest.mark.parametrize("make", [Broken, Forgetful, keyring.backends.fail.Keyring])
def test_without_one_it_is_in_a_file_that_its_owner_alone_can_read(
    home: Path, make: Callable[[], keyring.backend.KeyringBackend], capfd: pytest.CaptureFixture[str]
) -> None:
    keyring.set_keyring(make())
    file = f"{home / 'keys.json'}, which only you can read"
    assert store_key(home, NAME, KEY) == file
    assert (stored_keys(home), find_key(home, NAME)) == ({NAME: KEY}, KEY)
    assert store_key(home, "OTHER_API_KEY", "another-key") == file
    assert store_key(home, NAME, "a-newer-key") == file
    assert (find_key(home, NAME), find_key(home, "OTHER_API_KEY")) == ("a-newer-key", "another-key")
    if os.name == "posix":
        assert stat.S_IMODE((home / "keys.json").stat().st_mode) == 0o600
    assert {each.name for each in home.iterdir()} <= {"keys.json", "keys.json.lock"}
    assert capfd.readouterr() == ("", "")


def test_a_keyring_that_fails_later_is_named_without_the_key(home: Path) -> None:
    keyring.set_keyring(Memory())
    store_key(home, NAME, KEY)
    for later, said in (
        (Broken(), "does not give the key OPENAI_API_KEY: OSError"),
        (Memory(), "it is not there any more"),
    ):
        keyring.set_keyring(later)
        with pytest.raises(ModelError, match=said) as raised:
            find_key(home, NAME)
        assert (
            "Unlock the keyring, set OPENAI_API_KEY, or store the key again with `alita setup`"
            in raised.value.hint
        )
        assert raised.value.__cause__ is None


def test_many_keys_stored_at_once_are_all_there(home: Path) -> None:
    keyring.set_keyring(keyring.backends.fail.Keyring())
    names = [f"K{number}_API_KEY" for number in range(12)]
    with ThreadPoolExecutor(12) as threads:
        list(threads.map(lambda name: store_key(home, name, f"key-of-{name}"), names))
    assert {name: find_key(home, name) for name in stored_keys(home)} == {
        name: f"key-of-{name}" for name in names
    }


@posix
@pytest.mark.parametrize(
    ("spoil", "said", "advice"),
    [
        (lambda file: file.chmod(0o640), "others may access it (mode 640)", "chmod 600"),
        (lambda file: (file.rename(file.with_name("x")), file.symlink_to(file.with_name("x"))), "a link", "Put"),
        (lambda file: file.write_text(f'{{"A": 1,\n"B": {KEY}}}'), "it is not as `alita setup`", "remove it"),
        (lambda file: file.write_text(f'["{KEY}"]'), "it is not as `alita setup`", "remove it"),
        (lambda file: file.write_text(f'{{"A": ["{KEY}"]}}'), "it is not as `alita setup`", "remove it"),
        (lambda file: file.write_text("[" * 100_000), "it is not as `alita setup`", "remove it"),
        (lambda file: file.write_bytes(b'{"A": "\xff"}'), "not UTF-8", "UTF-8"),
    ],
    ids=range(7),
)  # fmt: skip
def test_a_file_that_cannot_be_relied_on_is_named_and_stays(
    home: Path, spoil: Callable[[Path], object], said: str, advice: str
) -> None:
    keyring.set_keyring(keyring.backends.fail.Keyring())
    store_key(home, NAME, KEY)
    file = home / "keys.json"
    spoil(file)
    before = file.read_bytes()
    for use in (
        stored_keys,
        lambda home: find_key(home, NAME),
        lambda home: store_key(home, NAME, "new-key"),
    ):
        with pytest.raises(UsageError) as raised:
            use(home)
        assert said in raised.value.message
        assert str(file) in raised.value.message
        assert advice in raised.value.hint
        assert KEY not in str(raised.value)
        assert KEY not in str(raised.value.__cause__)
    assert file.read_bytes() == before


@each_case("text", [
    "", " \n ", "two\nlines", "two\rlines", "with blank", "tab\tin", "escape\x1b[31m", "kéy", "null\0", "x" * 5_000,
])  # fmt: skip
def test_what_is_no_key_is_refused_with_words_that_do_not_show_it(text: str) -> None:
    with pytest.raises(UsageError, match="ASCII characters on one line, without blanks") as raised:
        check_key(text)
    assert not text.strip() or text.strip() not in str(raised.value)


def test_blanks_around_a_key_are_not_part_of_it() -> None:
    assert check_key(" sk-1234\r\n") == "sk-1234"


async def ask(settings: Settings) -> str:
    model = RoleModels(settings, patience=Patience(attempts=1)).default_model()
    return (await model.complete([Message(role="user", content="hello")])).text


async def test_a_stored_key_goes_with_the_request_and_a_variable_goes_before_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with openai_server(*["ok"] * 5) as (url, asked), openai_server("ok") as (elsewhere, overheard):
        settings = Settings(home=home, model="openai/scripted", model_base_url=url)
        chosen = choose_model(settings)
        assert chosen is not None
        await ask(settings)
        store_key(home, chosen.stored_as, KEY)
        assert chosen.find_key_place() == str(home / "keys.json")
        model = RoleModels(settings, patience=Patience(attempts=1)).default_model()
        await model.complete([Message(role="user", content="hello")])
        store_key(home, chosen.stored_as, "a-newer-key-is-taken-at-once")
        await model.complete([Message(role="user", content="hello")])
        monkeypatch.setenv(NAME, "key-of-the-variable")
        await ask(settings)
        assert chosen.find_key_place() == NAME
        await try_model(chosen, "key-that-is-tried")
        monkeypatch.delenv(NAME)
        # a key goes to no other address than the one it was given for
        await ask(settings.model_copy(update={"model_base_url": elsewhere}))
    sent = [headers["authorization"].removeprefix("Bearer ") for headers in asked.headers]
    assert sent == ["none", KEY, "a-newer-key-is-taken-at-once", "key-of-the-variable", "key-that-is-tried"]
    assert overheard.headers[0]["authorization"] == "Bearer none"


@posix
async def test_a_file_of_keys_that_others_may_read_fails_the_call_and_nothing_is_sent(home: Path) -> None:
    with openai_server() as (url, asked):
        settings = Settings(home=home, model="openai/scripted", model_base_url=url)
        store_key(home, "OTHER_API_KEY", KEY)
        (home / "keys.json").chmod(0o644)
        with pytest.raises(ModelError, match=r"keys.json: others may access it .*chmod 600"):
            await ask(settings)
    assert asked.requests == []


async def test_a_stored_key_that_a_server_says_back_is_in_no_message(home: Path) -> None:
    with openai_server(
        Fails(401, message=f"Incorrect key: {KEY}"), Fails(401, message="no: another-key-tried")
    ) as (
        url,
        _asked,
    ):
        settings = Settings(home=home, model="openai/scripted", model_base_url=url)
        chosen = choose_model(settings)
        assert chosen is not None
        store_key(home, chosen.stored_as, KEY)
        with pytest.raises(ModelError, match=r"Incorrect key: \[key\]"):
            await ask(settings)
        with pytest.raises(ModelError, match=r"no: \[key\]"):
            await try_model(chosen, "another-key-tried")
    assert without_keys(f"The answer holds {KEY}.") == "The answer holds [key]."
    assert presentable("another-key-tried") == "[key]"


@pytest.mark.parametrize(
    ("name", "base_url", "said", "hint"),
    [
        ("ollama/qwen3", None, "at http://localhost:11434/api/chat: connection refused", "ollama serve"),
        (
            "ollama/qwen3",
            "http://127.0.0.1:9",
            "at http://127.0.0.1:9/api/chat: connection refused",
            "its base URL",
        ),
        ("openai/x", "http://me:secret@127.0.0.1:9/v1", "at http://127.0.0.1:9/v1/chat", "its base URL"),
        ("mistral/x", "http://127.0.0.1:9/v1", "at http://127.0.0.1:9/v1/chat", "its base URL"),
        (
            "openai/gpt-5",
            None,
            "no key is set",
            "Set OPENAI_API_KEY to a key that may use this model, or run `alita",
        ),
        ("anthropic/claude", None, "no key is set", "Set ANTHROPIC_API_KEY"),
        ("gemini/gemini-flash-latest", None, "no key is set", "Set GEMINI_API_KEY"),
    ],
)
async def test_a_trial_says_what_failed_and_the_address_that_was_tried(
    name: str, base_url: str | None, said: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in (
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "MISTRAL_API_KEY",
    ):
        monkeypatch.delenv(variable, raising=False)
    if name == "mistral/x":
        monkeypatch.setenv("MISTRAL_API_KEY", KEY)
    with pytest.raises(ModelError) as raised:
        await try_model(Chosen(name=name, base_url=base_url))
    assert said in raised.value.message
    assert hint in raised.value.hint
    assert "secret" not in str(raised.value)
    assert "_API_KEY" in str(raised.value) or "key" not in str(raised.value)


async def test_a_trial_costs_one_short_call() -> None:
    with openai_server("OK") as (url, asked):
        assert await try_model(Chosen(name="openai/x", base_url=url)) == "scripted"
    (request,) = asked.requests
    assert request["max_tokens"] == 100
    assert len(json.dumps(request["messages"])) < 100


@pytest.mark.process
def test_the_keyring_is_not_loaded_before_one_of_its_keys_is_needed(home: Path) -> None:
    program = f"""if True:
        import sys
        from pathlib import Path
        from alita_mcp.models.choices import choose_model
        from alita_mcp.models.keys import find_key, store_key
        from alita_mcp.settings import Settings
        home = Path({str(home)!r})
        chosen = choose_model(Settings(home=home, model="openai/x"))
        assert chosen.find_key_to_send() is None and chosen.find_key_place() == ""
        print("keyring" in sys.modules)
        print(store_key(home, "OPENAI_API_KEY", "a-key"), chosen.find_key_place(), chosen.find_key_to_send())
    """
    variables = {**os.environ, "PYTHON_KEYRING_BACKEND": "tests.keyrings.Memory"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=variables, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("False\nthe system keyring the system keyring a-key\n", "")
