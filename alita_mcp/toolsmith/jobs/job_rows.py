"""What servers write for one another into the rows of jobs: questions, answers and failures, in JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from alita_mcp import errors
from alita_mcp.errors import AlitaError, ModelError
from alita_mcp.toolsmith.jobs.jobs import Job
from alita_mcp.toolsmith.jobs.person_questions import (
    Decision,
    FilledForm,
    FormField,
    PersonAnswer,
    Question,
    Refused,
)  # fmt: skip

MAX_STAGE = 2_000
Row = dict[str, Any]


def encode_state(job: Job[Any]) -> dict[str, str]:
    """Stage and open questions of a job, as columns of its row."""
    questions = [
        [each.key, each.text, *(list(vars(field).values()) for field in each.fields)]
        for each in (job.person.unanswered if job.person else ())
    ]
    return {"stage": json.dumps(job.stage[:MAX_STAGE]), "questions": json.dumps(questions)}


def decode_questions(row: Row) -> list[Question]:
    """The open questions of a job."""
    questions = json.loads(row["questions"])
    return [
        Question(key, text, tuple(FormField(*each) for each in fields)) for key, text, *fields in questions
    ]


def encode_answers(answers: Mapping[str, PersonAnswer]) -> str:
    """Answers by the keys of their questions. Each is JSON in a text, for jsonb cannot hold every character."""
    said = {
        key: answer.texts if isinstance(answer, FilledForm) else [type(answer).__name__, str(answer)]
        for key, answer in answers.items()
    }
    return json.dumps({key: json.dumps(each) for key, each in said.items()})


def decode_answers(row: Row) -> dict[str, PersonAnswer]:
    """The answers of a job by the keys of its questions."""
    kinds: dict[str, Any] = {"Decision": Decision, "Refused": Refused}
    said = {key: json.loads(text) for key, text in row["answers"].items()}
    return {
        key: FilledForm(each) if isinstance(each, dict) else kinds.get(each[0], ModelError)(each[1])
        for key, each in said.items()
    }


def encode_failure(failure: BaseException) -> str:
    """Why a job failed; of what is no error of ours only that it was one."""
    said = {"kind": type(failure).__name__, **vars(failure)} if isinstance(failure, AlitaError) else None
    return json.dumps(said, default=str)


def decode_failure(text: str) -> Exception:
    """The reverse; a kind of error that this version does not know is a plain one."""
    said = json.loads(text)
    if said is None:
        return RuntimeError("a job failed on another server")
    failure: AlitaError = getattr(errors, said.pop("kind"), AlitaError)(said["message"])
    vars(failure).update(said)
    return failure
