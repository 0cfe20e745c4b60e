"""Feed of what happens in one process, for people who watch: searches, calls, syntheses, runs of code and tasks."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

import anyio
from pydantic import AwareDatetime, ConfigDict, Field

from alita_mcp.errors import AlitaError, InvalidArguments, ToolNotFound, ToolUnavailable
from alita_mcp.library.journal.calls import words_of_query
from alita_mcp.library.private_text import without_secrets
from alita_mcp.owners import USER, ClientIdentity
from alita_mcp.progress import ReportStage, StageOutcome, ignore_stage
from alita_mcp.texts import clip, one_line
from alita_mcp.unseen import spell_hidden
from alita_mcp.values import Value

Kind = Literal["search", "call", "synthesis", "code", "task"]
KEPT = 200
"""Pieces of work that a feed remembers, and that wait for one subscriber at most."""
MAX_STEPS = 40
"""So many steps of one piece of work are kept, the last ones."""
MAX_TEXT = 300
MAX_NAME = 100
MAX_DETAIL = 1_000
COMMAND_LINE = "the command line"
LOST = "lost"
"""Outcome of work whose server ended before it could tell."""
_OK = ("ok", "match", "created", "exists", "solved")
_WARN = (
    "none", "possible", "needs_approval", "needs_code", "cancelled", "refused",
    "unsolved", "stopped", LOST,
)  # fmt: skip
_SAID = ("activity", "client", "seconds", "status")


class Step(NamedTuple):
    """One step of a piece of work: a gate of a synthesis, a step of a task."""

    stage: str
    outcome: str = ""
    """`passed`, `weak` or `failed`; empty while it runs, and for steps that decide nothing."""
    text: str = ""
    """What it found."""


class Activity(Value):
    """One piece of work as it stands. Each event carries all of it, so that whoever misses one has lost nothing."""

    model_config = ConfigDict(extra="ignore")  # a server of another release may say more

    id: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    kind: Kind
    outcome: str = ""
    """How it ended; empty before."""
    client: str = ""
    owner: str = USER
    tool: str = ""
    text: str = ""
    """A line about it: the words of a search, what is made, why it was rejected."""
    time: AwareDatetime
    """When this event happened."""
    seconds: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Since it began."""
    detail: dict[str, str] = Field(default_factory=dict)
    steps: tuple[Step, ...] = ()

    @property
    def tone(self) -> Literal["busy", "ok", "warn", "bad"]:
        """How it stands, in a word for its colour."""
        if not self.outcome:
            return "busy"
        return "ok" if self.outcome in _OK else "warn" if self.outcome in _WARN else "bad"

    def describe(self) -> Activity:
        """Itself."""
        return self


class Subscription:
    """What one listener has not read yet: of each piece of work the newest event, and of too many the newest."""

    def __init__(self) -> None:
        self._waiting: dict[str, Activity | Work] = {}
        self._arrived = anyio.Event()
        self._dropped = 0

    def add(self, event: Activity | Work) -> None:
        """Keeps an event until it is read; never waits."""
        self._waiting.pop(event.id, None)
        self._waiting[event.id] = event
        if len(self._waiting) > KEPT:
            del self._waiting[next(iter(self._waiting))]
            self._dropped += 1
        self._arrived.set()

    async def read(self) -> tuple[list[Activity], int]:
        """All that waits, the oldest first, once there is something; and how many were dropped unread."""
        await self._arrived.wait()
        self._arrived = anyio.Event()
        events, self._waiting = self._waiting, {}
        dropped, self._dropped = self._dropped, 0
        return [event.describe() for event in events.values()], dropped


class ActivityFeed:
    """Passes events on to whoever listens, on the event loop; publishing neither waits nor fails."""

    def __init__(self) -> None:
        self._recent: dict[str, Activity | Work] = {}
        self._listeners: list[Callable[[Activity | Work], None]] = []
        self.surround: Callable[[Work], AbstractContextManager[object]] = nullcontext
        """What is entered around each piece of work."""

    def publish(self, event: Activity | Work) -> None:
        """Tells all listeners, and remembers the piece of work for those to come."""
        self._recent.pop(event.id, None)
        self._recent[event.id] = event
        if len(self._recent) > KEPT:
            ended = (each.id for each in self._recent.values() if each.outcome)
            del self._recent[next(ended, next(iter(self._recent)))]
        for listener in self._listeners:
            listener(event)

    @property
    def recent(self) -> list[Activity]:
        """The pieces of work that are under way or ended lately, those with the newest events last."""
        return [event.describe() for event in self._recent.values()]

    @contextmanager
    def tell(self, listener: Callable[[Activity | Work], None]) -> Iterator[None]:
        """Tells a listener, such as `Subscription.add`, of all events from here on, and first what is remembered."""
        for event in self._recent.values():
            listener(event)
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    @contextmanager
    def follow(self, kind: Kind, identity: ClientIdentity, **more: Any) -> Iterator[Work]:
        """Publishes that work begins, and in the end how it ended, whatever ends it; `more` are fields of `Work`."""
        self.publish(work := Work(self, kind, identity, **more))
        with self.surround(work):
            try:
                yield work
            except AlitaError as failure:
                is_refused = isinstance(failure, ToolNotFound | ToolUnavailable | InvalidArguments)
                work.end("refused" if is_refused else "failed", text=type(failure).__name__)
                raise
            except anyio.get_cancelled_exc_class():
                work.end("cancelled")
                raise
            finally:
                if not work.outcome:
                    work.end("failed")


@dataclass(eq=False)
class Work:
    """One piece of work that goes on; the `ReportStage` of its stages. What people see is made when it is read."""

    feed: ActivityFeed
    kind: Kind
    identity: ClientIdentity
    tool: str = ""
    text: str = ""
    query: str = ""
    """What a client asks for, shown in place of a text unless it looks private."""
    on_stage: ReportStage = ignore_stage
    """Hears each stage too."""
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    """The journal's line about it names it too, so that nobody shows it twice."""
    outcome: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    began: float = field(default_factory=time.time)
    changed: float = field(default_factory=time.time)

    async def __call__(self, stage: str) -> None:
        """A stage begins, or says more: `environment: …`."""
        name, _, more = stage.partition(": ")
        is_known = bool(self.steps) and self.steps[-1][:2] == (name, "")
        self._put(len(self.steps) - is_known, Step(name, text=more))
        await self.on_stage(stage)

    def end_stage(self, stage: str, outcome: StageOutcome, text: str = "") -> None:
        """A stage ended; without its beginning it is a step of its own."""
        begun = (place for place, step in enumerate(self.steps) if step[:2] == (stage, ""))
        self._put(next(begun, len(self.steps)), Step(stage, outcome, text))

    def _put(self, place: int, step: Step) -> None:
        self.steps[place : place + 1] = [step]
        del self.steps[:-MAX_STEPS]
        self.changed = time.time()
        self.feed.publish(self)

    def end(
        self, outcome: str, *, tool: str = "", text: str = "", detail: Mapping[str, Any] | None = None
    ) -> None:
        """The work ended; only the first word on that counts."""
        if not self.outcome:
            self.outcome, self.detail = outcome, detail or {}
            self.tool, self.text = tool or self.tool, text or self.text
            self.changed = time.time()
            self.feed.publish(self)

    def describe(self) -> Activity:
        """The work as it stands; nothing that a client says can fail that, so it is not validated."""
        return Activity.model_construct(
            id=self.id,
            kind=self.kind,
            outcome=self.outcome,
            client=show_text(self.identity.client, MAX_NAME) or COMMAND_LINE,
            owner=self.identity.owner,
            tool=show_text(self.tool, MAX_NAME),
            text=show_text(self.text or words_of_query(self.query)),
            time=datetime.fromtimestamp(self.changed, UTC),
            seconds=round(max(0.0, self.changed - self.began), 3),
            detail=show_detail(self.detail),
            steps=tuple(
                Step(show_text(stage, MAX_NAME), outcome, show_text(text))
                for stage, outcome, text in self.steps
            ),
        )


def show_detail(detail: Mapping[str, Any]) -> dict[str, str]:
    """Fields as texts of bounded length, without keys and hidden characters; what other fields say is left out."""
    texts = {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        for name, value in detail.items()
        if value not in (None, "", (), [], {}) and name not in _SAID
    }
    return {name: spell_hidden(without_secrets(clip(text, MAX_DETAIL))) for name, text in texts.items()}


def show_text(text: str, limit: int = MAX_TEXT) -> str:
    """One line of bounded length, without keys and hidden characters."""
    return spell_hidden(without_secrets(one_line(text[: 4 * limit], limit))) if text else ""
