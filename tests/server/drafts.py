"""Tools as an agent hands them in."""

from __future__ import annotations

from typing import Any

VOWEL_CODE = '''
def vowel_share(text: str, digits: int = 2) -> float:
    """Share of vowels among the letters of a text.

    Args:
        text: Any text.
        digits: Digits after the point.

    Raises:
        ValueError: The text has no letters.
    """
    letters = [letter for letter in text.lower() if letter.isalpha()]
    if not letters:
        raise ValueError("no letters in the text")
    return round(sum(letter in "aeiou" for letter in letters) / len(letters), digits)
'''

VOWEL_SHARE: dict[str, Any] = {
    "name": "vowel_share",
    "description": "Share of vowels among the letters of a text.",
    "code": VOWEL_CODE,
    "tests": [
        {"arguments": {"text": "banana"}, "expected": 0.5},
        {"arguments": {"text": "rhythm"}, "expected": 0.0},
        {"arguments": {"text": "abc", "digits": 4}, "expected": 0.3333},
        {"arguments": {"text": "42"}, "raises": "ValueError"},
    ],
    "use_when": ["how many vowels does a word have", "vowel ratio of a sentence", "proportion of vowels"],
}

REPEAT: dict[str, Any] = {
    "name": "repeat_rows",
    "description": "Rows of a text, each repeated a number of times.",
    "code": '''
def repeat_rows(text: str, times: int) -> list[str]:
    """Rows of a text, each repeated a number of times.

    Args:
        text: Any text.
        times: How often.
    """
    return [text for _ in range(times)]
''',
    "tests": [
        {"arguments": {"text": "ab", "times": 2}, "expected": ["ab", "ab"]},
        {"arguments": {"text": "c", "times": 1}, "expected": ["c"]},
        {"arguments": {"text": "c", "times": 0}, "expected": []},
    ],
}


def draft(base: dict[str, Any] = VOWEL_SHARE, **changes: Any) -> dict[str, Any]:
    """A draft with changes; a change to None leaves the field out."""
    return {field: value for field, value in (base | changes).items() if value is not None}
