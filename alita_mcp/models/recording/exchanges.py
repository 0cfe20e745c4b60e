"""Files of recorded exchanges: one question to a model and its reply as readable JSON, texts as arrays of lines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from operator import not_
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from alita_mcp.errors import UsageError
from alita_mcp.models.interface import Completion, Message, ToolCall
from alita_mcp.models.recording.redaction import without_keys
from alita_mcp.values import Value

FORMAT = 1
Clean = Callable[[str], str]
MAX_FILE_BYTES = 16 << 20


class RecordedMessage(Value):
    """One message of a conversation, line by line."""

    role: str
    content: tuple[str, ...]
    # without tools, files and digests are as they were before there were any
    calls: tuple[ToolCall, ...] = Field(default=(), exclude_if=not_)
    call_id: str = Field(default="", exclude_if=not_)


class RecordedQuestion(Value):
    """Recorded question of a role; which model answered does not belong to it: a replay needs none."""

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

    def in_other_words(self, clean: Clean) -> RecordedQuestion:
        """The question with its texts changed."""
        changed = (
            one.model_copy(
                update={"content": _lines("\n".join(one.content), clean), "calls": _calls(one.calls, clean)}
            )
            for one in self.messages
        )
        return self.model_copy(update={"messages": tuple(changed)})

    @property
    def lines(self) -> list[str]:
        """The question as text, to be compared with another."""
        said = [f"seed: {self.seed}"]
        for message in self.messages:
            said += [f"[{message.role}]", *message.content]
        return said


class RecordedReply(Value):
    """Recorded reply of a model, with its cost."""

    text: tuple[str, ...]
    model: str
    calls: tuple[ToolCall, ...] = Field(default=(), exclude_if=not_)
    prompt_tokens: int = Field(default=0, ge=0)
    completion_tokens: int = Field(default=0, ge=0)
    cost_usd: float | None = None
    truncated: bool = False
    refused_tools: bool = Field(default=False, exclude_if=not_)
    """The model takes no tools; there is no text."""

    @property
    def completion(self) -> Completion:
        """The reply as a completion."""
        return Completion(
            text="\n".join(self.text),
            calls=self.calls,
            **self.model_dump(exclude={"text", "calls", "refused_tools"}),
        )


class Exchange(Value):
    """Question and reply, the content of one file."""

    format: int = Field(default=FORMAT, ge=FORMAT, le=FORMAT)
    asked: RecordedQuestion
    answered: RecordedReply


def question(
    role: str, messages: Sequence[Message], options: dict[str, Any], clean: Clean = without_keys
) -> RecordedQuestion:
    """A question as it is written down; keys that a text happens to hold are left out."""
    said = {name: options.get(name) for name in ("seed", "temperature", "max_tokens")}
    recorded = [one.model_dump() | {"content": (one.content,)} for one in messages]
    asked = RecordedQuestion.model_validate(
        {"role": role, "messages": recorded, "answer_schema": options.get("schema"), **said}
    )
    return asked.in_other_words(clean)


def reply(answer: Completion, clean: Clean = without_keys) -> RecordedReply:
    """An answer as it is written down."""
    said = answer.model_dump(exclude={"text", "cached", "calls"})
    return RecordedReply(text=_lines(answer.text, clean), calls=_calls(answer.calls, clean), **said)


def write_exchange(folder: Path, exchange: Exchange) -> Path:
    """Writes a new file, numbered in the order of the answers.

    Raises:
        OSError: it cannot be written.
    """
    content = json.dumps(exchange.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"
    number = len(list(folder.glob("*.json")))
    while True:
        number += 1
        place = folder / f"{number:04}-{exchange.asked.role}-{exchange.asked.digest}.json"
        with suppress(FileExistsError), place.open("x", encoding="utf-8") as file:
            file.write(content)
            return place


def read_exchanges(folder: Path) -> list[tuple[Path, Exchange]]:
    """All files of a folder in their order.

    Raises:
        UsageError: there are none, or one cannot be read; the message names it.
    """
    places = sorted(folder.glob("*.json")) if folder.is_dir() else []
    if not places:
        raise UsageError(
            f"There are no recorded exchanges in {str(folder)!r}.", hint="Make some with --record DIR."
        )
    return [(place, _read(place)) for place in places]


def _read(place: Path) -> Exchange:
    try:
        if place.stat().st_size > MAX_FILE_BYTES:
            raise UsageError(f"{place} is larger than {MAX_FILE_BYTES >> 20} MB.")
        return Exchange.model_validate_json(place.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as unreadable:
        raise UsageError(f"{place} cannot be read: {unreadable}.") from unreadable
    except ValidationError as invalid:
        first = invalid.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise UsageError(f"{place} is no recorded exchange: {where}: {first['msg']}.") from invalid


def _calls(calls: Sequence[ToolCall], clean: Clean) -> tuple[ToolCall, ...]:
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


def _lines(text: str, clean: Clean) -> tuple[str, ...]:
    return tuple(clean(text).split("\n"))
