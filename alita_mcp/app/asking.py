"""Forms for the person at a client."""

from __future__ import annotations

from collections.abc import Sequence

from alita_mcp.errors import ModelError
from alita_mcp.toolsmith.jobs.person_questions import FilledForm, FormField, PendingQuestions


async def filled_form(person: PendingQuestions, text: str, fields: Sequence[FormField]) -> FilledForm | None:
    """The form that a person filled; None where the person refused it or did not answer."""
    try:
        answer = await person.ask_form(text, fields)
    except ModelError:
        return None
    return answer if isinstance(answer, FilledForm) else None
