"""Delivery of requests to a server, one after another, with calls of what it publishes."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from mcp_types import CallToolResult
from pydantic import Field

from alita_mcp.values import Example, Value
from alita_mcp.verification.comparison.compare import same_result
from benchmarks.synthesis.caller import (
    BROKE_OFF,
    SHOWN_CHARACTERS,
    Caller,
    ServerUnderTest,
    connected,
    in_words,
    text_of,
)  # fmt: skip
from benchmarks.synthesis.tool_requests import ToolRequest

LONGEST_NAME = 40

Tell = Callable[[str], None]


class Trial(Value):
    """Trial of one request."""

    task_id: str
    tool: str
    status: str
    """As the server says it: `created`, `exists`, `rejected`, …; `failed` also when no answer came."""
    trust: str = ""
    stage: str = ""
    reason: str = ""
    renamed: bool = False
    """The name was taken, so the request was handed in again under another one."""
    listed: bool = False
    """The tool stood in `tools/list` right after it was made."""
    right: int = 0
    hidden: int
    wrong: tuple[str, ...] = ()
    """One line for each hidden example that came out wrong."""
    seconds: float = 0.0
    """From handing it in to the last answer about it; without the hidden examples."""
    broke_off: bool = False
    """The connection was lost over this request, or over a hidden example of its tool."""
    software: dict[str, str] = Field(default_factory=dict)
    """Versions that took part, as the tool's report has them."""
    seconds_by_gate: dict[str, float] = Field(default_factory=dict)
    """How long each gate took, as the tool's report has it."""

    @property
    def published(self) -> bool:
        """Whether a new tool stands in the library."""
        return self.status == "created"


async def deliver(requests: Sequence[ToolRequest], server: ServerUnderTest, tell: Tell) -> tuple[Trial, ...]:
    """Brings all requests to one server; a new process follows one that broke off.

    Two starts in a row that bring nothing end the work: the rest of the requests fail with that reason.
    """
    waiting, trials, lost_starts = deque(requests), list[Trial](), 0
    while waiting and lost_starts < 2:
        done = len(trials)
        try:
            async with connected(server) as caller:
                await _bring_until_it_breaks(caller, waiting, trials, tell)
        except Exception as failure:  # noqa: BLE001 - whatever a server does to its client, the report must come
            tell(f"the server broke off: {in_words(failure)}; {server.last_words()}")
        lost_starts = lost_starts + 1 if len(trials) == done else 0
    why = f"the server does not start; {server.last_words()}"
    return (*trials, *(_lost(request, why) for request in waiting))


async def _bring_until_it_breaks(
    caller: Caller, waiting: deque[ToolRequest], trials: list[Trial], tell: Tell
) -> None:
    while waiting:
        request = waiting.popleft()
        try:
            trial = await _bring(caller, request)
        except (*BROKE_OFF, RuntimeError) as failure:
            trial = _lost(request, in_words(failure))
        trials.append(trial)
        tell(f"{len(trials)}/{len(trials) + len(waiting)} {_line(trial)}")
        if trial.broke_off:
            return


def _lost(request: ToolRequest, why: str) -> Trial:
    return Trial(
        task_id=request.task_id,
        tool=request.name,
        status="failed",
        reason=why,
        hidden=len(request.hidden),
        broke_off=True,
    )


async def _bring(caller: Caller, request: ToolRequest) -> Trial:
    started, renamed = time.monotonic(), False
    answer = await caller.make(request.words())
    if answer.get("status") == "exists" and answer.get("tool") == request.name:
        request, renamed = request.under(f"{request.name[: LONGEST_NAME - 2]}_2"), True
        answer = await caller.make(request.words())
    trial = Trial(
        task_id=request.task_id,
        tool=request.name,
        status=str(answer.get("status")),
        trust=str(answer.get("trust", "")),
        stage=str(answer.get("stage", "")),
        reason=_reason(answer),
        renamed=renamed,
        hidden=len(request.hidden),
        seconds=time.monotonic() - started,
    )
    return await _with_hidden_examples(caller, request, trial) if trial.published else trial


async def _with_hidden_examples(caller: Caller, request: ToolRequest, trial: Trial) -> Trial:
    """The trial with what the tool gives for the hidden examples; those not reached are not right."""
    wrong, right = [], 0
    try:
        listed = request.name in await caller.listed_names()
        report = await caller.report(request.name)
        told = {
            "software": _words(report.get("software")),
            "seconds_by_gate": _seconds(report.get("seconds_by_gate")),
        }
        trial = trial.model_copy(update={"listed": listed, **told})
        for example in request.hidden:
            difference = await _difference(caller, request.name, example, listed=listed)
            right += not difference
            wrong += [difference] if difference else []
    except BROKE_OFF as failure:
        wrong.append(in_words(failure))
        trial = trial.model_copy(update={"broke_off": True})
    return trial.model_copy(update={"right": right, "wrong": tuple(wrong)})


async def _difference(caller: Caller, name: str, example: Example, *, listed: bool) -> str:
    """How the tool's answer differs from the example; empty when it does not."""
    try:
        if listed:
            result = await caller.call(name, example.arguments)
        else:
            result = await caller.call("run_tool", {"name": name, "arguments": example.arguments})
    except RuntimeError as unfit:  # the SDK's client refuses results that do not fit the output schema
        return f"{json.dumps(example.as_json())}: {unfit}"[:SHOWN_CHARACTERS]
    if _fits(example, result):
        return ""
    got = text_of(result) if result.is_error else json.dumps(result.structured_content)
    return f"{json.dumps(example.as_json())} gave {got}"[:SHOWN_CHARACTERS]


def _words(given: object) -> dict[str, str]:
    return {str(key): str(word) for key, word in given.items()} if isinstance(given, dict) else {}


def _seconds(given: object) -> dict[str, float]:
    numbers = given.items() if isinstance(given, dict) else ()
    return {str(key): float(number) for key, number in numbers if isinstance(number, int | float)}


def _fits(example: Example, result: CallToolResult) -> bool:
    """Whether a client sees what the example says; a result that is no object comes as `{"result": …}`."""
    if example.raises is not None:
        return bool(result.is_error) and example.raises.rpartition(".")[2] in text_of(result)
    given = result.structured_content
    if result.is_error or not isinstance(given, dict):
        return False
    if same_result(example.expected, given, example.exact):
        return True
    return given.keys() == {"result"} and same_result(example.expected, given["result"], example.exact)


def _reason(answer: dict[str, Any]) -> str:
    """Why nothing was published, in one line."""
    said = [str(answer.get("reason") or answer.get("why") or "")]
    shown = [f"{word} {json.dumps(answer[word])}" for word in ("case", "expected", "got") if word in answer]
    return " ".join(" | ".join(filter(None, said + shown)).split())[:SHOWN_CHARACTERS]


def _line(trial: Trial) -> str:
    found = (
        f"{trial.trust} {trial.right}/{trial.hidden}" if trial.published else f"{trial.stage} {trial.reason}"
    )
    return f"{trial.tool}: {trial.status} {found.strip()} ({trial.seconds:.2f} s)"
