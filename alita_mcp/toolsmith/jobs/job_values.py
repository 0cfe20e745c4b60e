"""Texts that servers of a shared library write of a job for one another: its state, answers and failures, as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from alita_mcp import errors
from alita_mcp.errors import AlitaError, ModelError
from alita_mcp.toolsmith.jobs.jobs import Job, Tool
from alita_mcp.toolsmith.jobs.person_questions import (
    Decision,
    FilledForm,
    FormField,
    PersonAnswer,
    Question,
    Refused,
)

MAX_STAGE = 2_000
ReadOutcome = Callable[[Tool, str], Any]
"""Reads the outcome of a job of a tool; raises ValueError for one that this version does not know."""


class JobState(NamedTuple):
    """How a job stands."""

    stage: str
    questions: list[Question]


def encode_state(job: Job[Any]) -> dict[str, str]:
    """Stage and open questions of a job, as columns of its row."""
    questions = [
        {"key": each.key, "text": each.text, "fields": [list(vars(field).values()) for field in each.fields]}
        for each in (job.person.open_questions if job.person else ())
    ]
    return {"stage": json.dumps(job.stage[:MAX_STAGE]), "questions": json.dumps(questions)}


def decode_questions(row: Mapping[str, Any]) -> JobState:
    """How a job stands by its row."""
    rounds = json.loads(row["rounds"])
    questions = [
        Question(
            each["key"],
            each["text"],
            tuple(FormField(*field) for field in each["fields"]),
            rounds=rounds.get(each["key"], 0),
        )
        for each in json.loads(row["questions"])
    ]
    return JobState(json.loads(row["stage"]), questions)


def encode_answer(answer: PersonAnswer) -> dict[str, Any]:
    """An answer of a person, or why there is none."""
    if isinstance(answer, Decision):
        return {"decision": answer.value}
    if isinstance(answer, FilledForm):
        return {"texts": dict(answer.texts)}
    return {"refused" if isinstance(answer, Refused) else "unusable": answer.message}


def decode_answer(said: Mapping[str, Any]) -> PersonAnswer:
    """The reverse."""
    match said:
        case {"decision": decision}:
            return Decision(decision)
        case {"texts": texts}:
            return FilledForm(texts)
        case {"refused": message}:
            return Refused(message)
    return ModelError(said.get("unusable", "The client's answer cannot be read."))


def encode_failure(failure: BaseException) -> str:
    """Why a job failed; of what is no error of ours only that it was one."""
    if not isinstance(failure, AlitaError):
        return json.dumps({"type": ""})
    more = {name: value for name, value in vars(failure).items() if name not in ("message", "hint")}
    return json.dumps(
        {"type": type(failure).__name__, "message": failure.message, "hint": failure.hint, "more": more},
        default=str,
    )


def decode_failure(text: str) -> Exception:
    """The reverse; a kind of error that this version does not know is a plain one."""
    said = json.loads(text)
    if not said["type"]:
        return RuntimeError("a job failed on another server")
    kind = getattr(errors, said["type"], AlitaError)
    failure: AlitaError = kind(said["message"], hint=said["hint"])
    vars(failure).update(said["more"])
    return failure
