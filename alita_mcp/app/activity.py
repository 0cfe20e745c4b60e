"""Feed of what happens in one process, for people who watch: searches, calls, syntheses, runs of code and tasks."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Literal

import anyio
from pydantic import ConfigDict, Field, field_validator

from alita_mcp.errors import AlitaError
from alita_mcp.library.clock import now
from alita_mcp.library.private_text import without_secrets
from alita_mcp.owners import ClientIdentity
from alita_mcp.progress import ReportStage, StageOutcome
from alita_mcp.texts import clip, one_line
from alita_mcp.unseen import spell_hidden
from alita_mcp.values import Value

Kind = Literal["search", "call", "synthesis", "code", "task", "change"]
"""`change`: what a person or the policy decided about a tool; only the journal tells of it."""
Phase = Literal["began", "step", "ended"]
Tone = Literal["busy", "ok", "warn", "bad"]

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
    "none", "possible", "needs_approval", "needs_code", "cancelled", "refused", "unsolved", "stopped", LOST,
)  # fmt: skip


_SAID = ("activity", "client", "seconds", "status")
_COMPARED = ("expected", "got")


class Step(Value):
    """One step of a piece of work: a gate of a synthesis, a step of a task."""

    model_config = ConfigDict(extra="ignore")  # a server of another release may say more

    stage: str
    outcome: str = ""
    """`passed`, `weak` or `failed`; empty while it runs, and for steps that decide nothing."""
    text: str = ""
    """What it found."""


class Activity(Value):
    """One piece of work as it stands. Each event carries all of it, so that whoever misses one has lost nothing."""

    model_config = ConfigDict(extra="ignore")  # as Step

    id: str = Field(pattern=r"^[\w-]{1,64}$")
    kind: Kind
    phase: Phase
    outcome: str = ""
    """How it ended; empty before."""
    client: str = ""
    tool: str = ""
    text: str = ""
    """A line about it: the words of a search, what is made, why it was rejected."""
    time: str
    """When this event happened: ISO 8601, UTC."""
    seconds: float = 0.0
    """Since it began."""
    detail: dict[str, str] = Field(default_factory=dict)
    steps: tuple[Step, ...] = ()

    @field_validator("time")
    @classmethod
    def _check_time(cls, time: str) -> str:
        if datetime.fromisoformat(time).tzinfo is None:
            raise ValueError("without a time zone")
        return time

    @property
    def at(self) -> datetime:
        """When this event happened."""
        return datetime.fromisoformat(self.time)

    @property
    def tone(self) -> Tone:
        """How it stands, in a word for its colour."""
        if self.phase != "ended":
            return "busy"
        return "ok" if self.outcome in _OK else "warn" if self.outcome in _WARN else "bad"


class Subscription:
    """What one listener has not read yet: of each piece of work the newest event, and of too many the newest."""

    def __init__(self) -> None:
        self._waiting: dict[str, Activity] = {}
        self._arrived = anyio.Event()
        self.dropped = 0
        """Pieces of work that were dropped unread since anybody asked."""

    def add(self, activity: Activity) -> None:
        """Keeps an event until it is read; never waits."""
        self._waiting.pop(activity.id, None)
        self._waiting[activity.id] = activity
        if len(self._waiting) > KEPT:
            del self._waiting[next(iter(self._waiting))]
            self.dropped += 1
        self._arrived.set()

    def drop(self, count: int) -> None:
        """Counts what was dropped on the way here."""
        self.dropped += count
        self._arrived.set()

    def take_dropped(self) -> int:
        """How many pieces of work were dropped unread since the last time."""
        dropped, self.dropped = self.dropped, 0
        return dropped

    async def read(self) -> list[Activity]:
        """All that waits, the oldest first; waits until there is something, or something was dropped."""
        await self._arrived.wait()
        self._arrived = anyio.Event()
        events, self._waiting = list(self._waiting.values()), {}
        return events


class ActivityFeed:
    """Passes events on to whoever listens, on the event loop; publishing neither waits nor fails."""

    def __init__(self) -> None:
        self._recent: dict[str, Activity] = {}
        self._subscriptions: list[Subscription] = []

    def publish(self, activity: Activity) -> None:
        """Tells all listeners, and remembers it for those to come; what has ended stays as it is."""
        known = self._recent.get(activity.id)
        if known is not None and known.phase == "ended" and known.outcome != LOST:
            return
        self._recent.pop(activity.id, None)
        self._recent[activity.id] = activity
        if len(self._recent) > KEPT:
            ended = (each.id for each in self._recent.values() if each.phase == "ended")
            del self._recent[next(ended, next(iter(self._recent)))]
        for subscription in self._subscriptions:
            subscription.add(activity)

    def drop(self, count: int) -> None:
        """Tells all listeners that so many pieces of work were dropped on the way here."""
        for subscription in self._subscriptions:
            subscription.drop(count)

    @property
    def recent(self) -> list[Activity]:
        """The pieces of work that are under way or ended lately, those with the newest events last."""
        return list(self._recent.values())

    @contextmanager
    def subscribe(self) -> Iterator[Subscription]:
        """Hears all events from here on, and first what is remembered."""
        subscription = Subscription()
        for activity in self._recent.values():
            subscription.add(activity)
        self._subscriptions.append(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions.remove(subscription)

    @contextmanager
    def follow(
        self, kind: Kind, identity: ClientIdentity, *, tool: str = "", text: str = "", work_id: str = ""
    ) -> Iterator[Work]:
        """Publishes that work begins, and in the end how it ended, whatever ends it."""
        work = Work(self, kind, identity, tool, text, work_id)
        work.publish("began")
        try:
            yield work
        except AlitaError as failure:
            work.end("failed", text=type(failure).__name__)
            raise
        except anyio.get_cancelled_exc_class():
            work.end("cancelled")
            raise
        finally:
            work.end("failed")  # unless it has ended


class Work:
    """One piece of work that is published as it goes on; called with a stage, as any `ReportStage`."""

    def __init__(
        self, feed: ActivityFeed, kind: Kind, identity: ClientIdentity, tool: str, text: str, work_id: str
    ) -> None:
        self._feed = feed
        self.id = work_id or secrets.token_hex(8)
        """The journal's line about it names it too, so that nobody shows it twice."""
        self._kind = kind
        self._client = name_client(identity)
        self._tool, self._text = shown_text(tool, MAX_NAME), shown_text(text)
        self._began = time.monotonic()
        self._steps: list[Step] = []
        self._outcome = ""
        self._detail: dict[str, str] = {}

    async def __call__(self, stage: str) -> None:
        """A stage begins, or says more: `environment: …`."""
        name, _, more = stage.partition(": ")
        step = Step(stage=shown_text(name, MAX_NAME), text=shown_text(more))
        if self._steps and (self._steps[-1].stage, self._steps[-1].outcome) == (step.stage, ""):
            self._steps[-1] = step
        else:
            self._steps.append(step)
        self.publish("step")

    def also(self, on_stage: ReportStage) -> ReportStage:
        """Hears what `on_stage` hears, and how stages end."""
        return _Both(self, on_stage)

    def end_stage(self, stage: str, outcome: StageOutcome, text: str = "") -> None:
        """A stage ended; without its beginning it is a step of its own."""
        ended = Step(stage=shown_text(stage, MAX_NAME), outcome=outcome, text=shown_text(text))
        begun = (
            place for place, step in enumerate(self._steps) if (step.stage, step.outcome) == (ended.stage, "")
        )
        place = next(begun, None)
        if place is None:
            self._steps.append(ended)
        else:
            self._steps[place] = ended
        self.publish("step")

    def end(
        self, outcome: str, *, tool: str = "", text: str = "", detail: Mapping[str, Any] | None = None
    ) -> None:
        """The work ended; only the first word on that counts."""
        if not self._outcome:
            self._outcome = outcome
            self._tool = shown_text(tool, MAX_NAME) or self._tool
            self._text = shown_text(text) or self._text
            self._detail = shown_detail(detail or {})
            self.publish("ended")

    def publish(self, phase: Phase) -> None:
        """Publishes how it stands."""
        del self._steps[:-MAX_STEPS]
        # not validated: that takes time, and nothing that a client says may fail the work
        activity = Activity.model_construct(
            id=self.id,
            kind=self._kind,
            phase=phase,
            outcome=self._outcome,
            client=self._client,
            tool=self._tool,
            text=self._text,
            time=now(),
            seconds=round(time.monotonic() - self._began, 3),
            detail=self._detail,
            steps=tuple(self._steps),
        )
        self._feed.publish(activity)


class _Both:
    """A `ReportStage` that passes stages on to two, and their ends to the work."""

    def __init__(self, work: Work, on_stage: ReportStage) -> None:
        self._work, self._on_stage = work, on_stage

    async def __call__(self, stage: str) -> None:
        await self._work(stage)
        await self._on_stage(stage)

    def end_stage(self, stage: str, outcome: StageOutcome, text: str) -> None:
        self._work.end_stage(stage, outcome, text)


def name_client(identity: ClientIdentity) -> str:
    """The client as people are shown it; every client has a name."""
    return shown_text(identity.client, MAX_NAME) or COMMAND_LINE


def shown_detail(detail: Mapping[str, Any]) -> dict[str, str]:
    """Fields as texts of bounded length, without keys and hidden characters; what other fields say is left out."""
    texts = {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        for name, value in detail.items()
        if name in _COMPARED or (value not in (None, "", (), [], {}) and name not in _SAID)
    }
    return {name: spell_hidden(without_secrets(clip(text, MAX_DETAIL))) for name, text in texts.items()}


def shown_text(text: str, limit: int = MAX_TEXT) -> str:
    """One line of bounded length, without keys and hidden characters."""
    return spell_hidden(without_secrets(one_line(text[: 4 * limit], limit))) if text else ""
