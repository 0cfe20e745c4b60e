"""Groups of similar scripts: calls of one function with different values."""

from __future__ import annotations

import ast
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alita_mcp.errors import UsageError
from benchmarks.likeness import edits

SHAPES = ("arguments", "constants", "inline", "printed")
"""Where the values of a script stand, and whether it prints its result."""
LETTERS = "abcdefghij KLMNOP0123456789.,-_"
TRIES = 40


@dataclass(frozen=True)
class Script:
    """One script, and the values that it calls its function with."""

    code: str
    arguments: dict[str, Any]
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Group:
    """Like scripts: those that are seen, and those with new values."""

    name: str
    shape: str
    seen: tuple[Script, ...]
    new: tuple[Script, ...]


def groups_of(paths: Sequence[Path], wanted: int, seen: int, new: int, seed: int) -> Iterator[Group]:
    """So many groups of the programs in files, JSON lines with `code` and the `input` of one call.

    Raises:
        UsageError: a file is not what it should be.
    """
    rng = random.Random(seed)
    programs = list(_programs(paths))
    rng.shuffle(programs)
    made = 0
    for code, text in programs:
        if made == wanted:
            return
        group = _group(code, text, SHAPES[made % len(SHAPES)], (seen, new), random.Random(f"{seed} {code}"))
        if group is not None:
            made += 1
            yield group


def _programs(paths: Sequence[Path]) -> Iterator[tuple[str, str]]:
    for path in paths:
        try:
            for line in path.read_text("utf-8").splitlines():
                row = json.loads(line)
                yield str(row["code"]), str(row["input"])
        except (OSError, ValueError, KeyError, TypeError) as broken:
            raise UsageError(
                f"{path} cannot be read: {broken}", hint="JSON lines with code, input."
            ) from broken


def _group(code: str, text: str, shape: str, counts: tuple[int, int], rng: random.Random) -> Group | None:
    """Scripts with different values; None where a value is no literal, or there are too few others."""
    function = next((node for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)), None)
    try:
        first = ast.literal_eval(f"({text},)")
    except (ValueError, SyntaxError):
        return None
    if function is None or len(function.args.args) < len(first) or not first:
        return None
    names = [each.arg for each in function.args.args[: len(first)]]
    if shape == "arguments" and not all(map(_is_json, first)):
        shape = "constants"
    known = [first]
    for _ in range(TRIES):
        values = tuple(other(each, rng) for each in rng.choice(known))
        if values not in known:
            known.append(values)
    if len(known) < sum(counts):
        return None
    scripts = [
        _script(_varied(code, function.name, at), names, values, shape, at)
        for at, values in enumerate(known[: sum(counts)])
    ]
    return Group(function.name, shape, tuple(scripts[: counts[0]]), tuple(scripts[counts[0] :]))


def _varied(code: str, name: str, at: int) -> tuple[str, str]:
    """The function as its author writes it the next time, and its name then."""
    if at % 2 == 0:
        return code, name
    tree = ast.parse(code)
    changed = edits.renamed(tree, random.Random(at))
    if changed is None:
        return code, name
    function = next(node for node in changed.body if isinstance(node, ast.FunctionDef))
    return ast.unparse(ast.fix_missing_locations(changed)), function.name


def _script(
    function: tuple[str, str], names: Sequence[str], values: tuple[Any, ...], shape: str, at: int
) -> Script:
    code, name = function
    if shape == "arguments":
        return Script(
            f"{code}\n\n{name}({', '.join(names)})\n", dict(zip(names, values, strict=True)), values
        )
    if shape == "constants":
        lines = [f"{each} = {value!r}" for each, value in zip(names, values, strict=True)]
        lines += ["# again" for _ in range(at % 3)]
        return Script(f"{code}\n\n{chr(10).join(lines)}\n{name}({', '.join(names)})\n", {}, values)
    call = f"{name}({', '.join(map(repr, values))})"
    return Script(f"{code}\n\n{f'print({call})' if shape == 'printed' else call}\n", {}, values)


def other(value: Any, rng: random.Random) -> Any:
    """Another value of the same type."""
    match value:
        case bool() | None:
            return value
        case int():
            return value + rng.choice((-3, -1, 0, 1, 2, 7))
        case float():
            return value + rng.choice((-1.5, 0.25, 3.0))
        case str():
            return _other_text(value, rng)
        case list():
            return _other_items(value, rng)
        case tuple():
            return tuple(other(each, rng) for each in value)
        case dict():
            items = list(value.items())[: rng.choice((len(value), max(1, len(value) - 1)))]
            return {other(key, rng): other(each, rng) for key, each in items}
    return value


def _other_text(text: str, rng: random.Random) -> str:
    letters = list(text)
    match rng.randrange(4):
        case 0:
            letters.insert(rng.randrange(len(letters) + 1), rng.choice(LETTERS))
        case 1 if letters:
            letters[rng.randrange(len(letters))] = rng.choice(LETTERS)
        case 2 if len(letters) > 1:
            del letters[rng.randrange(len(letters))]
        case _:
            rng.shuffle(letters)
    return "".join(letters)


def _other_items(items: list[Any], rng: random.Random) -> list[Any]:
    changed = [other(each, rng) for each in items]
    if changed and rng.randrange(3) == 0:
        changed.append(other(rng.choice(items), rng))
    if len(changed) > 1 and rng.randrange(4) == 0:
        changed.pop()
    return changed


def _is_json(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_json, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) for key in value) and all(map(_is_json, value.values()))
    return value is None or isinstance(value, bool | int | float | str)
