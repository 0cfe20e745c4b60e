"""Recorder, replayer and cache of replies of models; one form of reply on the disk serves all three."""

from __future__ import annotations

import difflib
import hashlib
import json
import logging
from collections import defaultdict, deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import anyio.to_thread

from alita_mcp.cache_folder import CacheFolder
from alita_mcp.errors import ModelError, UsageError
from alita_mcp.models.choices import Chosen, Role
from alita_mcp.models.interface import Completion, LanguageModel, Message, ToolsRefused, tools_refused
from alita_mcp.models.recording.exchanges import (
    Clean,
    Exchange,
    RecordedQuestion,
    RecordedReply,
    question,
    read_exchanges,
    reply,
    write_exchange,
)
from alita_mcp.models.recording.redaction import without_keys
from alita_mcp.settings import addresses_of_providers

ANY_ROLE = "any"
"""For questions that no role of a synthesis asks: the agent's, a tool's."""
SHOWN_LINES = 16
SHOWN_CHARACTERS = 160
"""Of one line of a difference."""


_log = logging.getLogger(__name__)


class Exchanges(Protocol):
    """Interface of recorders and replayers, which stand between a role and its model."""

    needs_model: bool

    def between(self, role: str, model: LanguageModel | None) -> LanguageModel:
        """The model that the role is to ask instead; `model` is None where none is configured."""
        ...


class Recorder:
    """Recorder that writes every answer of every role to a folder, as it comes."""

    needs_model = True

    def __init__(self, folder: Path, *, clean: Clean = without_keys, must: bool = True) -> None:
        """Makes the folder.

        Args:
            folder: Where the files go.
            clean: Takes out of texts what may not be written.
            must: Whether an answer that cannot be written fails the question, as it must where the files are the aim.

        Raises:
            UsageError: it cannot be made.
        """
        self._folder = folder
        self._clean = clean
        self._must = must
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as failure:
            if not must:
                return
            raise UsageError(f"Nothing can be recorded in {str(folder)!r}: {failure}.") from failure

    def between(self, role: str, model: LanguageModel | None) -> LanguageModel:
        """The model, with its answers written down."""
        if model is None:
            raise UsageError("Recording needs a model.", hint="Set ALITA_MODEL, as in ollama/qwen3.")
        return _RecordingModel(role, model, self)

    async def keep(
        self, role: str, messages: Sequence[Message], options: dict[str, Any], answer: Completion | None
    ) -> None:
        """Writes a question and its answer; None: the model takes no tools.

        Raises:
            ModelError: they cannot be written, and must be.
        """
        refused = RecordedReply(text=(), model="", refused_tools=True)
        answered = reply(answer, self._clean) if answer else refused
        exchange = Exchange(asked=question(role, messages, options, self._clean), answered=answered)
        try:
            await anyio.to_thread.run_sync(write_exchange, self._folder, exchange)
        except OSError as failure:
            if self._must:
                raise ModelError(
                    f"The answer cannot be recorded in {str(self._folder)!r}: {failure}."
                ) from failure
            _log.info("An answer of a model is not recorded: %s", failure)


class Replayer:
    """Replayer that answers every role from a folder alone, each recorded answer once."""

    needs_model = False

    def __init__(self, folder: Path, *, alike: Clean | None = None) -> None:
        """Reads the folder.

        Args:
            folder: Where the files are.
            alike: Takes out of questions what may differ from the recorded ones.

        Raises:
            UsageError: it holds no exchanges, or one that cannot be read.
        """
        self._folder = folder
        self._alike = alike
        self._all = read_exchanges(folder)
        self._left: dict[str, deque[Exchange]] = defaultdict(deque)
        for _, exchange in self._all:
            self._left[self._digest(exchange.asked)].append(exchange)

    def between(self, role: str, model: LanguageModel | None) -> LanguageModel:  # noqa: ARG002 - none is asked
        """A model that has its answers from the folder."""
        return _ReplayedModel(role, self)

    def answer(self, asked: RecordedQuestion) -> Completion:
        """The next answer recorded for a question.

        Raises:
            ToolsRefused: so it was then.
            ModelError: there is none; shows the nearest question that was recorded, and what differs.
        """
        left = self._left.get(self._digest(asked))
        if left:
            answered = left.popleft().answered
            if answered.refused_tools:
                raise tools_refused(answered.model)
            return answered.completion
        raise ModelError(
            f"No answer to this question of the {asked.role} is recorded in {str(self._folder)!r}. "
            f"{self._difference(asked)}",
            hint="Record again with --record DIR.",
        )

    def _digest(self, asked: RecordedQuestion) -> str:
        return (asked.in_other_words(self._alike) if self._alike else asked).digest

    def _difference(self, asked: RecordedQuestion) -> str:
        digest = self._digest(asked)
        again = sum(self._digest(exchange.asked) == digest for _, exchange in self._all)
        if again:
            return f"It was asked more often than it was recorded: {again} times."
        of_role = [(place, one.asked) for place, one in self._all if one.asked.role == asked.role]
        if not of_role:
            roles = ", ".join(sorted({one.asked.role for _, one in self._all}))
            return f"Only questions of these roles are recorded: {roles}."
        place, nearest = max(of_role, key=lambda one: _likeness(one[1].lines, asked.lines))
        shown = list(difflib.unified_diff(nearest.lines, asked.lines, "recorded", "asked", n=0, lineterm=""))
        cut = [line[:SHOWN_CHARACTERS] for line in shown[2 : 2 + SHOWN_LINES]]
        more = [f"… {len(shown) - 2 - SHOWN_LINES} more lines"] if len(shown) - 2 > SHOWN_LINES else []
        return "\n".join([f"The nearest is {place.name}; what differs:", *cut, *more])


class CachedModel:
    """Model of one role whose replies are kept, as a recording has them, and given again to the same question.

    The questions are not stored, only their digest, of everything that decides the answer.
    """

    def __init__(
        self, model: LanguageModel, role: Role, chosen: Chosen, replies: CacheFolder[RecordedReply]
    ) -> None:
        self.name = model.name
        self._model = model
        self._replies = replies
        told = chosen.model_dump(mode="json", exclude={"timeout_s", "setting"})
        self._asked = [role, told, addresses_of_providers() if chosen.base_url is None else ()]

    async def complete(self, messages: Sequence[Message], **options: Any) -> Completion:
        """The kept answer to the same question, or the model's answer now; no half answers are kept."""
        told = {**options, "tools": [tool.model_dump() for tool in options.get("tools", ())]}
        said = {name: value for name, value in told.items() if value not in (None, [])}
        asked = [*self._asked, said, [one.model_dump(exclude_defaults=True) for one in messages]]
        key = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
        if (kept := await self._replies.find(key)) is not None:
            return kept.completion.model_copy(update={"cached": True})
        answer = await self._model.complete(messages, **options)
        if (answer.text or answer.calls) and not answer.truncated:
            await self._replies.keep(key, reply(answer, str))
        return answer


class _RecordingModel:
    def __init__(self, role: str, model: LanguageModel, recorder: Recorder) -> None:
        self.name = model.name
        self._role = role
        self._model = model
        self._recorder = recorder

    async def complete(self, messages: Sequence[Message], **options: Any) -> Completion:
        try:
            answer = await self._model.complete(messages, **options)
        except ToolsRefused:
            await self._recorder.keep(self._role, messages, options, None)
            raise
        await self._recorder.keep(self._role, messages, options, answer)
        return answer


class _ReplayedModel:
    name = "replayed"

    def __init__(self, role: str, replayer: Replayer) -> None:
        self._role = role
        self._replayer = replayer

    async def complete(self, messages: Sequence[Message], **options: Any) -> Completion:
        return self._replayer.answer(question(self._role, messages, options))


def _likeness(recorded: list[str], asked: list[str]) -> float:
    return difflib.SequenceMatcher(None, recorded, asked, autojunk=False).ratio()
