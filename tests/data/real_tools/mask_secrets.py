import re

_PATTERNS = re.compile(
    r"""
    (?P<mail>[\w.+-]+@[\w-]+\.[\w.]+)
    | (?P<card>\b(?:\d[ -]?){15}\d\b)
    | (?P<phone>\+\d{2}[\s\d]{6,14}\d)
    """,
    re.VERBOSE,
)

def _mask(match: re.Match[str]) -> str:
    text = match[0]
    if match.lastgroup == "mail":
        name, _, host = text.partition("@")
        return f"{name[0]}***@{host}"
    digits = re.sub(r"\D", "", text)
    return f"<{match.lastgroup} …{digits[-4:]}>"

def mask_secrets(text: str) -> str:
    """The text with what is private masked.

    Args:
        text: Any text.
    """
    return _PATTERNS.sub(_mask, text)


DESCRIPTION = "Masks addresses, phone numbers and card numbers in a text."
EXAMPLES = [{'arguments': {'text': 'Write to jane.doe@example.org or +49 30 1234567!'},
  'expected': 'Write to j***@example.org or <phone …4567>!'},
 {'arguments': {'text': 'card 4111 1111 1111 1111, not 1234'},
  'expected': 'card <card …1111>, not 1234'},
 {'arguments': {'text': ''}, 'expected': ''},
 {'arguments': {'text': 'a@b.c'}, 'expected': 'a***@b.c'}]
