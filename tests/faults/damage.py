"""Damage to the files of a home, drawn from a seed, and what may follow from it."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from alita_mcp.library.decisions import DECISIONS_FILE
from tests.faults.homes import CALLS, Seen

KINDS = {
    "catalogue": "library.sqlite3", "log": "library.sqlite3-wal", "index of the log": "library.sqlite3-shm",
    "manifest": "generated_tools/*/v*/manifest.json", "code": "generated_tools/*/v*/tool.py",
    "tests": "generated_tools/*/v*/test_tool.py", "report": "generated_tools/*/v*/report.json",
    "lock": "generated_tools/*/v*/requirements.lock", "version": "generated_tools/*/v*", "tool": "generated_tools/*",
    "decisions": "generated_tools/*/decisions.json", "format": "home.json", "tools": "generated_tools",
    "lock of the library": "library.lock", "owner": "owners/*.lock", "owners": "owners",
    "token": "http_token", "settings": "alita.toml", "keys": "keys.json", "lock of keys": "keys.json.lock",
    "secrets": "secrets.json", "domains": "domains.txt",
    "memory": "memory/*/*.json", "memories of a kind": "memory/*", "memories": "memory",
    "code approval": "code_approvals/*.json", "code approvals": "code_approvals",
    "lock of code approvals": "code_approvals.lock",
    "result": "runs/*.json", "files of a run": "runs/*.files", "runs": "runs",
    "events": "task_runs/*.events", "task": "task_runs/*.json", "lock of tasks": "task_runs.lock",
    "tasks": "task_runs", "export": "exports/*/*", "exported": "exports/*", "exports": "exports",
}  # fmt: skip
"""Kind of file or folder → where it is below the home."""


KEPT = ("generated_tools", "code_approvals", "runs", "exports", "grants", "secrets")
"""What only a person or a bound on their number removes."""


class Damage(NamedTuple):
    """What was done to a home."""

    what: str
    touched: tuple[str, ...]
    """Paths below the home."""

    def touches(self, *prefixes: str) -> bool:
        """Whether one of the paths, or what lies in it, was damaged."""
        return any(
            f"{prefix}/".startswith(f"{each}/") or each.startswith(f"{prefix}/")
            for each in self.touched
            for prefix in prefixes
        )


def find_kinds(home: Path) -> dict[str, list[Path]]:
    """The files and folders of each kind."""
    return {kind: sorted(home.glob(pattern)) for kind, pattern in KINDS.items()}


def flip(place: Path, draw: random.Random) -> None:
    content = bytearray(place.read_bytes())
    for _ in range(draw.choice((1, 1, 3, 20))):
        if content:
            content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    place.write_bytes(content)


def cut(place: Path, draw: random.Random) -> None:
    os.truncate(place, draw.randrange(place.stat().st_size or 1))


def lengthen(place: Path, draw: random.Random) -> None:
    place.write_bytes(place.read_bytes() + draw.randbytes(draw.choice((1, 100, 5_000))))


def fill_with_zeros(place: Path, draw: random.Random) -> None:
    content = place.read_bytes()
    start = draw.choice((0, len(content) // 2))
    place.write_bytes(content[:start] + bytes(len(content) - start))


def delete(place: Path, _draw: random.Random) -> None:
    shutil.rmtree(place) if place.is_dir() else place.unlink()


def link(place: Path, draw: random.Random) -> None:
    """Puts a link in its place: to what it was, to nothing, or to itself."""
    moved = place.with_name(f".{place.name}.moved")
    target = draw.choice((moved, place.parent / "nowhere", place))
    place.rename(moved)
    place.symlink_to(target)


def swap(place: Path, draw: random.Random) -> None:
    """Exchanges it with the same file of another tool, or with something beside it."""
    tools = place.parents[2] if len(place.parts) > 2 else place.parent
    same = tools.glob(f"*/*/{place.name}") if tools.name == "generated_tools" else place.parent.iterdir()
    others = sorted(each for each in same if each != place)
    if not others:
        return
    other = draw.choice(others)
    aside = place.with_name("aside")
    place.rename(aside)
    other.rename(place)
    aside.rename(other)


def replace_kind(place: Path, _draw: random.Random) -> None:
    """Puts a folder in the place of a file, or a file in that of a folder."""
    was_folder = place.is_dir()
    delete(place, _draw)
    place.write_text("") if was_folder else place.mkdir()


def replace_with_pipe(place: Path, draw: random.Random) -> None:
    delete(place, draw)
    os.mkfifo(place)


def make_unreadable(place: Path, _draw: random.Random) -> None:
    place.chmod(0)


def open_to_all(place: Path, draw: random.Random) -> None:
    place.chmod(draw.choice((0o666, 0o777)))


def give_away(place: Path, _draw: random.Random) -> None:
    os.chown(place, 12_345, 12_345)


ON_FILES: tuple[Callable[[Path, random.Random], None], ...] = (
    flip, flip, cut, lengthen, fill_with_zeros, replace_with_pipe,
    lambda place, _draw: os.truncate(place, 0),
)  # fmt: skip
ON_ALL = (
    delete,
    link,
    swap,
    replace_kind,
    make_unreadable,
    open_to_all,
    *((give_away,) if os.geteuid() == 0 else ()),
)


def damage(home: Path, seed: str) -> Damage:
    """Damages one thing of a home, or now and then two."""
    draw = random.Random(seed)
    done, touched = [], []
    kinds = {kind: places for kind, places in find_kinds(home).items() if places}
    for kind in draw.sample(sorted(kinds), draw.choice((1, 1, 1, 1, 2))):
        place = draw.choice(kinds[kind])
        if not place.exists():
            continue
        actions = ON_ALL if place.is_dir() else (*ON_FILES, *ON_ALL)
        action = draw.choice(actions)
        before = {path: path.lstat() for path in home.rglob("*")}
        action(place, draw)
        name = getattr(action, "__name__", "").replace("<lambda>", "empty")
        done.append(f"{name} {place.relative_to(home)}")
        after = {path: path.lstat() for path in home.rglob("*")}
        moved = {
            path
            for path in before.keys() | after.keys()
            if (path in before) != (path in after) or before[path].st_ino != after[path].st_ino
        }
        touched += [str(each.relative_to(home)) for each in {place, *moved}]
    return Damage(", ".join(done), tuple(sorted(set(touched))))


def state_of(seen: Seen, name: str) -> dict[str, Any]:
    """How a tool stands, as `alita show` says it; its state is that of the error where there is one."""
    said = seen.said[f"show {name}"]
    if said.status:
        return {"state": "deleted" if "was deleted" in said.err else "unknown", "why": said.err}
    shown = json.loads(said.out)
    keys = ("state", "pinned", "versions", "granted")
    return {"version": shown["manifest"]["version"], **{key: shown[key] for key in keys}}


def names_damage(text: str, done: Damage) -> bool:
    """Whether a message names a damaged path, or the setting that leads to it."""
    names = [Path(each).name for each in done.touched]
    return any(name in text for name in names) or ("secrets.json" in names and "ALITA_SECRETS_FILE" in text)


def find_problems(before: Seen, after: Seen, done: Damage) -> list[str]:
    """What must not follow from damage, but did."""
    problems = []
    words = after.words
    is_named = names_damage(words, done) or "was rebuilt" in words
    is_open = not after.said["list"].status
    # 1. Every command and the server end in words, never in a traceback; what stops all of them says what to do.
    for command, said in after.said.items():
        if "Traceback (most" in said.err or "ALITA_LOG_LEVEL=debug" in said.err:
            problems.append(f"traceback of {command}: {said.err[-400:]}")
        elif said.status not in (0, 2, 3, 7) or (said.status == 7 and "hint:" not in said.err):
            problems.append(f"{command} ended with {said.status}: {said.err}")
    if not is_open and not is_named:
        problems.append(f"the message names no damaged path: {after.said['list'].err}")
    for name in CALLS:
        own = f"generated_tools/{name}"
        was, now = before.answers[name], after.answers.get(name)
        stood, stands = state_of(before, name), state_of(after, name)
        is_whole = not done.touches(own)
        # 2. A call gives what it gave before or an error; what could not be called stays so.
        if now is not None and now != was and (was[0] or not now[0]) and not (was[0] and now[0]):
            problems.append(f"{name} answers {now[1]!r} instead of {was[1]!r}")
        # 3. A whole tool that asks for nothing is there, and stands as a person decided or a message says so.
        if (
            is_open
            and is_whole
            and name in list(CALLS)[:3]
            and now != was
            and not names_damage(now[1] if now else words, done)
        ):
            problems.append(f"{name} is whole and lost: {now}, {stands}")
        if is_open and is_whole and stands != stood and not is_named:
            problems.append(f"{name} stands as {stands} instead of {stood}, without a word")
        # 4. What is damaged is said.
        if is_open and now != was and now is not None and not is_named and name not in now[1]:
            problems.append(f"{name} fails and nothing names what is damaged: {now[1]}")
    for label in ("other code", "approved code"):
        text = after.answers.get(label, (True, "Nothing ran"))[1]
        if (
            "Nothing ran" not in text
            and (label == "other code" or "timeout" not in text)
            and not names_damage(text, done)
        ):
            problems.append(f"{label} answers {text!r}")
    # 5. A library that opens can be searched and grows.
    for label in ("search", "synthesis", "later", "token"):
        is_error, text = after.answers.get(label, (False, ""))
        if is_error and is_open and not is_named:
            problems.append(f"{label} fails: {text}")
    return problems


def follow_advice(home: Path, pristine: Path, after: Seen, done: Damage) -> str:
    """Does what the message says that keeps the home from being opened; returns it, empty where it says nothing."""
    err = after.said["list"].err
    command = re.search(r"(?:Run|into its place|remove it): (.+)", err)
    aside = "move it aside" in err
    if command:
        subprocess.run(command[1].partition(" (")[0].replace("`", ""), shell=True, check=False)
        return command[1]
    for each in done.touched:
        place = home / each
        if aside and place.name in err and os.path.lexists(place):
            place.rename(home.parent / f"aside-{place.name}")
    if aside:
        return "move it aside"
    if re.search("Restore|Bring it back|Make it|Mend|Fix|Write|[Rr]emove|Check|ALITA_", err):
        for each in sorted(done.touched):
            place = home / each
            if place.is_symlink() or not place.is_dir():
                place.unlink(missing_ok=True)
            elif not (pristine / each).is_dir():
                shutil.rmtree(place)
        shutil.copytree(pristine, home, dirs_exist_ok=True, symlinks=True)
        for each in done.touched:
            if (pristine / each).exists() and os.geteuid() == 0:
                os.chown(home / each, 0, 0)
        return "restore"
    return ""


def find_lost_files(pristine: Path, home: Path, done: Damage) -> list[str]:
    """What was whole and is not there any more, or changed; without what processes make again."""
    problems = []
    for each in sorted(pristine.rglob("*")):
        name = str(each.relative_to(pristine))
        if (
            each.is_dir()
            or done.touches(name)
            or not name.startswith(("generated_tools", "code_app", "runs", "exports"))
        ):
            continue
        is_same = (home / name).is_file() and (home / name).read_bytes() == each.read_bytes()
        # decisions follow the catalogue, and a tool whose evidence was lost with it is proved again
        renewed = ("manifest.json", "report.json") if done.touches("library.sqlite3") else ()
        if not is_same and not (each.name in (DECISIONS_FILE, *renewed) and (home / name).is_file()):
            problems.append(f"{name} was whole and is lost or changed")
    return problems
