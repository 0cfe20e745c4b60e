"""What all drivers do: a scripted model has a tool made and calls it; what it was offered and told is judged."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.clients.dialects import Calls, Reply, Says, Turn
from tests.clients.model_server import Asked
from tests.server.connections import SHOUT
from tests.server.processes import ENTRY, RUN_ALITA, SERVE_HTTP

TOOL = str(SHOUT["name"])
PROMPT = "Make a tool that shouts a text, then shout hello."
DIRECT = ("direct", "now")
THROUGH_RUN_TOOL = ("run_tool", "after reconnect")

_WAITS = "from alita_mcp.server.results import visibility; visibility.LISTS_WITHIN_S = 60; visibility.IN_HAND_S = 1; "


def stdio_command(*, follows: bool) -> tuple[str, ...]:
    """How to start the relay; for a follower one whose server waits for its list however slow the machine is."""
    server = f"{_WAITS}from alita_mcp.server.transports.local.process import main; main()"
    relay = (
        f"from alita_mcp.server.transports.local import servers; servers.PROGRAM = ('-c', {server!r}); "
        "from alita_mcp.server.transports.entry import main; main()"
    )
    return (sys.executable, "-c", relay) if follows else ENTRY


def http_command(*, follows: bool) -> tuple[str, ...]:
    """The same over HTTP."""
    return (sys.executable, "-c", _WAITS + RUN_ALITA, *SERVE_HTTP[3:]) if follows else SERVE_HTTP


def shouting(turn: Turn) -> Reply:
    """Has the tool made, then calls it by its own name where the request holds it, through `run_tool` elsewhere."""
    if turn.shown(TOOL) or turn.shown("run_tool"):
        return Says("done")
    if not turn.shown("synthesize_tool"):
        return call_of(turn, "synthesize_tool", SHOUT)
    if held(turn):
        return call_of(turn, TOOL, {"text": "hello"})
    return call_of(turn, "run_tool", {"name": TOOL, "arguments": {"text": "hello"}})


def call_of(turn: Turn, name: str, arguments: dict[str, Any]) -> Reply:
    """A call of one of our tools, loaded first where the client keeps it back."""
    if own := turn.offered(name):
        return Calls(own, arguments)
    if "ToolSearch" in turn.tools and (known := deferred(turn, name)):
        return Calls("ToolSearch", {"query": f"select:{known}"})
    return Says("A title, or an answer without tools.")


def held(turn: Turn) -> bool:
    """Whether the model may use the tool in its reply to this request."""
    return bool(turn.offered(TOOL) or deferred(turn, TOOL))


def deferred(turn: Turn, name: str) -> str | None:
    """The full name of a tool that Claude Code names in its messages and loads when the model asks ToolSearch."""
    named = re.search(rf"mcp__[a-z_]+__{name}\b", str(turn.body.get("messages")))
    return named and named.group()


@dataclass(frozen=True)
class Seen:
    """What the model was given in one conversation."""

    after: Turn
    """The very next request after the answer of `synthesize_tool`."""
    last: Turn

    @property
    def held(self) -> bool:
        """Whether the very next request holds the tool."""
        return held(self.after)

    @property
    def read(self) -> str:
        """What the model reads of the answer."""
        return self.after.shown("synthesize_tool")[0]

    @property
    def shouted(self) -> str:
        """What the model reads of its call of the new tool."""
        return [*self.last.shown(TOOL), *self.last.shown("run_tool")][0]


def seen(asked: Asked) -> Seen:
    """What the model was given; the conversation must have reached its end."""
    told = [turn for turn in asked.turns if turn.shown("synthesize_tool")]
    assert told, f"the tool was never made: {[turn.tools for turn in asked.turns]}, {asked.elsewhere}"
    return Seen(told[0], told[-1])


def assert_true(answer: Mapping[str, Any], given: Seen, follows: bool | None) -> None:
    """The answer said what the very next request held, and the tool works as it said.

    A client that lists before each turn (`follows` is None) holds the tool whatever the answer said.
    """
    assert answer["status"] == "created", answer
    said = answer["call"], answer["visible"]
    assert said in {DIRECT, THROUGH_RUN_TOOL}, said
    if follows is not None:
        assert (said, given.held) == ((DIRECT, True) if follows else (THROUGH_RUN_TOOL, False))
    assert given.held or said != DIRECT
    called_by = TOOL if given.held else "run_tool"
    assert given.last.shown(called_by), given.last.results
    assert "HELLO!" in given.shouted
