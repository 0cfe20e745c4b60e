"""Pending questions of a job to the person at its client.

A question is sent at once where a call of the client can do so, or goes into a round with all others that wait.
One that is not answered in time ends the asking.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum

import anyio

from alita_mcp.errors import ModelError

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
    """Made of its text: the server that takes a job over asks it under the same key."""
    text: str
    fields: tuple[FormField, ...] = ()
    """Of the form that a person fills; none where a decision is wanted."""
    sent: bool = False
    rounds: int = 0
    patience: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    """Of whoever waits for the answer; cancelled when it is there."""


class PendingQuestions:
    """The questions of one job that wait for the person at its client."""

    publish: Callable[[Mapping[str, PersonAnswer]], Awaitable[None]] | None = None
    """Tells the other servers of a shared library the answers that came here, before they count."""

    def __init__(self, wait_s: float = WAIT_S, client: str = "") -> None:
        """No questions yet.

        Args:
            wait_s: How long a question waits for its answer.
            client: Key of the client that asked for the job; empty where nothing tells it from others.
        """
        self.wait_s = wait_s
        self.client = client
        self._asked: Counter[str] = Counter()
        self._open: dict[str, Question] = {}
        self._answers: dict[str, PersonAnswer] = {}
        self._senders: list[QuestionSender] = []
        self._changed = anyio.Event()
        self._refusal: Refused | None = None

    @property
    def unanswered(self) -> tuple[Question, ...]:
        """The open questions without an answer."""
        return tuple(each for each in self._open.values() if each.key not in self._answers)

    @property
    def open_questions(self) -> tuple[Question, ...]:
        """The questions that could be handed out now: no sender brings an answer."""
        return tuple(question for question in self.unanswered if not question.sent)

    async def ready(self) -> None:
        """Returns when questions wait."""
        while not self.open_questions:
            await self._changed.wait()

    def next_round(self) -> tuple[Question, ...]:
        """All waiting questions, for the client's next call to answer."""
        for question in self.open_questions:
            question.rounds += 1
        return self.open_questions

    async def take_answers(self, answers: Mapping[str, PersonAnswer]) -> None:
        """Takes what a call brings for the open questions; one that came back without an answer twice is refused."""
        unanswered = Refused("The person at the client left a question unanswered.")
        refused = {each.key: unanswered for each in self.open_questions if each.rounds >= MAX_ROUNDS_OF_ONE}
        await self.give_answers({**refused, **answers})

    async def give_answers(self, answers: Mapping[str, PersonAnswer]) -> None:
        """Answers open questions by their keys, here and where the job is worked on; whatever was not asked is dropped.

        Raises:
            LibraryError: another server asks, and the database is away.
        """
        known = {each.key: answers[each.key] for each in self.unanswered if each.key in answers}
        if known and self.publish is not None:
            await self.publish(known)
        self.hear_answers(known)

    def hear_answers(self, answers: Mapping[str, PersonAnswer]) -> None:
        """Takes in answers that were given here or to another server; the first to a question counts."""
        self._answers = {**answers, **self._answers}
        for key in self._open.keys() & answers.keys():
            self._open[key].patience.cancel()

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
        """Asks a question of a job on another server by the senders here."""
        with question.patience:
            await self._send_question(question)

    def begin_anew(self) -> None:
        """Forgets what another server asked, for this one asks it again; the answers still hold."""
        self.hear_questions(())
        self._asked.clear()

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
        self._asked[text] += 1
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        key = f"question-{digest[:16]}-{self._asked[text]}"
        if key not in self._answers:
            question = self._open[key] = Question(key, text, fields)
            self._wake()
            try:
                with anyio.move_on_after(self.wait_s) as question.patience:
                    await self._send_question(question)
            finally:
                del self._open[key]
        late = Refused(f"The person at the client did not answer within {self.wait_s:g} s.")
        answer = self._answers.get(key) or self._refusal or late
        if isinstance(answer, Refused):
            if self._refusal is None:  # it ends all questions, also those to come
                self._refusal = answer
                for other in self._open.values():
                    other.patience.cancel()
            raise Refused(answer.message)
        if isinstance(answer, ModelError):
            raise answer
        return answer

    async def _send_question(self, question: Question) -> None:
        """Sends a question as soon as there is a sender; its patience ends this when the answer is there."""
        while not self._senders:
            await self._changed.wait()
        question.sent = True
        await self.give_answers({question.key: await self._senders[-1](question)})

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
