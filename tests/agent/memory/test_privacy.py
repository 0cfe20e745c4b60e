"""What must not be kept is found: secrets by value, shape and name."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.agent.memory.privacy import Privacy

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


@pytest.mark.parametrize("secret", SHAPES)
def test_keys_of_known_shapes_are_found(secret: str) -> None:
    for text in (f"Use ({secret}) or x={secret}, please.", {"a": [{"b": secret}]}, {secret: 1}):
        assert Privacy().is_private(text)
    assert Privacy().is_private("", code=f"x = {secret!r}")


@pytest.mark.parametrize("form", NAMED)
@pytest.mark.parametrize("value", ["hunter-2!x", "correct7horse"])
def test_what_is_called_a_secret_is_found(form: str, value: str) -> None:
    assert Privacy().is_private(form.format(value))
    assert Privacy().is_private({"password": "abc"})


def test_ordinary_words_and_programs_are_not_private() -> None:
    for text in (
        "The token count is 3120 and the key is sorted by name.",
        "How many passwords are in list.csv?",
        "Read https://example.org/a?page=2 and data/2024-05-01.csv, 1,234.5 km.",
        "The secret is to keep it short.",
    ):
        assert not Privacy().is_private(text)
    assert not Privacy().is_private("", code="tokens = line.split(',')\npin = x_1\n")


@given(
    st.sampled_from(["plain", "base64", "hex", "json", "upper", "backwards"]),
    st.text(max_size=20),
    st.text(max_size=20),
)
def test_values_of_secrets_are_found_in_every_usual_form(form: str, before: str, after: str) -> None:
    forms = {
        "plain": SECRET,
        "base64": base64.b64encode(SECRET.encode()).decode(),
        "hex": SECRET.encode().hex(),
        "json": json.dumps(SECRET),
        "upper": SECRET.upper(),
        "backwards": SECRET[::-1],
    }
    assert Privacy([SECRET]).is_private(f"{before} {forms[form]} {after}")
