"""Four processes that work on one home and are killed, and a checker that reads the home afterwards."""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import anyio

from alita_mcp.agent.memory.store import StoredMemory
from alita_mcp.agent.runs.store import StoredRuns
from alita_mcp.cli import main as command_line
from alita_mcp.errors import ToolUnavailable
from alita_mcp.file_locks import is_lock_held
from alita_mcp.library.decisions import Decisions, read_decisions
from alita_mcp.library.grants.code_approvals import AskedCode, CodeApprovals
from alita_mcp.library.opening import open_library
from alita_mcp.library.storage import Storage
from alita_mcp.library.versions.files import versions_under
from alita_mcp.library.versions.store import Store
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import read_settings
from tests.agent.memory.remembered import summed
from tests.cli.tasks.scripted_flow import ScriptedFlow
from tests.faults.damage import find_kinds
from tests.faults.forks import Fork, fork
from tests.faults.homes import ASKING_CODE, CALLS, command, copy_home, enter, shift
from tests.server.in_memory import builder, called, connected, text_of

AT_ONCE = 4
LONGEST_S = 0.5
"""So long a process works at most before it is killed."""
EVENTS = ("open", "os.", "shutil.", "sqlite3.connect", "fcntl.")
TOOLS = [*CALLS]
RIGHT = {
    "vowel_share": ("0.29", "0.286"), "repeat_rows": ('["ab", "ab"]',), "reviewed": ("8",),
}  # fmt: skip
BOUNDED = ("runs", "task_runs", "code_approvals", "memory")
"""Folders whose unfinished files go later, when there are too many."""
REFUSALS = ("was deleted", "is disabled", "nobody approved")
Model = dict[str, Any]
"""What holds of a home: register → value. Registers are `state NAME`, `published NAME vN` and the like."""


class Act(NamedTuple):
    """Something a process did to a register."""

    began: int
    ended: float
    """In nanoseconds; infinite where it was not acknowledged."""
    register: str
    value: Any


class Diary:
    """Lines of one process about what it is going to do, and what was acknowledged."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write(self, kind: str, *said: Any) -> None:
        os.write(self._file, json.dumps([kind, time.monotonic_ns(), *said]).encode() + b"\n")


def read_acts(path: Path) -> tuple[list[Act], list[str]]:
    """What a process did, and what it met that it should not."""
    acts: list[Act] = []
    problems, under_way = [], 0
    for line in path.read_text().splitlines():
        kind, at, *said = json.loads(line)
        if kind == "problem":
            problems.append(said[0])
        elif kind == "begin":
            under_way = len(said[0])
            acts += [Act(at, math.inf, register, value) for register, value in said[0].items()]
        elif kind == "done" and under_way:
            acts[-under_way:] = [act._replace(ended=at) for act in acts[-under_way:]]
    return acts, problems


# What the processes do.


def work(home: Path, diary: Path, seed: str, plan: tuple[str, int]) -> None:
    """Works on a home until it is killed, by itself where `plan` says after how many steps or events."""
    enter(home)
    draw = random.Random(seed)
    kill_at(home, *plan)
    use = draw.choice((None, None, make_and_call, run_code))
    with suppress(KeyboardInterrupt):
        anyio.run(use, Diary(diary), draw) if use else give_commands(Diary(diary), draw)


def kill_at(home: Path, what: str, number: int) -> None:
    """Kills this process at a step of publishing, or at its so manieth event in the home."""
    left = number

    def count() -> None:
        nonlocal left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event.startswith(EVENTS) and any(str(home) in str(each) for each in arguments[:2]):
            count()

    if what == "event":
        sys.addaudithook(note)
    elif what == "step":
        open_library.__wrapped__.__kwdefaults__["on_step"] = lambda _step: count()  # type: ignore[attr-defined]


def give_commands(diary: Diary, draw: random.Random) -> None:
    """A person at the command line."""
    digests: dict[str, str] = {}
    terminated, interrupt = [], command_line.interrupt
    command_line.interrupt = lambda number, frame: (terminated.append(number), interrupt(number, frame))[1]
    while not terminated:
        name = draw.choice(TOOLS)
        words, changes = draw.choice(list(commands_on(name, draw)))
        if "DIGEST" in words:
            if name not in digests:
                said = command("show", name, "--json")
                if said.status:
                    continue
                digests[name] = json.loads(said.out)["manifest"]["digest"]
            words = tuple(digests[name] if word == "DIGEST" else word for word in words)
        options = {}
        if words[0] == "solve":
            run = draw.randbytes(16).hex()
            options["open_flow"], changes = ScriptedFlow(run=run).opened, {f"run {run}": "finished"}
        diary.write("begin", changes)
        said = command(*words, **options)
        diary.write("failed" if said.status else "done")
        if terminated:  # Python prints where it ignored the interrupt
            return
        if said.status not in (0, 2, 3, 130) or "Traceback" in said.err or "ALITA_LOG" in said.err:
            diary.write("problem", f"{' '.join(words)} ended with {said.status}: {said.err[-600:]}")


def commands_on(name: str, draw: random.Random) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Commands on a tool, each with the registers that it sets."""
    yield ("tool", "pin", name), {f"pinned {name}": True}
    yield ("tool", "unpin", name), {f"pinned {name}": False}
    yield ("tool", "disable", name), {f"state {name}": "disabled"}
    yield ("tool", "delete", name), {f"state {name}": "deleted"}
    for _ in range(2):
        yield ("tool", "enable", name), {f"state {name}": "enabled"}
    yield ("review", name, "--yes", "DIGEST"), {f"reviewed {name}": True}
    version = draw.choice((1, 2))
    yield ("tool", "rollback", "vowel_share", f"v{version}"), {"version vowel_share": version}
    if name in ("granted", "asking"):
        yield ("approve", name, "DIGEST"), {f"approved {name}": True}
        yield ("revoke", name), {f"approved {name}": False}
    for place in (read_settings().home / "code_approvals").glob("*.json"):
        asked = AskedCode.model_validate_json(place.read_bytes())
        yield ("approve", "--code", place.stem, asked.digest), {f"approved code {place.stem}": True}
    yield ("solve", "Sum the sales."), {}
    yield ("list",), {}


async def make_and_call(diary: Diary, draw: random.Random) -> None:
    """A client that makes and calls tools."""
    async with connected(builder(read_settings())(), "modern") as client:
        while True:
            if draw.random() < 0.5:
                number = draw.randrange(1 << 24)
                made = shift(f"shift_{number}", number)
                diary.write("begin", {f"published {made['name']} v1": made["code"]})
                result = await called(client, "synthesize_tool", **made)
                diary.write("failed" if result.is_error else "done")
                await called(client, "run_code", code=str(number), needs=ASKING_CODE["needs"])
            else:
                tool = draw.choice(TOOLS)
                result = await called(client, "run_tool", name=tool, arguments=CALLS[tool])
                if not result.is_error and text_of(result) not in RIGHT.get(tool, ("x",)):
                    diary.write("problem", f"{tool} answers {text_of(result)}")
            if result.is_error and not any(word in text_of(result) for word in REFUSALS):
                diary.write("problem", text_of(result))


async def run_code(diary: Diary, draw: random.Random) -> None:
    """A client that runs code in the embedded sandbox, and a task that is remembered."""
    settings = read_settings()
    async with connected(builder(settings, WasmSandbox)(), "modern") as client:
        while True:
            number = draw.randrange(1 << 24)
            result = await called(
                client, "run_code", code=f"open('f', 'w').write('1')\n'{number:09}' * 50_000"
            )
            run = text_of(result).partition('"run": "')[2][:32]
            if result.is_error:
                diary.write("problem", text_of(result))
            if number % 16:
                continue
            diary.write("begin", {f"remembered {run}": True})
            await StoredMemory(Storage(settings.home)).remember(summed(run, code=f"x_{number} = 1"))
            diary.write("done")


# What kills them, and what reads the home afterwards.


def kill_four(home: Path, place: Path, seed: str) -> list[str]:
    """Lets four processes work on a home and kills each at its moment; returns what hung."""
    draw = random.Random(seed)
    workers: list[tuple[Path, Fork]] = []
    for number in range(AT_ONCE):
        what = draw.choice(("time", "time", "event", "step"))
        plan = (what, draw.randrange(1, 14 if what == "step" else 120))
        diary = place / f"{number}.diary"
        workers.append((diary, fork(work, home, diary, f"{seed}-{number}", plan)))
    problems = []
    for diary, worker in workers:
        # half of them are killed while they open the home, the others once they have begun something
        if draw.random() < 0.5:
            while worker.is_alive_after(0.01) and not (diary.exists() and diary.stat().st_size):
                pass
        worker.is_alive_after(draw.uniform(0.0, LONGEST_S))
        stop = signal.SIGTERM if draw.random() < 0.2 else signal.SIGKILL
        worker.kill(stop)
        try:
            worker.wait()
        except TimeoutError:
            problems.append(f"it did not end on {signal.Signals(stop).name}")
    return problems


def try_kills(pristine: Path, place: Path, seed: str, rounds: int) -> list[str]:
    """The problems of one home over rounds of kills."""
    home = copy_home(pristine, place / "home")
    model, problems = fork(check, home, {}, []).wait()
    for number in range(rounds):
        round_place = place / str(number)
        round_place.mkdir()
        label = f"{seed}:{number}"
        found = kill_four(home, round_place, label)
        acts = []
        for diary in sorted(round_place.glob("*.diary")):
            own, met = read_acts(diary)
            acts += own
            found += met
        try:
            model, wrong = fork(check, home, model, acts).wait()
        except (TimeoutError, AssertionError) as failure:
            return [*problems, *(f"seed {label}: {each}" for each in (*found, str(failure)))]
        problems += [f"seed {label}: {each}" for each in found + wrong]
    if not problems:
        shutil.rmtree(place)
    return problems


def allowed_values(before: Any, acts: list[Act]) -> list[Any]:
    """What a register may hold: what was acknowledged and not overwritten since, and what was under way."""
    every = [Act(-1, -1.0, "", before), *acts]
    return [
        each.value
        for each in every
        if not any(other.began > each.ended and other.ended < math.inf for other in every)
    ]


def check(home: Path, before: Model, acts: list[Act]) -> tuple[Model, list[str]]:
    """What holds after the next start, and what should not be so."""
    enter(home)
    model, problems = read_model(home)
    by_register: dict[str, list[Act]] = defaultdict(list)
    for act in acts:
        by_register[act.register].append(act)
    for register, own in by_register.items():
        allowed = allowed_values(before.get(register), own)
        if model.get(register) not in allowed:
            problems.append(f"{register!r} is {model.get(register)!r}, not one of {allowed!r}")
    for register, value in before.items() if before else ():
        if register not in by_register and model.get(register) != value:
            problems.append(
                f"{register!r} is {model.get(register)!r} instead of {value!r}, which nobody changed"
            )
    known = {path for places in find_kinds(home).values() for path in places}
    for path in home.rglob("*"):
        # what an unfinished publishing left whole
        if path.relative_to(home).parts[0] == "set-aside":
            continue
        if path.name[0] == "." and path.relative_to(home).parts[0] in BOUNDED:
            continue
        if path not in known or path.name[0] == "." or path.parent.name == "owners":
            problems.append(f"{path.relative_to(home)} is left over")
    held = [path for path in home.rglob("*.lock") if is_lock_held(path)]
    return model, problems + [f"{path.relative_to(home)} is held" for path in held]


def read_model(home: Path) -> tuple[Model, list[str]]:
    """What a home holds after the next start, and what in it does not agree."""
    model: Model = {}
    store = Store(home, None)
    try:
        known = store.catalogue.list_known_versions()
        problems = [f"the claim {claim} is left over" for claim in store.catalogue.claims()]
        if (folders := set(versions_under(store.files.root))) != known:
            problems.append(f"versions and folders differ: {folders ^ known}")
        for name, version in sorted(known & folders):
            try:
                stored = store.read_version(name, version)
            except ToolUnavailable as damaged:
                problems.append(str(damaged))
                continue
            model[f"published {name} v{version}"] = stored.code
            model[f"approved {name}"] = store.reader.approval(name, stored.manifest.digest) is not None
            if store.reader.origin(name, version).reviewed:
                model[f"reviewed {name}"] = True
            if (entry := store.reader.entry(name)) is None:
                problems.append(f"{name} has a version and no entry")
                continue
            beside = read_decisions(store.files.root, name) or Decisions(name=name, number=0)
            if (beside.state, beside.pinned) != (entry.state, entry.pinned):
                problems.append(f"the catalogue and {beside} differ")
            model[f"state {name}"], model[f"pinned {name}"] = entry.state, entry.pinned
            model[f"version {name}"] = entry.manifest.version
    finally:
        store.close()
    for run in anyio.run(StoredRuns(Storage(home)).list, 200):
        if run.status == "finished":  # others were stopped or killed under way
            model[f"run {run.run}"] = run.status
    for place in (home / "code_approvals").glob("*.json"):
        if CodeApprovals(Storage(home)).find(place.stem).approved_at:
            model[f"approved code {place.stem}"] = True
    for memory in anyio.run(StoredMemory(Storage(home)).list):
        if memory.kind == "program":
            model[f"remembered {memory.value['runs'][-1]['run']}"] = True
    return model, problems
