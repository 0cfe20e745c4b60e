"""Cache of models' replies by question: one small JSON file each, shared by all processes of a home.

What lies there is a guess about the past: a damaged, strange or missing file means that the model is asked, and a disk
that is full means that nothing is kept. The questions are not stored, only their digest.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio.to_thread
from pydantic import ValidationError

from alita_mcp.models.choices import Chosen, Role
from alita_mcp.models.interface import Completion, LanguageModel, Message, ToolSpec
from alita_mcp.settings import addresses_of_providers

FORMAT = 1
MAX_AGE_S = 30 * 86_400.0
LARGEST_SHARE = 16
"""No answer takes more than one part in so many of the cache."""
ROOM_AFTER = 0.9
"""How full the cache is after the least recently used answers have made room."""
LOOK_EVERY = 32
"""After so many answers kept, and at the first, the size of the whole is looked at."""

_log = logging.getLogger(__name__)


class ResponseCache:
    """Cache of models' replies in one folder, bounded in size and age."""

    def __init__(self, folder: Path, max_bytes: int, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._clock = clock
        self._kept = 0

    async def find(self, key: str) -> Completion | None:
        """The answer kept under a key, marked as cached; None when there is none that can be relied on."""
        return await anyio.to_thread.run_sync(self._find, key)

    async def keep(self, key: str, answer: Completion) -> None:
        """Keeps an answer, unless it is too large or the disk does not let us."""
        await anyio.to_thread.run_sync(self._keep, key, answer)

    def _find(self, key: str) -> Completion | None:
        place = self._place(key)
        try:
            stat = place.stat()
            if stat.st_size > self._max_bytes // LARGEST_SHARE:
                return None
            kept = json.loads(place.read_text(encoding="utf-8"))
            age = self._clock() - kept["kept_at"]
            if (
                kept["format"] != FORMAT
                or kept["mark"] != _mark(key, kept["answer"])
                or not 0 <= age <= MAX_AGE_S
            ):
                return None
            answer = Completion.model_validate({**kept["answer"], "cached": True})
            with suppress(OSError):
                os.utime(place)
        except (OSError, ValueError, KeyError, TypeError, RecursionError, ValidationError):
            return None
        return answer

    def _keep(self, key: str, answer: Completion) -> None:
        said = answer.model_dump(mode="json", exclude={"cached"})
        kept = {"format": FORMAT, "kept_at": self._clock(), "mark": _mark(key, said), "answer": said}
        content = json.dumps(kept, indent=1).encode()
        if len(content) > self._max_bytes // LARGEST_SHARE:
            return
        try:
            self._write(self._place(key), content)
            if self._kept % LOOK_EVERY == 0:
                self._make_room()
            self._kept += 1
        except OSError as failure:
            _log.info("An answer of a model is not kept: %s", failure)

    def _write(self, place: Path, content: bytes) -> None:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, aside = tempfile.mkstemp(dir=place.parent, suffix=".new")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            Path(aside).replace(place)
        except BaseException:
            Path(aside).unlink(missing_ok=True)
            raise

    def _make_room(self) -> None:
        """Drops what is too old, then the least recently used, and what crashed processes left."""
        found = []
        for place in self._folder.glob("*/*"):
            with suppress(OSError):
                found.append((place.stat().st_mtime, place.stat().st_size, place))
        found.sort(key=lambda one: one[0], reverse=True)
        total = sum(size for _, size, _ in found)
        room = self._max_bytes * ROOM_AFTER if total > self._max_bytes else self._max_bytes
        oldest, sum_so_far = time.time() - MAX_AGE_S, 0
        for used_at, size, place in found:
            sum_so_far += size
            if sum_so_far > room or used_at < oldest:
                with suppress(OSError):
                    place.unlink()

    def _place(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"


class CachedModel:
    """A model of one role whose answers are kept and given again to the same question."""

    def __init__(self, model: LanguageModel, role: Role, chosen: Chosen, cache: ResponseCache) -> None:
        self.name = model.name
        self._model = model
        self._cache = cache
        self._part_of_key = {
            "role": role,
            "chosen": chosen.model_dump(mode="json", exclude={"timeout_s", "setting"}),
            "addresses": addresses_of_providers() if chosen.base_url is None else (),
        }

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        schema: dict[str, Any] | None = None,
        tools: Sequence[ToolSpec] = (),
    ) -> Completion:
        """The kept answer to the same question, or the model's answer now; no half answers are kept."""
        options: dict[str, Any] = {
            "max_tokens": max_tokens,
            "temperature": temperature,
            "seed": seed,
            "schema": schema,
        }
        if tools:
            options["tools"] = [tool.model_dump() for tool in tools]
        key = _digest(
            {
                **self._part_of_key,
                **options,
                "messages": [one.model_dump(exclude_defaults=True) for one in messages],
            }
        )
        if (kept := await self._cache.find(key)) is not None:
            return kept
        answer = await self._model.complete(
            messages,
            max_tokens=max_tokens,
            temperature=temperature,
            seed=seed,
            schema=schema,
            tools=tools,
        )
        if (answer.text or answer.calls) and not answer.truncated:
            await self._cache.keep(key, answer)
        return answer


def _mark(key: str, answer: Any) -> str:
    """Ties an answer to its question, so that a flipped bit or a file that was moved is no hit."""
    return _digest([key, answer])


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
