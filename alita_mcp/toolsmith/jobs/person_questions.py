"""Pending questions of a job to the person at its client.

A question is sent at once where a call of the client can do so, or goes into a round with all others that wait.
One that is not answered in time ends the asking.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum

import anyio

from alita_mcp.errors import ModelError, UsageError

MAX_ROUNDS_OF_ONE = 2
"""How often a question is handed out before one that comes back without an answer counts as refused."""


class Decision(StrEnum):
    """Decision of a person who was asked to approve something."""

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
    """Texts that a person wrote in the fields of a form; those left empty are not there."""

    texts: Mapping[str, str]


PersonAnswer = Decision | FilledForm | ModelError
QuestionSender = Callable[["Question"], Awaitable[PersonAnswer]]
"""Sends one question to the person; answers with `Refused` when no other is worth sending."""


class Refused(ModelError):
    """Refusal of a client or its person: no further question is to be asked."""


@dataclass(eq=False)
class Question:
    """One question to the person, for as long as it waits."""

    key: str
    text: str
    fields: tuple[FormField, ...] = ()
    """Of the form that a person fills; none where a decision is wanted."""
    answer: PersonAnswer | None = None
    sent: bool = False
    rounds: int = 0
    patience: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    @property
    def waits(self) -> bool:
        """Whether it has no answer, and no sender brings one."""
        return self.answer is None and not self.sent


@dataclass(frozen=True)
class QuestionRound:
    """Questions that were handed out together, and the token that their answers must come with."""

    token: str
    questions: tuple[Question, ...]


class PendingQuestions:
    """The questions of one job that wait for the person at its client."""

    def __init__(self, wait_s: float, client: str = "") -> None:
        """No questions yet.

        Args:
            wait_s: How long a question waits for its answer.
            client: Key of the client that asked for the job; empty where nothing tells it from others.
        """
        self.wait_s = wait_s
        self.client = client
        self._open: dict[str, Question] = {}
        self._senders: list[QuestionSender] = []
        self._changed = anyio.Event()
        self._refusal: Refused | None = None
        self._round: QuestionRound | None = None
        self._asked = 0

    @property
    def open_questions(self) -> tuple[Question, ...]:
        """The questions that could be handed out now."""
        return tuple(question for question in self._open.values() if question.waits)

    async def ready(self) -> None:
        """Returns when questions wait."""
        while not self.open_questions:
            await self._changed.wait()

    def next_round(self) -> QuestionRound:
        """All waiting questions; answers to those handed out before no longer count."""
        self._round = QuestionRound(secrets.token_urlsafe(24), self.open_questions)
        for question in self._round.questions:
            question.rounds += 1
        return self._round

    def take_answers(self, token: str, answers: Mapping[str, PersonAnswer]) -> None:
        """Takes the answers to the round of this token, once; whatever was not asked is dropped.

        Raises:
            UsageError: there is no such round, or its answers were taken already; nothing was changed.
        """
        current = self._round
        if current is None or not hmac.compare_digest(
            current.token.encode(), token.encode("utf-8", "replace")
        ):
            raise UsageError(
                "These answers do not match the current questions and were ignored.",
                hint="A request for input can be answered once, by the call that got it. Make the call again.",
            )
        self._round = None
        for question in current.questions:
            answer = answers.get(question.key)
            if answer is None and question.rounds >= MAX_ROUNDS_OF_ONE:
                answer = Refused("The person at the client left a question unanswered.")
            question.answer = answer
        self._wake()

    @contextmanager
    def attach_sender(self, sender: QuestionSender) -> Iterator[None]:
        """Sends every question that comes during the block, and those that wait, by this sender.

        A question that is under way when the block ends stays with it.
        """
        self._senders.append(sender)
        self._wake()
        try:
            yield
        finally:
            self._senders.remove(sender)

    async def ask_person(self, question: str) -> Decision:
        """Asks the person at the client for a decision.

        Raises:
            ModelError: nobody is asked or answers, or the answer is no decision.
        """
        answer = await self._answer_to(question)
        if not isinstance(answer, Decision):
            raise ModelError("The client's answer is not a decision.")
        return answer

    async def ask_form(self, text: str, fields: Sequence[FormField]) -> FilledForm | Decision:
        """Asks the person at the client to fill a form; gives a decision where it is put away.

        Raises:
            ModelError: nobody is asked or answers, or the answer is no form.
        """
        return await self._answer_to(text, tuple(fields))

    async def _answer_to(self, text: str, fields: tuple[FormField, ...] = ()) -> Decision | FilledForm:
        if self._refusal is not None:
            raise Refused(self._refusal.message)  # an exception of its own: several questions may end at once
        self._asked += 1
        question = Question(f"question-{self._asked}", text, fields)
        self._open[question.key] = question
        self._wake()
        try:
            with anyio.move_on_after(self.wait_s) as question.patience:
                while question.answer is None:
                    changed = self._changed
                    if self._senders:
                        question.sent = True
                        question.answer = await self._senders[-1](question)
                    else:
                        await changed.wait()
        finally:
            del self._open[question.key]
        late = Refused(f"The person at the client did not answer within {self.wait_s:g} s.")
        answer = question.answer or self._refusal or late
        if isinstance(answer, Refused):
            if self._refusal is None:  # it ends all questions, also those to come
                self._refusal = answer
                for other in self._open.values():
                    other.patience.cancel()
            raise Refused(answer.message)
        if isinstance(answer, ModelError):
            raise answer
        return answer

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
