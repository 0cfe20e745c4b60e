"""Which model takes which role, and what the settings may say about it."""

from __future__ import annotations

import pytest

from alita_mcp.errors import UsageError
from alita_mcp.models.choices import ROLES, Chosen, Role, choose_model
from alita_mcp.settings import Settings, read_settings


def chosen(role: Role | None = None) -> Chosen:
    found = choose_model(read_settings(), role)
    assert found is not None
    return found


def names() -> dict[str, str]:
    return {role: chosen(role).name for role in ROLES}


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    return monkeypatch


def test_without_a_model_there_is_none_for_any_role() -> None:
    assert [choose_model(Settings(), role) for role in (None, *ROLES)] == [None] * (1 + len(ROLES))


def test_one_model_takes_every_role(put: pytest.MonkeyPatch) -> None:
    put.setenv("ALITA_MODEL", "ollama/qwen3")
    assert set(names().values()) == {"ollama/qwen3"}
    assert chosen().setting == "ALITA_MODEL"


def test_the_tester_differs_from_the_coder_where_two_models_are_set(put: pytest.MonkeyPatch) -> None:
    put.setenv("ALITA_MODEL", "openai/a")
    put.setenv("ALITA_MODEL_CODER", "openai/b")
    assert names() == {
        "planner": "openai/a",
        "tester": "openai/a",
        "coder": "openai/b",
        "judge": "openai/a",
        "implementer": "openai/b",
    }
    put.delenv("ALITA_MODEL_CODER")
    put.setenv("ALITA_MODEL_JUDGE", "mistral/c")
    assert names() == {
        "planner": "openai/a",
        "tester": "mistral/c",
        "coder": "openai/a",
        "judge": "mistral/c",
        "implementer": "openai/a",
    }
    put.setenv("ALITA_MODEL_TESTER", "openai/a")
    assert chosen("tester").name == "openai/a"


def test_a_role_alone_is_enough_to_have_a_model(put: pytest.MonkeyPatch) -> None:
    put.setenv("ALITA_MODEL_CODER", "anthropic/x temperature=1")
    assert set(names().values()) == {"anthropic/x"}
    assert chosen("coder").temperature == 1.0
    assert chosen("planner").temperature is None
    assert chosen("planner").setting == "ALITA_MODEL_CODER"


def test_a_role_may_set_options_without_a_model(put: pytest.MonkeyPatch) -> None:
    put.setenv("ALITA_MODEL", "openai/a")
    put.setenv("ALITA_MODEL_BASE_URL", "http://127.0.0.1:1/v1")
    put.setenv("ALITA_MODEL_CODER", "temperature=0.8 max_tokens=4000 timeout_s=30 key_from=MINE")
    coder = chosen("coder")
    assert (coder.name, coder.temperature, coder.max_tokens, coder.timeout_s) == ("openai/a", 0.8, 4000, 30.0)
    assert (coder.key_from, coder.base_url) == ("MINE", "http://127.0.0.1:1/v1")
    assert chosen("judge").timeout_s == 120.0


def test_a_borrowed_model_is_asked_where_its_lender_asks_it(put: pytest.MonkeyPatch) -> None:
    put.setenv("ALITA_MODEL", "openai/a")
    put.setenv(
        "ALITA_MODEL_PLANNER", "openai/b base_url=http://127.0.0.1:2/v1 key_from=B_KEY temperature=0.1"
    )
    tester = chosen("tester")
    assert (tester.name, tester.base_url, tester.key_from) == ("openai/b", "http://127.0.0.1:2/v1", "B_KEY")
    assert tester.temperature is None


def test_the_shared_address_is_not_for_another_providers_key(put: pytest.MonkeyPatch) -> None:
    put.setenv("ALITA_MODEL", "openai/local")
    put.setenv("ALITA_MODEL_BASE_URL", "http://127.0.0.1:1/v1")
    put.setenv("ALITA_MODEL_CODER", "openai/larger")
    put.setenv("ALITA_MODEL_JUDGE", "anthropic/x")
    assert chosen("coder").base_url == "http://127.0.0.1:1/v1"
    assert chosen("judge").base_url is None


def test_the_same_name_at_another_address_is_another_model(put: pytest.MonkeyPatch) -> None:
    put.setenv("ALITA_MODEL", "openai/m")
    put.setenv("ALITA_MODEL_CODER", "openai/m base_url=http://127.0.0.1:1/v1")
    assert chosen("tester").base_url is None
    assert chosen("coder").base_url == "http://127.0.0.1:1/v1"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("openai/a temprature=1", "temprature=1"),
        ("openai/a hot", "hot"),
        ("temperature=1 temperature=2", "temperature=2"),
        ("openai/a temperature=warm", "number"),
        ("temperature=5", "less than or equal to 2"),
        ("max_tokens=0", "greater than"),
        ("timeout_s=nan", "timeout"),
        ("key_from=sk-1234", "pattern"),
    ],
)
def test_a_setting_that_does_not_fit_is_named(put: pytest.MonkeyPatch, value: str, said: str) -> None:
    put.setenv("ALITA_MODEL_CODER", value)
    with pytest.raises(UsageError, match="ALITA_MODEL_CODER=") as raised:
        read_settings()
    assert said == "timeout" or said in str(raised.value)


def test_a_choice_may_also_be_given_as_a_value() -> None:
    settings = Settings.model_validate({"model_coder": {"name": "openai/a", "temperature": 0.5}})
    assert settings.model_coder.temperature == 0.5


@pytest.mark.parametrize(
    ("url", "identity"),
    [
        ("", "openai/a"),
        ("http://localhost:8000/v1/", "openai/a at http://localhost:8000/v1"),
        ("https://me:secret@host/v1?key=secret", "openai/a at https://host/v1"),
    ],
)
def test_a_model_is_known_by_its_name_and_its_servers_address(
    put: pytest.MonkeyPatch, url: str, identity: str
) -> None:
    put.setenv("ALITA_MODEL", "openai/a")
    if url:
        put.setenv("ALITA_MODEL_BASE_URL", url)
    assert chosen("coder").identity == identity
