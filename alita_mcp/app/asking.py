"""Forms for the person at a client, such as the questions about assumed rules."""

from __future__ import annotations

from collections.abc import Sequence

from alita_mcp.errors import ModelError
from alita_mcp.synthesis.context import AskPerson
from alita_mcp.synthesis.jobs.jobs import Jobs
from alita_mcp.synthesis.jobs.person_questions import FilledForm, FormField, PendingQuestions
from alita_mcp.synthesis.specification.assumptions import MAX_ANSWER, name_of

_TEXT = (
    "alita is making the tool {tool}. The request leaves open what a model then assumed for it. Leave a field empty "
    "where that is right; else say what should hold instead."
)
_FIELD = "{line} — leave empty if right; else say what should hold instead, in at most {limit} characters."


def asking_about_assumptions(person: PendingQuestions, jobs: Jobs) -> AskPerson:
    """Function that asks a person about assumed rules; meanwhile another job runs in the waiting one's place."""

    async def ask(tool: str, assumed: Sequence[str]) -> Sequence[str] | None:
        fields = [
            FormField(f"rule_{number}", name_of(line), _FIELD.format(line=line, limit=MAX_ANSWER))
            for number, line in enumerate(assumed, 1)
        ]
        async with jobs.without_turn(person):
            filled = await filled_form(person, _TEXT.format(tool=tool), fields)
        return None if filled is None else [filled.texts.get(field.key, "") for field in fields]

    return ask


async def filled_form(person: PendingQuestions, text: str, fields: Sequence[FormField]) -> FilledForm | None:
    """The form that a person filled; None where the person refused it or did not answer."""
    try:
        answer = await person.ask_form(text, fields)
    except ModelError:
        return None
    return answer if isinstance(answer, FilledForm) else None
