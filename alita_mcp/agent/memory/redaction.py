"""Redaction of secrets in episodes and facts before they are stored.

Secrets go by their values (the secrets file, keys of the environment) in every usual encoding, by their shape, and by
the name that stands before them. Long texts are cut and encoded bytes left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import Any

from alita_mcp.agent.interface import Episode, Fact, RecipeStep
from alita_mcp.library.private_text import KEYS, NAMED_SECRET
from alita_mcp.models.redaction import without_keys
from alita_mcp.sandbox.broker.redaction import REDACTED, SHORTEST, redact
from alita_mcp.settings import environment_keys
from alita_mcp.texts import clip

TASK_CHARACTERS, ANSWER_CHARACTERS, ARGUMENT_CHARACTERS, NEED_CHARACTERS = 4_000, 2_000, 2_000, 300
RUN_CHARACTERS = 30_000
"""Of the arguments of a run's steps together."""
MOST_STEPS, MOST_ITEMS, DEEPEST = 40, 50, 8
READ_CHARACTERS = 100_000
"""A longer text is data, not words; it is left out whole."""

_NAME = (
    r"(?i)(?:api[_ -]?key|secret|passw(?:or)?d|passphrase|credential|auth[_-]?key|access[_-]?key|private[_-]?key|"
    r"token|\bpin)\w{0,20}[\"']?\]?"
)
_PATTERNS = (
    re.compile(
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[A-Za-z0-9+/=\s\\]*+(?:-----END [A-Z0-9 ]{0,40}-----)?"
    ),
    re.compile(r"(?<=://)[^/\s@:\"']{1,200}:[^/\s@\"']{1,200}(?=@)"),
    *KEYS.values(),
    re.compile(r"(?i)(?:(?<=bearer )|(?<=basic ))[^\s\"',;]{8,}"),
    re.compile(rf"{_NAME}\s{{0,3}}[:=]\s{{0,3}}[rbuf]{{0,2}}([\"'])(?P<value>[^\"'\n]{{3,500}})\1"),
    re.compile(rf"{_NAME}\s{{0,3}}[:=]\s{{0,3}}[\"']?(?P<value>[^\s\"',;&)\]}}]{{3,500}})"),
    re.compile(
        rf"{_NAME}\s{{1,3}}(?:is|was)\s{{1,3}}[\"']?(?P<value>(?=\S*[\d_#$!%^&*])[^\s\"',;]{{4,500}})"
    ),
    re.compile(
        r"(?i)[?&](?:\w{0,20}key|sig\w{0,10}|auth\w{0,10}|session\w{0,10})=(?P<value>[^&\s\"']{6,2000})"
    ),
    re.compile(r"(?<![A-Za-z0-9])(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{32,}"),
)
_RUN_ID = re.compile(r"[0-9a-f]{32}")
"""Our own number of a run, which looks like a key."""
_ENCODED = re.compile(r"[A-Za-z0-9+/_=-]{200,}|(?:\\x[0-9a-fA-F]{2}){16,}")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")


class Redactor:
    """Removes secrets from texts and JSON."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """`secrets` are values that must not be kept, besides the keys of the environment."""
        self._secrets = {each for each in secrets if len(each) >= SHORTEST} | environment_keys()

    def text(self, text: str, most: int) -> str:
        """The text without secrets and control characters, of at most so many characters."""
        if len(text) > READ_CHARACTERS:
            return f"[{len(text)} characters left out]"
        text = without_keys(text.encode("utf-8", "replace").decode())
        text = redact(text, self._secrets) if self._secrets else text
        for pattern in _PATTERNS:
            text = pattern.sub(_replace_value, text)
        text = _ENCODED.sub(lambda found: f"[{len(found[0])} characters left out]", text)
        return clip(_CONTROL.sub(" ", text), most)

    def _values(self, values: Iterable[Any]) -> list[Any]:
        """JSON values without secrets; texts under names like `password` are secrets. The first ones get the budget."""
        left = RUN_CHARACTERS

        def clean(value: Any, depth: int, name: str = "") -> Any:
            nonlocal left
            if depth > DEEPEST or left <= 0:
                return "[left out]"
            left -= 1
            if isinstance(value, dict):
                some = islice(value.items(), MOST_ITEMS)
                return {self.text(str(key), 100): clean(part, depth + 1, str(key)) for key, part in some}
            if isinstance(value, list | tuple):
                return [clean(part, depth + 1, name) for part in islice(value, MOST_ITEMS)]
            if value is None or isinstance(value, bool):
                return value
            if isinstance(value, bytes | bytearray):
                return f"[{len(value)} bytes left out]"
            kept = REDACTED if NAMED_SECRET.search(name) and isinstance(value, str) else None
            kept = kept or self.text(str(value), min(ARGUMENT_CHARACTERS, left))
            left -= len(kept)
            return value if isinstance(value, int | float) and kept == str(value) else kept

        return [clean(value, 0) for value in values]

    def episode(self, episode: Episode) -> Episode:
        """The episode without secrets, bounded."""
        steps = episode.steps[:MOST_STEPS]
        arguments = self._values(step.arguments for step in steps)
        return episode.model_copy(
            update={
                "run": episode.run if _RUN_ID.fullmatch(episode.run) else self.text(episode.run, 100),
                "task": self.text(episode.task, TASK_CHARACTERS),
                "answer": self.text(episode.answer, ANSWER_CHARACTERS),
                "at": self.text(episode.at, 40),
                "tools_used": self._names(episode.tools_used),
                "tools_made": self._names(episode.tools_made),
                "failed": self._names(episode.failed),
                "steps": tuple(
                    RecipeStep(
                        tool=self.text(step.tool, 100),
                        need=self.text(step.need, NEED_CHARACTERS),
                        arguments=kept if isinstance(kept, dict) else {},
                    )
                    for step, kept in zip(steps, arguments, strict=True)
                ),
            }
        )

    def _names(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(self.text(name, 100) for name in islice(names, MOST_ITEMS))

    def fact(self, fact: Fact) -> Fact | None:
        """The fact, or None where it holds a secret, since a redacted fact would say something else."""
        source = fact.source.model_copy(
            update={
                "url": self.text(fact.source.url, 2_000),
                "title": self.text(fact.source.title, 300),
                "retrieved_at": self.text(fact.source.retrieved_at, 40),
            }
        )
        text, subject = self.text(fact.text, 1_000), self.text(fact.subject, 200)
        if REDACTED in text or REDACTED in subject or "[key]" in text or "[key]" in subject:
            return None
        return fact.model_copy(update={"text": text, "subject": subject, "source": source})


def _replace_value(found: re.Match[str]) -> str:
    value = found.groupdict().get("value")
    return REDACTED if value is None else found[0].replace(value, REDACTED)
