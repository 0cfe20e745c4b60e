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
Read = Generator[Turn, tuple[str, ...], tuple[str, str]]
"""Part of a script that finds out something: a text, and the observation that says it."""


@dataclass(frozen=True)
class Opened:
    """Opening of a task: its text, and the tools that the model is offered."""

    task: str
    offered: frozenset[str]
    memory: str = ""
    """What the run recalled."""

    @property
    def site(self) -> str:
        """The address of the site, without a slash at its end."""
        found = re.search(r"http://[\w.]+:\d+", self.task)
        return found[0] if found else ""

    @property
    def builds(self) -> bool:
        """Whether tools may be made."""
        return "build_tool" in self.offered

    @property
    def reads(self) -> bool:
        """Whether pages and files can be read outside of code."""
        return "read_page" in self.offered or "read_file" in self.offered


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


def part(observation: str, pointer: str = "text") -> dict[str, str]:
    """A reference to a part of an observation, as arguments take it."""
    return {"$ref": f"{name_of(observation)}/{pointer}"}


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


def over_text(name: str, code: str, *more: str) -> Script:
    """A script that reads a file's text first and passes it on as `text`; the next ones are `text1`, `text2`."""

    def script(opened: Opened) -> Turns:
        if not opened.reads:
            yield (give_up(),)
            return
        seen = yield tuple(read_file(each) for each in (name, *more))
        texts = {f"text{place or ''}": part(each) for place, each in enumerate(seen)}
        yield from computed(code, **texts)

    return script


def with_tool(name: str, need: str, request: dict[str, Any]) -> Generator[Turn, tuple[str, ...], bool]:
    """Looks for a tool of that name, and has it built where it is not there; whether it can be called then."""
    (found,) = yield (Call("search_capabilities", {"query": need}),)
    if f'"{name}"' in found:
        return True
    (built,) = yield (Call("build_tool", {"name": name, **request}),)
    return f'"{name}"' in built and "observation failed" not in built
