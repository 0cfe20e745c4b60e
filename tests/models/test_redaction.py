"""What providers say, made fit for people: no keys, one line, not too long."""

from __future__ import annotations

import pytest

from alita_mcp.models.redaction import SHOWN_CHARACTERS, presentable, without_keys


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-abcdefgh12345678.",
        "https://example.org/v1?key=AIzaSyA1234567890abcdefghijk&alt=json",
        "Authorization: Bearer abcdefgh12345678",
        "http://user:abcdefgh12345678@example.org/v1",
    ],
)
def test_what_looks_like_a_key_is_taken_out(text: str) -> None:
    said = presentable(text)
    assert "12345678" not in said
    assert "[key]" in said


def test_keys_of_the_environment_are_taken_out_whatever_they_look_like(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "correct horse battery")
    monkeypatch.setenv("SHORT_KEY", "a")
    assert without_keys("a correct horse battery staple") == "a [key] staple"


def test_a_message_is_one_short_line() -> None:
    said = presentable("one\ntwo\x1b[31m\u202e" + "x" * 10_000)
    assert len(said) == SHOWN_CHARACTERS
    assert said.startswith("one two [31m x")
