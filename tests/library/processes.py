"""What tests run in processes of their own, each forked from one that has imported the library."""

from __future__ import annotations

import os
import random
import signal
import sys
from contextlib import suppress
from pathlib import Path

import anyio

from alita_mcp.errors import NameTaken
from alita_mcp.library.versions.files import VERSION_FILES
from alita_mcp.values import Example
from tests.forked import Forked
from tests.library.factory import accepted, opened, simple


def start(word: str, *arguments: str) -> Forked:
    """Starts one of the programs below; it says `ready` when it waits for a line."""
    return Forked(run, word, *arguments)


def finish(process: Forked, said: str = "go") -> tuple[int, str]:
    """Sends a line, waits, and answers exit status and output."""
    with suppress(BrokenPipeError):
        process.send_line(said)
    return process.wait()


class Killer:
    """Kills its process with SIGKILL right after a step, once it is armed."""

    def __init__(self, step: str, *, is_armed: bool = False) -> None:
        self._step = step
        self.is_armed = is_armed

    def __call__(self, done: str) -> None:
        if self.is_armed and done == self._step:
            os.kill(os.getpid(), signal.SIGKILL)


async def publish_and_die(home: Path, step: str, version: str) -> None:
    """Publishes and kills itself with SIGKILL right after the named step."""
    die = Killer(step)
    async with opened(home, die) as library:
        die.is_armed = True
        await library.publish(accepted(), expected_version=int(version) - 1)


async def sweep_and_die(home: Path) -> None:
    """Opens a home in which a publisher died, and kills itself while it removes what that one left."""
    left = 2

    def count_removal(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        if event == "os.remove" and str(arguments[0]).endswith(VERSION_FILES):
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count_removal)
    async with opened(home):
        pass


async def race(home: Path, name: str) -> None:
    """Publishes when told to; says `won` or `taken`."""
    async with opened(home) as library:
        print("ready", flush=True)
        sys.stdin.readline()
        try:
            await library.publish(simple(name, answer=str(os.getpid())), expected_version=0)
        except NameTaken:
            print(f"taken at v{library.entry(name).manifest.version}")
        else:
            print("won")


async def race_for_many(home: Path, names: str) -> None:
    """Publishes as many of the names as it can get when told to, in an order of its own; says which it won."""
    order = names.split(",")
    random.Random(os.getpid()).shuffle(order)
    async with opened(home) as library:
        print("ready", flush=True)
        sys.stdin.readline()
        won = []
        for name in order:
            try:
                await library.publish(simple(name, answer=str(os.getpid())), expected_version=0)
                won.append(name)
            except NameTaken:
                assert library.entry(name).manifest.version == 1
        print(",".join(sorted(won)))


async def open_with_starters(home: Path, starters: Path) -> None:
    """Opens a library that the starter tools are installed into, when told to."""
    from alita_mcp.library.opening import open_library
    from alita_mcp.settings import Settings

    print("ready", flush=True)
    sys.stdin.readline()
    async with open_library(Settings(home=home), starters=lambda: starters) as library:
        print(" ".join(entry.name for entry in library.tools.entries()))


async def publish_and_stay(home: Path, name: str) -> None:
    """Publishes one tool, then uses and disables it, each when told to."""
    async with opened(home) as library:
        print("ready", flush=True)
        sys.stdin.readline()
        await library.publish(simple(name, "Count the words of a text."), expected_version=0)
        print("published", flush=True)
        sys.stdin.readline()
        library.calls.record(name, 1, ok=True, status="ok", seconds=0.1, sandbox="scripted")
        await library.settle()
        print("used", flush=True)
        sys.stdin.readline()
        await library.disable(name)
        print("disabled", flush=True)
        sys.stdin.readline()


async def raise_and_die(home: Path, step: str) -> None:
    """Raises the trust of a published tool and kills itself with SIGKILL right after the named step."""
    die = Killer(step)
    async with opened(home, die) as library:
        die.is_armed = True
        await library.raise_trust(accepted(), await library.read("slugify"))


async def decide_and_die(home: Path, step: str, decision: str) -> None:
    """Decides something about `slugify`, and kills itself right after the named step of that or of opening."""
    async with opened(home, Killer(step, is_armed=True)) as library:
        await getattr(library, decision)("slugify")


async def raise_trust(home: Path, number: str) -> None:
    """Raises the trust of a published tool when told to, with an example of its own; says `raised` or `taken`."""
    async with opened(home) as library:
        known = await library.read("slugify")
        own = Example(arguments={"text": f"Racer {number}"}, expected=f"racer-{number}")
        print("ready", flush=True)
        sys.stdin.readline()
        try:
            await library.raise_trust(accepted(examples=(*known.examples, own)), known)
        except NameTaken:
            print(f"taken: {library.entry('slugify').manifest.trust}")
        else:
            print("raised")


PROGRAMS = {
    "decide": decide_and_die,
    "die": publish_and_die,
    "sweep": sweep_and_die,
    "race": race,
    "race_for_many": race_for_many,
    "raise": raise_trust,
    "raise_and_die": raise_and_die,
    "starters": open_with_starters,
    "stay": publish_and_stay,
}


def run(word: str, home: str, *rest: str) -> None:
    arguments = [Path(rest[0])] if word == "starters" else rest
    anyio.run(PROGRAMS[word], Path(home), *arguments)
