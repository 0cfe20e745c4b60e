"""Every prompt for one small tool as text; `python -m tests.toolsmith.golden_prompts` writes the golden files again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from alita_mcp.models.interface import Message
from alita_mcp.sandbox.wasm.abilities import abilities
from alita_mcp.toolsmith.requests.outcomes import Rejected
from alita_mcp.toolsmith.specification import Specification
from alita_mcp.toolsmith.writing import prompts
from alita_mcp.toolsmith.writing.prompts import Brief
from alita_mcp.values import Grants
from tests.toolsmith.authors import PLAIN, REQUEST, SPEC, coded

GOLDEN = Path(__file__).parent / "golden"
SPECIFIED = Specification.model_validate(SPEC)
ASKED = Brief(request=REQUEST, sandbox=abilities().summary_of_lacks())
BRIEF = ASKED.model_copy(update={"specification": SPECIFIED})
FULL = BRIEF.model_copy(
    update={
        "notes": "Digits are 0 to 9.",
        "grants": Grants(
            network=("api.example.org",),
            workspace="read",
            model=True,
            tools=("other_tool",),
            secrets=("API_KEY",),
        ),
    }
)
YES_OR_NO = BRIEF.model_copy(
    update={"specification": SPECIFIED.model_copy(update={"signature": "def digit_sum(number: int) -> bool"})}
)
FAILED = Rejected(
    stage="examples",
    reason="2 of 6 tests pass; example 3: it raised TypeError: 'int' object is not iterable",
    case={"number": -45},
    expected="9",
    got="raised TypeError: 'int' object is not iterable",
    trace=("tool.py:7 in digit_sum: return sum(number)",),
    fix="Handle these arguments, or say `raises` in the example if the error is meant.",
)

PROMPTS: Mapping[str, Callable[[], Sequence[Message]]] = {
    "specify": lambda: prompts.specify(ASKED, "", ("sum_digits",)),
    "specify_and_ask": lambda: prompts.specify(ASKED, "", may_ask=True),
    "write_tests": lambda: prompts.write_tests(BRIEF, 0),
    "write_tests_few_results": lambda: prompts.write_tests(YES_OR_NO, 1),
    "write_tests_with_grants": lambda: prompts.write_tests(FULL, 2),
    "write_code": lambda: prompts.write_code(BRIEF, 0),
    "write_code_with_grants": lambda: prompts.write_code(FULL, 1),
    "repair": lambda: prompts.repair(prompts.write_code(BRIEF, 0), coded(PLAIN), FAILED),
}
"""By name of the golden file."""


def text_of(messages: Sequence[Message]) -> str:
    return "".join(f"== {message.role} ==\n{message.content}\n" for message in messages)


if __name__ == "__main__":
    for name, made in PROMPTS.items():
        (GOLDEN / f"{name}.txt").write_text(text_of(made()), encoding="utf-8")
