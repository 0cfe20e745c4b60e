"""Second computation of an answer: what of a run agrees with it by another way, and a program written to find out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from alita_mcp.agent import prompts
from alita_mcp.agent.actions.observations import Observation, as_text
from alita_mcp.agent.answers.answer_check import MAX_BESIDE, excerpts
from alita_mcp.agent.answers.grounding import is_observed
from alita_mcp.agent.interface import Program
from alita_mcp.agent.values import Claim
from alita_mcp.errors import ModelError
from alita_mcp.models.interface import LanguageModel
from alita_mcp.models.structured.typed_answers import ask_model
from alita_mcp.values import Value

MAX_SAID = 500
"""Characters of a value that says the answer on purpose; a longer one may hold a number by chance."""
ALIKE = 0.9
COMPARED = 4_000
"""Characters of each program."""


class SecondProgram(Value):
    """What a model answers."""

    code: str = ""


def find_program(claims: Sequence[Claim], observations: Sequence[Observation]) -> Observation | None:
    """The last observation that an answer rests on and that a program computed."""
    cited = {claim.reference for claim in claims}
    return next((each for each in reversed(observations) if each.program and each.reference in cited), None)


def find_agreeing(
    answer: str, computed: Observation, observations: Iterable[Observation]
) -> Observation | None:
    """An observation that says the answer too, by another program or by no program at all."""
    for each in observations:
        most = MAX_SAID if each.program is not None else len(answer) + MAX_BESIDE
        if each.reference in ("o0", computed.reference) or not each.is_data or len(each.text) > most:
            continue
        if is_observed(answer, [each.text]) and not _is_alike(each.program, computed.program):
            return each
    return None


def _is_alike(one: Program | None, other: Program | None) -> bool:
    if one is None or other is None:
        return False
    return SequenceMatcher(None, one.code[:COMPARED], other.code[:COMPARED]).ratio() >= ALIKE


async def write_second(
    task: str, answer: str, computed: Observation, observations: Sequence[Observation], files: Sequence[str],
    judge: LanguageModel,
) -> str:  # fmt: skip
    """A program for a task by a model that sees neither the first one nor the answer; empty where none is had."""
    blind = [
        each
        for each in observations
        if each.reference not in ("o0", computed.reference)
        and each.is_data
        and not is_observed(answer, [each.text])
    ]
    given = computed.program.arguments if computed.program is not None else {}
    names = [f"{name}: {type(value).__name__}, {as_text(value)}" for name, value in given.items()]
    asked = prompts.ask_second_program(task, files, names, excerpts(task, blind))
    try:
        return (await ask_model(judge, asked, SecondProgram, temperature=0.0)).value.code.strip()
    except ModelError:  # also where the budget is spent: the answer has passed its check already
        return ""
