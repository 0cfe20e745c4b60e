"""Trials of every contender on every request, judged by examples that no author was shown."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from alita_mcp.errors import AlitaError, UsageError
from alita_mcp.models.roles import RoleModels
from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.values import Value
from benchmarks.toolsmith.attempt import Attempt
from benchmarks.toolsmith.call_log import CallLog, busy_seconds
from benchmarks.toolsmith.contenders import Contender
from benchmarks.toolsmith.judged_requests import JudgedRequest
from benchmarks.toolsmith.truth import differences

SHOWN_CHARACTERS = 400
ModelsFor = Callable[[JudgedRequest], RoleModels]
"""The models for one contender's attempt at one request, whose calls the log sees."""


class Trial(Value):
    """Trial of one contender on one request."""

    name: str
    status: str
    trust: str = ""
    stage: str = ""
    reason: str = ""
    published: bool
    right: bool = False
    """Whether every hidden example holds; False where nothing was published or it could not be judged."""
    judged: bool = True
    """Whether the sandbox could run what was published."""
    hidden: int
    wrong: tuple[str, ...] = ()
    """A line for each hidden example that does not hold."""
    calls: int
    """Answers that models were asked for, failed ones included."""
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    """None where the price of one answer is not known."""
    seconds: float
    """From the request to the end of the work; opening a library is part of it, judging is not."""
    model_seconds: float
    """Of these, those in which a model was at work: the chain of calls that wait for one another."""

    @property
    def tokens(self) -> int:
        """Asked and answered."""
        return self.prompt_tokens + self.completion_tokens


async def trials_of(
    requests: Sequence[JudgedRequest],
    contenders: Mapping[str, Contender],
    models_for: ModelsFor,
    log: CallLog,
    sandbox: Sandbox,
    tell: Callable[[str], None],
) -> dict[str, list[Trial]]:
    """The trials of each contender, one after another so that none waits for the others' work."""
    found: dict[str, list[Trial]] = {name: [] for name in contenders}
    for number, request in enumerate(requests, start=1):
        for name, contender in contenders.items():
            trial = await _trial(request, contender, models_for(request), log, sandbox)
            found[name].append(trial)
            tell(f"{number}/{len(requests)} {request.name}, {name}: {_line(trial)}")
    return found


async def _trial(
    request: JudgedRequest, contender: Contender, role_models: RoleModels, log: CallLog, sandbox: Sandbox
) -> Trial:
    log.take()
    started = time.monotonic()
    try:
        attempt = await contender(request, role_models, sandbox)
    except UsageError:
        raise
    except AlitaError as failure:
        attempt = Attempt(status="failed", reason=f"{type(failure).__name__}: {failure.message}")
    seconds, calls = time.monotonic() - started, log.take()
    answers = [call.answer for call in calls if call.answer is not None]
    costs = [answer.cost_usd for answer in answers]
    known = [cost for cost in costs if cost is not None]
    trial = Trial(
        name=request.name,
        status=attempt.status,
        trust=attempt.trust,
        stage=attempt.stage,
        reason=_in_one_line(attempt.reason),
        published=attempt.module is not None,
        hidden=len(request.hidden),
        calls=len(calls),
        prompt_tokens=sum(answer.prompt_tokens for answer in answers),
        completion_tokens=sum(answer.completion_tokens for answer in answers),
        cost_usd=sum(known) if len(known) == len(costs) else None,
        seconds=round(seconds, 3),
        model_seconds=round(busy_seconds(calls), 3),
    )
    return await _judged(trial, attempt, request, sandbox)


async def _judged(trial: Trial, attempt: Attempt, request: JudgedRequest, sandbox: Sandbox) -> Trial:
    if attempt.module is None:
        return trial
    try:
        found = await differences(attempt.module, request.hidden, sandbox)
    except AlitaError as failure:
        return trial.model_copy(update={"judged": False, "reason": _in_one_line(failure.message)})
    wrong = tuple(_in_one_line(each) for each in found if each)
    return trial.model_copy(update={"right": not wrong, "wrong": wrong})


def _in_one_line(text: str) -> str:
    """A stranger's words as a terminal and a list may show them: no line ends, no control characters."""
    words = "".join(letter if letter.isprintable() else " " for letter in text).split()
    return " ".join(words)[:SHOWN_CHARACTERS]


def _line(trial: Trial) -> str:
    if not trial.published:
        what = f"{trial.status} {trial.stage} {trial.reason[:120]}"
    else:
        truth = "right" if trial.right else f"{len(trial.wrong)} of {trial.hidden} hidden examples wrong"
        what = f"{trial.status} {trial.trust} {truth if trial.judged else 'not judged'}"
    return f"{' '.join(what.split())} ({trial.calls} calls, {trial.tokens} tokens, {trial.seconds:.1f} s)"
