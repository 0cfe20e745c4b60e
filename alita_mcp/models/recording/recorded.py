"""Recorder and replayer of a task's exchanges with models: each question and its reply is one readable JSON file."""

from __future__ import annotations

import hashlib
import json
import logging
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from operator import not_
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio.to_thread
from pydantic import BeforeValidator, Field, PlainSerializer, ValidationError

from alita_mcp.errors import ModelError, UsageError
from alita_mcp.models.interface import (
    Completion,
    LanguageModel,
    Message,
    ToolCall,
    ToolsRefused,
    tools_refused,
)
from alita_mcp.values import Value

ANY_ROLE = "any"
"""For questions that no role of a synthesis asks: the agent's, a tool's."""
Clean = Callable[[str], str]
Lines = Annotated[
    str,
    BeforeValidator(lambda said: said if isinstance(said, str) else "\n".join(said)),
    PlainSerializer(lambda text: text.split("\n"), when_used="json"),
]
"""A text that a file has line by line."""

_log = logging.getLogger(__name__)


class RecordedMessage(Message):
    """One message of a conversation; a plain one has no word of tools in its file and digest."""

    content: Lines
    calls: tuple[ToolCall, ...] = Field(default=(), exclude_if=not_)
    call_id: str = Field(default="", exclude_if=not_)


class RecordedQuestion(Value):
    """Question of a role; which model answered does not belong to it: a replay needs none."""

    role: str
    seed: int | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    answer_schema: dict[str, Any] | None = None
    messages: tuple[RecordedMessage, ...]

    @property
    def digest(self) -> str:
        """Digest that two questions share when they have the same answer: the role, the seed and every word."""
        said = self.model_dump(mode="json", include={"role", "seed", "messages"})
        text = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def cleaned(self, clean: Clean) -> RecordedQuestion:
        """The question with its texts changed."""
        messages = (
            each.model_copy(
                update={"content": clean(each.content), "calls": _cleaned_calls(each.calls, clean)}
            )
            for each in self.messages
        )
        return self.model_copy(update={"messages": tuple(messages)})


class RecordedReply(Completion):
    """Reply of a model."""

    text: Lines
    calls: tuple[ToolCall, ...] = Field(default=(), exclude_if=not_)
    refused_tools: bool = Field(default=False, exclude_if=not_)
    """The model takes no tools; there is no text."""


class Exchange(Value):
    """Question and reply, the content of one file."""

    format: Literal[1] = 1
    asked: RecordedQuestion
    answered: RecordedReply


class Recorder:
    """Recorder that writes every answer of every role to a folder, as it comes; what cannot be written is lost."""

    def __init__(self, folder: Path, clean: Clean) -> None:
        """Makes the folder; `clean` takes out of texts what may not be written."""
        self._folder = folder
        self._clean = clean
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)

    def between(self, role: str, model: LanguageModel) -> LanguageModel:
        """The model, with its answers to a role written down."""
        return _RecordingModel(role, model, self)

    async def record(self, asked: RecordedQuestion, answered: RecordedReply) -> None:
        """Writes a question and its reply."""
        words = {"text": self._clean(answered.text), "calls": _cleaned_calls(answered.calls, self._clean)}
        exchange = Exchange(asked=asked.cleaned(self._clean), answered=answered.model_copy(update=words))
        try:
            await anyio.to_thread.run_sync(self._write, exchange)
        except OSError as failure:
            _log.info("An answer of a model is not recorded: %s", failure)

    def _write(self, exchange: Exchange) -> None:
        """Files are numbered in the order of the answers, of which several may come at once."""
        content = json.dumps(exchange.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"
        number = len(list(self._folder.glob("*.json")))
        while True:
            number += 1
            place = self._folder / f"{number:04}-{exchange.asked.role}-{exchange.asked.digest}.json"
            with suppress(FileExistsError), place.open("x", encoding="utf-8") as file:
                file.write(content)
                return


class Replayer:
    """Replayer that answers every role from a folder alone, each recorded answer once."""

    def __init__(self, folder: Path, alike: Clean) -> None:
        """Reads the folder.

        Args:
            folder: Where the files are.
            alike: Takes out of questions what may differ from the recorded ones.

        Raises:
            UsageError: it holds no exchanges, or one that cannot be read.
        """
        self._folder = folder
        self._alike = alike
        self._left: dict[str, deque[RecordedReply]] = defaultdict(deque)
        for place in sorted(folder.glob("*.json")):
            exchange = _read_exchange(place)
            self._left[exchange.asked.cleaned(alike).digest].append(exchange.answered)
        if not self._left:
            raise UsageError(f"There are no recorded exchanges in {str(folder)!r}.")

    def model(self, role: str) -> LanguageModel:
        """A model that has its answers to a role from the folder."""
        return _ReplayedModel(role, self)

    def answer(self, asked: RecordedQuestion) -> Completion:
        """The next answer recorded for a question.

        Raises:
            ToolsRefused: so it was then.
            ModelError: there is none.
        """
        digest = asked.cleaned(self._alike).digest
        if left := self._left.get(digest):
            answered = left.popleft()
            if answered.refused_tools:
                raise tools_refused(answered.model)
            return Completion(**answered.model_dump(exclude={"refused_tools"}))
        known = "It was asked more often than it was recorded." if digest in self._left else ""
        raise ModelError(
            f"No answer to this question of the {asked.role} is recorded in {str(self._folder)!r}. {known}",
            hint="Solve the task anew, without --replay-run.",
        )


class _RecordingModel:
    def __init__(self, role: str, model: LanguageModel, recorder: Recorder) -> None:
        self.name = model.name
        self._role = role
        self._model = model
        self._recorder = recorder

    async def complete(self, messages: Sequence[Message], **options: Any) -> Completion:
        asked = _question(self._role, messages, options)
        try:
            answer = await self._model.complete(messages, **options)
        except ToolsRefused:
            await self._recorder.record(asked, RecordedReply(text="", model="", refused_tools=True))
            raise
        await self._recorder.record(asked, RecordedReply(**answer.model_dump()))
        return answer


class _ReplayedModel:
    name = "replayed"

    def __init__(self, role: str, replayer: Replayer) -> None:
        self._role = role
        self._replayer = replayer

    async def complete(self, messages: Sequence[Message], **options: Any) -> Completion:
        return self._replayer.answer(_question(self._role, messages, options))


def _question(role: str, messages: Sequence[Message], options: dict[str, Any]) -> RecordedQuestion:
    return RecordedQuestion(
        role=role,
        messages=tuple(RecordedMessage(**message.model_dump()) for message in messages),
        answer_schema=options.get("schema"),
        **{name: options.get(name) for name in ("seed", "temperature", "max_tokens")},
    )


def _read_exchange(place: Path) -> Exchange:
    """The content of a file.

    Raises:
        UsageError: it cannot be read; the message names it.
    """
    try:
        return Exchange.model_validate_json(place.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as unreadable:
        raise UsageError(f"{place} cannot be read: {unreadable}.") from unreadable
    except ValidationError as invalid:
        first = invalid.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise UsageError(f"{place} is no recorded exchange: {where}: {first['msg']}.") from invalid


def _cleaned_calls(calls: Sequence[ToolCall], clean: Clean) -> tuple[ToolCall, ...]:
    return tuple(
        call.model_copy(
            update={"arguments": _cleaned(call.arguments, clean), "unreadable": clean(call.unreadable)}
        )
        for call in calls
    )


def _cleaned(value: Any, clean: Clean) -> Any:
    match value:
        case str():
            return clean(value)
        case list():
            return [_cleaned(each, clean) for each in value]
        case dict():
            return {clean(name): _cleaned(each, clean) for name, each in value.items()}
        case _:
            return value
