"""A model that a client lends: questions wait on a desk until the client carries them to its model and brings answers.

A desk of its own takes the questions that only the person at a client answers.

Nobody can be asked but while a client is there. A question is carried at once where a call of the client can do so,
or handed out together with all others that wait; one that nobody answers in time ends the asking.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

import anyio

from alita_mcp.errors import ModelError, UsageError
from alita_mcp.models.choices import Role
from alita_mcp.models.interface import Completion, LanguageModel, Message, ToolSpec, tools_refused

NAME = "the client's model"
QUIET_S = 0.1
"""Questions are handed out together once none has come for so long: they come from work that runs side by side."""
MAX_HANDED_OUT = 2
"""How often a question is handed out before one that comes back without an answer counts as refused."""
HINT = "Allow it at the client, set ALITA_MODEL, or hand in code and tests."


class Decision(StrEnum):
    """What a person who is asked to approve something says."""

    APPROVED = "approved"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    """The question was put away without a choice."""


@dataclass(frozen=True)
class FormField:
    """A line of a form that may be left empty."""

    key: str
    title: str
    description: str


@dataclass(frozen=True)
class FilledForm:
    """What a person wrote in the fields of a form; those left empty are not there."""

    texts: Mapping[str, str]


Answer = Completion | Decision | FilledForm | ModelError
Carrier = Callable[["Question"], Awaitable[Answer]]
"""Brings one question to the client's model; answers with `Refused` when no other is worth bringing."""


class Refused(ModelError):
    """The client, or the person at it, does not answer; nothing more is to be asked."""


@dataclass(eq=False)
class Question:
    """What one writer wants to know, for as long as it waits."""

    key: str
    role: Role | None
    messages: tuple[Message, ...]
    max_tokens: int | None = None
    temperature: float | None = None
    fields: tuple[FormField, ...] = ()
    """Of the form that a person fills; none where a decision is wanted."""
    answer: Answer | None = None
    carried: bool = False
    handed_out: int = 0
    patience: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    @property
    def waits(self) -> bool:
        """Whether nobody has it in hand who will bring the answer by himself."""
        return self.answer is None and not self.carried


@dataclass(frozen=True)
class Round:
    """Questions that were handed out together, and the token that their answers must come with."""

    token: str
    questions: tuple[Question, ...]


class Desk:
    """Where the questions of one synthesis wait for its client."""

    def __init__(self, wait_s: float, owner: str = "", *, asks: Literal["model", "person"] = "model") -> None:
        """An empty desk.

        Args:
            wait_s: How long a question waits for its answer.
            owner: Names the connection that asked for the synthesis, where it lasts longer than one request.
            asks: Who answers at the client.
        """
        self.wait_s = wait_s
        self.owner = owner
        self.asks = asks
        self._open: dict[str, Question] = {}
        self._carriers: list[Carrier] = []
        self._changed = anyio.Event()
        self._refusal: Refused | None = None
        self._round: Round | None = None
        self._asked = 0

    def model(self, role: Role | None) -> LanguageModel:
        """The client's model in a role."""
        return LentModel(self, role)

    @property
    def _who(self) -> str:
        return f"The client's {self.asks}"

    @property
    def waiting(self) -> tuple[Question, ...]:
        """The questions that could be handed out now."""
        return tuple(question for question in self._open.values() if question.waits)

    async def ready(self) -> None:
        """Returns when questions wait and no more have come for a moment."""
        while True:
            changed = self._changed
            if not self.waiting:
                await changed.wait()
                continue
            with anyio.move_on_after(QUIET_S) as pause:
                await changed.wait()
            if pause.cancelled_caught:
                return

    def hand_out(self) -> Round:
        """All waiting questions; answers to those handed out before no longer count."""
        self._round = Round(secrets.token_urlsafe(24), self.waiting)
        for question in self._round.questions:
            question.handed_out += 1
        return self._round

    def take(self, token: str, answers: Mapping[str, Answer]) -> None:
        """Takes the answers to the round of this token, once; whatever was not asked is dropped.

        Raises:
            UsageError: there is no such round, or its answers were taken already; nothing was changed.
        """
        asked = self._round
        if asked is None or not hmac.compare_digest(asked.token.encode(), token.encode("utf-8", "replace")):
            raise UsageError(
                "These answers are not to what is asked now; they were not taken.",
                hint="Each request for input is answered once, by the call that got it. Make the call again.",
            )
        self._round = None
        for question in asked.questions:
            answer = answers.get(question.key)
            if answer is None and question.handed_out >= MAX_HANDED_OUT:
                answer = Refused(f"{self._who} left a question unanswered.", hint=HINT)
            question.answer = answer
        self._wake()

    @contextmanager
    def carried_by(self, carrier: Carrier) -> Iterator[None]:
        """Lets a carrier bring every question that comes during the block, and those that wait.

        A question that it has in hand when the block ends stays with it.
        """
        self._carriers.append(carrier)
        self._wake()
        try:
            yield
        finally:
            self._carriers.remove(carrier)

    async def ask(
        self,
        role: Role | None,
        messages: Sequence[Message],
        max_tokens: int | None,
        temperature: float | None,
    ) -> Completion:
        """The client's answer to one question.

        Raises:
            Refused: it does not answer this or an earlier question.
            ModelError: it answered with something that is no answer.
        """
        answer = await self._answer_to(role, messages, max_tokens, temperature)
        if not isinstance(answer, Completion):
            raise ModelError(f"{NAME[0].upper()}{NAME[1:]} answered with a decision.", hint=HINT)
        return answer

    async def ask_person(self, question: str) -> Decision:
        """What the person at the client decides.

        Raises:
            ModelError: nobody is asked or answers, or the answer is no decision.
        """
        answer = await self._answer_to(None, (Message(role="user", content=question),), None, None)
        if not isinstance(answer, Decision):
            raise ModelError("The client answered with something that is no decision.")
        return answer

    async def ask_form(self, text: str, fields: Sequence[FormField]) -> FilledForm | Decision:
        """What the person at the client writes in a form; a decision where it is put away.

        Raises:
            ModelError: nobody is asked or answers, or the answer is no form.
        """
        told = (Message(role="user", content=text),)
        answer = await self._answer_to(None, told, None, None, tuple(fields))
        if isinstance(answer, Completion):
            raise ModelError("The client answered with something that is no form.")
        return answer

    async def _answer_to(
        self,
        role: Role | None,
        messages: Sequence[Message],
        max_tokens: int | None,
        temperature: float | None,
        fields: tuple[FormField, ...] = (),
    ) -> Completion | Decision | FilledForm:
        if self._refusal is not None:
            raise _again(self._refusal)
        self._asked += 1
        question = Question(f"question-{self._asked}", role, tuple(messages), max_tokens, temperature, fields)
        self._open[question.key] = question
        self._wake()
        try:
            with anyio.move_on_after(self.wait_s) as question.patience:
                await self._until_answered(question)
        finally:
            del self._open[question.key]
        answer = question.answer or self._refusal or self._too_late()
        if isinstance(answer, Refused):
            self._close(answer)
            raise _again(answer)
        if isinstance(answer, ModelError):
            raise answer
        return answer

    async def _until_answered(self, question: Question) -> None:
        while question.answer is None:
            changed = self._changed
            if self._carriers:
                question.carried = True
                question.answer = await self._carriers[-1](question)
            else:
                await changed.wait()

    def _too_late(self) -> Refused:
        return Refused(
            f"The client did not bring an answer of its {self.asks} within {self.wait_s:g} s.", hint=HINT
        )

    def _close(self, refusal: Refused) -> None:
        """Ends all questions, also those to come, with what ended one of them."""
        if self._refusal is None:
            self._refusal = refusal
            for question in self._open.values():
                question.patience.cancel()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


def _again(refusal: Refused) -> Refused:
    """The same words in an exception of their own: several questions end with them at once."""
    return Refused(refusal.message, hint=refusal.hint)


class LentModel:
    """The client's model in one role; schema, seed and tools are not for it, for a client passes on none."""

    name = NAME
    calls_tools = False

    def __init__(self, desk: Desk, role: Role | None) -> None:
        self._desk = desk
        self._role = role

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,  # noqa: ARG002 - as the seam says
        schema: dict[str, Any] | None = None,  # noqa: ARG002 - as the seam says
        tools: Sequence[ToolSpec] = (),
    ) -> Completion:
        """One completion, as long as it takes the client; errors as `Desk.ask`, and none of its tools are ours."""
        if tools:
            raise tools_refused(self.name)
        return await self._desk.ask(self._role, messages, max_tokens, temperature)
