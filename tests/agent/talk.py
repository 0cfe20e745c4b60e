"""View of a scripted model on the conversation, and the tool calls and texts that it replies with.

A script is a generator: it yields what the model says in one turn and is sent what came of it. The server runs it anew
for each question and sends it the conversation so far, so that it keeps nothing itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

Script = Callable[["Opened"], "Turns"]
UNKNOWN = "unknown"
"""What a solver answers that cannot find out."""
_NAME = re.compile(r'<observation name="(o\d+)"')
_ANSWER = re.compile(r"ANSWER\[(.*?)\]")


@dataclass(frozen=True)
class Call:
    """One call of a tool; arguments that are a text are sent as they are, JSON or not."""

    name: str
    arguments: dict[str, Any] | str


Turn = tuple[Call, ...] | str
Turns = Generator[Turn, tuple[str, ...], None]


@dataclass(frozen=True)
class Opened:
    """Opening of a task: its text, and the tools that the model is offered."""

    task: str
    offered: frozenset[str]

    @property
    def site(self) -> str:
        """The address of the site, without a slash at its end."""
        found = re.search(r"http://[\w.]+:\d+", self.task)
        return found[0] if found else ""


def run_code(code: str, reason: str = "This is needed once.", **arguments: Any) -> Call:
    """One run of code; the text printed as `ANSWER[…]` is its result."""
    return Call("run_code", {"code": code, "arguments": arguments, "reason": reason})


def read_file(name: str) -> Call:
    return Call("read_file", {"name": name})


def read_page(url: str) -> Call:
    return Call("read_page", {"url": url})


def finish(answer: str, observation: str = "", quote: str = "", *, solved: bool = True) -> Call:
    """The end, with one claim where an observation is given."""
    claim = {"claim": answer, "reference": name_of(observation), "quote": quote or answer}
    claims = [claim] if observation else []
    return Call("finish", {"answer": answer, "solved": solved, "claims": claims})


def give_up() -> Call:
    return finish(UNKNOWN, solved=False)


def name_of(observation: str) -> str:
    """`o3`; empty where the text is no observation."""
    found = _NAME.search(observation)
    return found[1] if found else ""


def answer_in(observation: str) -> str:
    """The answer that code printed; empty where it did not."""
    found = _ANSWER.search(observation)
    return found[1].strip() if found else ""


def computed(code: str, reason: str = "This is needed once.", **arguments: Any) -> Turns:
    """Runs code, and answers with its result."""
    (seen,) = yield (run_code(code, reason, **arguments),)
    answer = answer_in(seen)
    yield (finish(answer, seen) if answer else give_up(),)


def over_files(code: str) -> Script:
    """A script that needs one run of code over files that code can open."""
    return lambda _opened: computed(code)
