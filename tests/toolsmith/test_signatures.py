from __future__ import annotations

from typing import Any

import pytest

from alita_mcp.toolsmith.duplicates.comparison import parameter_map, takes

TEXT, WHOLE, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
CHOICE = {"type": "string", "enum": ["up", "down"]}


def taking(_required: tuple[str, ...] | None = None, **parts: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": parts,
        "required": list(parts if _required is None else _required),
    }


def listed(part: Any) -> dict[str, Any]:
    return {"type": "array", "items": part}


@pytest.mark.parametrize(
    ("wanted", "known", "way"),
    [
        (taking(a=TEXT), taking(b=TEXT), {"a": "b"}),
        (taking(), taking(), {}),
        (taking(a=TEXT, b=TEXT), taking(x=TEXT, y=TEXT), {"a": "x", "b": "y"}),
        (taking(a=TEXT, b=TEXT), taking(b=TEXT, a=TEXT), {"a": "a", "b": "b"}),
        (taking(text=TEXT, n=WHOLE), taking(count=WHOLE, words=TEXT), None),
        (taking(text=TEXT, n=WHOLE), taking(text=TEXT, times=WHOLE), {"text": "text", "n": "times"}),
        (taking(a=TEXT), taking(("b",), b=TEXT, more=WHOLE), {"a": "b"}),
        (taking(a=TEXT), taking(b=TEXT, more=WHOLE), None),
        (taking(a=TEXT, more=WHOLE), taking(b=TEXT), None),
        (taking((), a=TEXT), taking(b=TEXT), None),
        (taking(a=TEXT), taking(b=WHOLE), None),
        (taking(a=WHOLE), taking(b=NUMBER), {"a": "b"}),
        (taking(a=NUMBER), taking(b=WHOLE), None),
    ],
)
def test_parameters_are_matched_by_name_then_by_place(
    wanted: Any, known: Any, way: dict[str, str] | None
) -> None:
    assert parameter_map(wanted, known) == way


@pytest.mark.parametrize(
    ("known", "wanted", "does"),
    [
        (TEXT, CHOICE, True),
        (CHOICE, TEXT, False),
        (CHOICE, CHOICE, True),
        (CHOICE, {"type": "string", "enum": ["up", "left"]}, False),
        (listed(NUMBER), listed(WHOLE), True),
        (listed(TEXT), listed(WHOLE), False),
        (
            {"type": "object", "additionalProperties": NUMBER},
            {"type": "object", "additionalProperties": WHOLE},
            True,
        ),
        ({"type": "object", "additionalProperties": NUMBER}, taking(a=WHOLE), False),
        (taking(("a",), a=TEXT, b=TEXT), taking(a=TEXT), True),
        (taking(a=TEXT, b=TEXT), taking(a=TEXT), False),
        (taking(a=TEXT), taking(b=TEXT), False),
    ],
)
def test_a_tool_takes_what_is_no_wider_than_its_own(known: Any, wanted: Any, *, does: bool) -> None:
    assert takes(known, wanted) is does
