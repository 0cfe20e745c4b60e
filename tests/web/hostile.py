"""Tools as strangers may write them: markup, hidden characters, and more text than fits a page."""

from __future__ import annotations

from alita_mcp.owners import Maker
from alita_mcp.values import AcceptedVersion
from tests.library.factory import accepted, simple

HOSTILE = "\u202e<script>alert('x')</script>\u200b &amp; \x07 ]]>"


def hostile_tool() -> AcceptedVersion:
    """A tool each word of which attacks the page, but its name, which cannot."""
    code = (
        f'def nasty(first: str, second: str = "b") -> str:\n    """x"""\n    # {HOSTILE}\n    return first\n'
    )
    schema = {
        "type": "object",
        "properties": {
            "first": {"type": "string", "description": HOSTILE, "default": HOSTILE},
            "second": {
                "type": "string",
                "enum": [HOSTILE, '"><img src=x onerror=alert(1)>'],
                "description": "x" * 5_000,
            },
        },
        "required": ["first"],
    }
    made = accepted(
        "nasty",
        f"{HOSTILE}\n{'long ' * 5_000}",
        code=code.replace("\x07", ""),
        examples=(),
        input_schema=schema,
        use_when=(HOSTILE,),
        sandbox="wasm",
    )
    return made.model_copy(update={"made_by": Maker(HOSTILE)})


def large_tool(first: str = "VALUE_0") -> AcceptedVersion:
    """A tool of 200 kB."""
    lines = "".join(f"VALUE_{number} = {number}\n" for number in range(1, 12_000))
    made = simple("large", sandbox="wasm")
    code = f"{first} = 0\n{lines}\n{made.draft.code}"
    return made.model_copy(update={"draft": made.draft.model_copy(update={"code": code})})
