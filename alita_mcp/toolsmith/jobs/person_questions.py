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
from typing import Protocol

import anyio

from alita_mcp.errors import ModelError, UsageError

WAIT_S = 300.0
"""How long the person at a client may take; the state of a round is sealed for longer."""
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


class QuestionStore(Protocol):
    """Where the servers of a shared library keep the rounds and answers of jobs, each by the job's id."""

    async def save_round(self, job_id: str, token: str) -> None:
        """Keeps the token of the round that counts now."""
        ...

    async def take_round(self, job_id: str, token: str) -> bool:
        """Whether this is the round that counts, once."""
        ...

    async def save_answers(self, job_id: str, answers: Mapping[str, tuple[str, PersonAnswer]]) -> None:
        """Keeps answers, each with the text of its question, for the server that works on the job."""
        ...


class PendingQuestions:
    """The questions of one job that wait for the person at its client."""

    store: tuple[QuestionStore, str] | None = None
    """With the id of the job; None: only this process knows it."""

    def __init__(self, wait_s: float = WAIT_S, client: str = "") -> None:
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
        self._forms: Mapping[str, FilledForm] = {}
        """What the person wrote to a server that is gone, by the text of the question."""

    @property
    def open_questions(self) -> tuple[Question, ...]:
        """The questions that could be handed out now."""
        return tuple(question for question in self._open.values() if question.waits)

    async def ready(self) -> None:
        """Returns when questions wait."""
        while not self.open_questions:
            await self._changed.wait()

    async def next_round(self) -> QuestionRound:
        """All waiting questions; answers to those handed out before no longer count."""
        asked = self._round = QuestionRound(secrets.token_urlsafe(24), self.open_questions)
        for question in asked.questions:
            question.rounds += 1
        if self.store is not None:
            store, job_id = self.store
            await store.save_round(job_id, asked.token)
        return asked

    async def take_answers(self, token: str, answers: Mapping[str, PersonAnswer]) -> None:
        """Takes the answers to the round of this token, once; whatever was not asked is dropped.

        Raises:
            UsageError: there is no such round, or its answers were taken already; nothing was changed.
        """
        if self.store is not None:
            store, job_id = self.store
            counts = await store.take_round(job_id, token)
        else:
            sent = token.encode("utf-8", "replace")
            counts = self._round is not None and hmac.compare_digest(self._round.token.encode(), sent)
        if not counts:
            raise UsageError(
                "These answers do not match the current questions and were ignored.",
                hint="A request for input can be answered once, by the call that got it. Make the call again.",
            )
        self._round = None
        unanswered = Refused("The person at the client left a question unanswered.")
        refused = {each.key: unanswered for each in self.open_questions if each.rounds >= MAX_ROUNDS_OF_ONE}
        await self.give_answers({**refused, **answers})

    async def give_answers(self, answers: Mapping[str, PersonAnswer]) -> None:
        """Answers open questions by their keys, here and where the job is worked on."""
        known = {key: (self._open[key].text, answer) for key, answer in answers.items() if key in self._open}
        if self.store is not None and known:
            store, job_id = self.store
            await store.save_answers(job_id, known)
        self.hear_answers({key: answer for key, (_, answer) in known.items()})

    def hear_answers(self, answers: Mapping[str, PersonAnswer]) -> None:
        """Takes in answers that were given here or to another server."""
        for key, answer in answers.items():
            if key in self._open:
                self._open[key].answer = self._open[key].answer or answer
        self._wake()

    def hear_questions(self, asked: Sequence[Question]) -> list[Question]:
        """Takes in what the job asks on another server now; returns the questions that are new."""
        keys = {question.key for question in asked}
        for key in self._open.keys() - keys:
            self._open.pop(key).patience.cancel()
        new = [question for question in asked if question.key not in self._open]
        self._open |= {question.key: question for question in new}
        self._wake()
        return new

    async def pass_on(self, question: Question) -> None:
        """Asks a question of a job on another server by the senders here, and passes the answer on."""
        with anyio.CancelScope() as question.patience:
            await self._wait_for_answer(question)
            if question.sent and question.answer is not None:
                await self.give_answers({question.key: question.answer})

    def begin_anew(self, forms: Mapping[str, FilledForm]) -> None:
        """Asks what another server asked before; questions of these texts are answered, for the forms were filled."""
        self.hear_questions([])
        self._forms = forms

    async def until_answered(self, questions: Sequence[Question]) -> None:
        """Returns when none of these questions is open any longer."""
        while any(self._open.get(each.key) is each and each.answer is None for each in questions):
            await self._changed.wait()

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
        if fields and text in self._forms:
            return self._forms[text]
        self._asked += 1
        question = Question(f"question-{self._asked}", text, fields)
        self._open[question.key] = question
        self._wake()
        try:
            with anyio.move_on_after(self.wait_s) as question.patience:
                await self._wait_for_answer(question)
        finally:
            del self._open[question.key]
            self._wake()
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

    async def _wait_for_answer(self, question: Question) -> None:
        while question.answer is None:
            changed = self._changed
            if self._senders:
                question.sent = True
                question.answer = await self._senders[-1](question)
            else:
                await changed.wait()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
