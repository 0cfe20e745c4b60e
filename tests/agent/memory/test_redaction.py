"""What must not be kept is taken out: secrets by value, shape and name, file bytes, and what is too long."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.agent.interface import Episode, Fact, RecipeStep
from alita_mcp.agent.memory.redaction import ANSWER_CHARACTERS, RUN_CHARACTERS, TASK_CHARACTERS, Redactor
from alita_mcp.research.values import Source

SECRET = "wombat-Under-7-bridges"
SHAPES = (
    "ghp_" + "a1B2" * 10,
    "sk-proj-" + "x9Y8" * 8,
    "AKIA" + "ABCD1234EFGH5678",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJlMTIzNDU2",
    "f47ac10b58cc4372a5670e02b2c3d479f47ac10b",
)
NAMED = (
    'password = "{}"',
    "api_key: {}",
    "the API key is {}",
    "{{'token': '{}'}}",
    "My passphrase is {}.",
    "Authorization: Bearer {}",
    "postgres://admin:{}@db.example.org/x",
    "https://example.org/data?sig={}&x=1",
    "secret_key={}",
)


def episode(**fields: Any) -> Episode:
    told: dict[str, Any] = {"run": "r1", "task": "a task", "solved": True, "answer": "", "at": ""}
    return Episode(**{**told, **fields})


@pytest.mark.parametrize("secret", SHAPES)
def test_keys_of_known_shapes_are_taken_out(secret: str) -> None:
    said = Redactor().text(f"Use ({secret}) or x={secret}, please.", 500)
    assert secret not in said
    assert said.startswith("Use (")
    assert said.endswith("please.")


@pytest.mark.parametrize("form", NAMED)
@pytest.mark.parametrize("value", ["hunter-2!x", "Zk3#pQ9xW", "correct7horse"])
def test_what_is_called_a_secret_is_taken_out(form: str, value: str) -> None:
    said = Redactor().text(form.format(value), 500)
    assert value not in said
    assert "[secret]" in said


def test_ordinary_words_stay() -> None:
    redactor = Redactor()
    for text in (
        "The token count is 3120 and the key is sorted by name.",
        "How many passwords are in list.csv?",
        "Read https://example.org/a?page=2 and data/2024-05-01.csv, 1,234.5 km.",
        "The secret is to keep it short.",
    ):
        assert redactor.text(text, 500) == text


@given(
    st.sampled_from(["plain", "base64", "hex", "json", "upper", "backwards"]),
    st.text(max_size=20),
    st.text(max_size=20),
)
def test_values_of_secrets_are_taken_out_in_every_usual_form(form: str, before: str, after: str) -> None:
    forms = {
        "plain": SECRET,
        "base64": base64.b64encode(SECRET.encode()).decode(),
        "hex": SECRET.encode().hex(),
        "json": json.dumps(SECRET),
        "upper": SECRET.upper(),
        "backwards": SECRET[::-1],
    }
    assert forms[form].strip('"') not in Redactor([SECRET]).text(f"{before} {forms[form]} {after}", 1_000)


def test_every_field_of_a_run_is_cleaned() -> None:
    step = RecipeStep(
        tool=f"tool {SECRET}",
        need=SECRET,
        arguments={SECRET: [SECRET, {"deep": (SECRET,)}], "password": "abc", "pin": 4711},
    )
    fields = dict.fromkeys(("tools_used", "tools_made", "failed"), (SECRET,))
    clean = Redactor([SECRET, "4711"]).episode(
        episode(run=SECRET, task=SECRET, answer=SECRET, at=SECRET, steps=(step,), **fields)
    )
    told = clean.model_dump_json()
    assert SECRET not in told
    assert "4711" not in told
    assert clean.steps[0].arguments["password"] == "[secret]"


def test_long_values_and_bytes_are_cut() -> None:
    encoded = base64.b64encode(bytes(range(256)) * 40).decode()
    arguments = {
        "file": b"\x00" * 5_000,
        "encoded": encoded,
        "text": "word " * 50_000,
        "list": list(range(10_000)),
        "n": 10**400,
    }
    clean = Redactor().episode(
        episode(
            task="t " * 10_000,
            answer="a " * 10_000,
            steps=(RecipeStep(tool="t", need="n " * 900, arguments=arguments),) * 60,
        )
    )
    told = clean.model_dump_json()
    assert encoded[:100] not in told
    assert len(told) < TASK_CHARACTERS + ANSWER_CHARACTERS + 2 * RUN_CHARACTERS
    assert clean.steps[0].arguments["file"] == "[5000 bytes left out]"
    assert clean.steps[0].arguments["text"] == "[250000 characters left out]"


def test_a_fact_with_a_secret_is_dropped_because_a_hole_would_change_what_it_says() -> None:
    def fact(text: str, subject: str = "a subject", url: str = "run:1") -> Fact:
        return Fact(text=text, subject=subject, source=Source(url=url))

    redactor = Redactor([SECRET])
    assert redactor.fact(fact(f"The door opens with {SECRET}.")) is None
    assert redactor.fact(fact("Harmless.", subject=SECRET)) is None
    cleaned = redactor.fact(fact("Harmless.", url=f"https://x:{SECRET}@example.org/?token={SECRET}"))
    assert cleaned is not None
    assert SECRET not in cleaned.model_dump_json()


@pytest.mark.slow
@pytest.mark.parametrize(
    "hostile",
    [
        "password=",
        "token: '",
        "a1",
        "://a:",
        "api key ",
        "-----BEGIN PRIVATE KEY-----",
        "eyJ",
        "?sig=",
        "secret_",
    ],
)
def test_hostile_texts_are_read_at_once(hostile: str) -> None:
    assert len(Redactor([SECRET]).text(hostile * (90_000 // len(hostile)), 300)) <= 300
