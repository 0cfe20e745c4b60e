"""Questions about assumed rules to the person at a client, with a time limit."""

from __future__ import annotations

from collections.abc import Sequence

from alita_mcp.errors import ModelError
from alita_mcp.models.lending import Desk, FilledForm, FormField
from alita_mcp.synthesis.context import AskPerson
from alita_mcp.synthesis.jobs.jobs import Jobs
from alita_mcp.synthesis.specification.assumptions import MAX_ANSWER, name_of

_TEXT = (
    "alita is making the tool {tool}. The request leaves open what a model then assumed for it. Leave a field empty "
    "where that is right; else say what should hold instead."
)
_FIELD = "{line} — leave empty if right; else say what should hold instead, in at most {limit} characters."


def asker(desk: Desk, jobs: Jobs) -> AskPerson:
    """Asks the person whose questions wait on a desk; the turn of the job that waits goes to others meanwhile."""

    async def ask(tool: str, assumed: Sequence[str]) -> Sequence[str] | None:
        fields = [
            FormField(f"rule_{number}", name_of(line), _FIELD.format(line=line, limit=MAX_ANSWER))
            for number, line in enumerate(assumed, 1)
        ]
        async with jobs.without_turn(desk):
            filled = await _filled(desk, _TEXT.format(tool=tool), fields)
        return None if filled is None else [filled.texts.get(field.key, "") for field in fields]

    return ask


async def _filled(desk: Desk, text: str, fields: Sequence[FormField]) -> FilledForm | None:
    try:
        answer = await desk.ask_form(text, fields)
    except ModelError:
        return None
    return answer if isinstance(answer, FilledForm) else None
