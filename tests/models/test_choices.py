"""Which model takes which role, and what the settings may say about it."""

from __future__ import annotations

from typing import Any

import pytest

from alita_mcp.errors import UsageError
from alita_mcp.models.choices import ROLES, choose_model
from alita_mcp.settings import Settings, read_settings

LOCAL = "http://127.0.0.1:1/v1"


def set_models(monkeypatch: pytest.MonkeyPatch, models: dict[str, str]) -> None:
    for name, value in models.items():
        monkeypatch.setenv(f"ALITA_MODEL{name}", value)


def test_without_a_model_there_is_none_for_any_role() -> None:
    assert [choose_model(Settings(), role) for role in (None, *ROLES)] == [None] * (1 + len(ROLES))


@pytest.mark.parametrize(
    ("models", "names"),
    [
        ({"": "ollama/q"}, ["ollama/q"] * 5),
        (
            {"": "openai/a", "_CODER": "openai/b"},
            ["openai/a", "openai/a", "openai/b", "openai/a", "openai/b"],
        ),
        ({"": "openai/a", "_JUDGE": "x/c"}, ["openai/a", "x/c", "openai/a", "x/c", "openai/a"]),
        ({"": "openai/a", "_JUDGE": "x/c", "_TESTER": "openai/a"}, ["openai/a"] * 3 + ["x/c", "openai/a"]),
        ({"_CODER": "anthropic/x temperature=1"}, ["anthropic/x"] * 5),
    ],
)
def test_planner_tester_coder_judge_and_implementer_have_these_models(
    models: dict[str, str], names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    set_models(monkeypatch, models)
    chosen = [choose_model(read_settings(), role) for role in ROLES]
    assert [each.name for each in chosen if each] == names


@pytest.mark.parametrize(
    ("models", "role", "expected"),
    [
        ({"": "a/b"}, None, {"setting": "ALITA_MODEL", "timeout_s": 120.0}),
        ({"_CODER": "a/b temperature=1"}, "coder", {"temperature": 1.0}),
        ({"_CODER": "a/b temperature=1"}, "planner", {"temperature": None, "setting": "ALITA_MODEL_CODER"}),
        (
            {"": "openai/a", "_BASE_URL": LOCAL, "_CODER": "temperature=0.8 max_tokens=40 timeout_s=30 key_from=K"},
            "coder",
            {"name": "openai/a", "temperature": 0.8, "max_tokens": 40, "timeout_s": 30.0, "key_from": "K",
             "base_url": LOCAL},
        ),
        (  # a tester borrows another role's model with its address, and without its options
            {"": "openai/a", "_PLANNER": f"openai/b base_url={LOCAL} key_from=B temperature=0.1"},
            "tester",
            {"name": "openai/b", "base_url": LOCAL, "key_from": "B", "temperature": None},
        ),
        # the shared address is for models of one provider: no other one's key is sent there
        ({"": "openai/a", "_BASE_URL": LOCAL, "_CODER": "openai/b"}, "coder", {"base_url": LOCAL}),
        ({"": "openai/a", "_BASE_URL": LOCAL, "_JUDGE": "anthropic/x"}, "judge", {"base_url": None}),
        ({"": "openai/m", "_CODER": f"openai/m base_url={LOCAL}"}, "tester", {"base_url": None}),
        ({"": "openai/a"}, "coder", {"identity": "openai/a"}),
        (
            {"": "openai/a", "_BASE_URL": "https://me:secret@host/v1/?key=secret"},
            "coder",
            {"identity": "openai/a at https://host/v1"},
        ),
    ],
)  # fmt: skip
def test_a_chosen_model_has_its_options_and_address(
    models: dict[str, str], role: Any, expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    set_models(monkeypatch, models)
    chosen = choose_model(read_settings(), role)
    assert {name: getattr(chosen, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("openai/a temprature=1", "temprature=1"),
        ("openai/a hot", "hot"),
        ("temperature=1 temperature=2", "temperature=2"),
        ("openai/a temperature=warm", "number"),
        ("temperature=5", "less than or equal to 2"),
        ("max_tokens=0", "greater than"),
        ("timeout_s=nan", ""),
        ("key_from=sk-1234", "pattern"),
    ],
)
def test_a_setting_that_does_not_fit_is_named(value: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALITA_MODEL_CODER", value)
    with pytest.raises(UsageError, match="ALITA_MODEL_CODER=") as raised:
        read_settings()
    assert said in str(raised.value)
