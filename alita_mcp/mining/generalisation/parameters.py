"""Parameters of the function, made of what differed between runs and what these were given."""

from __future__ import annotations

import ast
import json
import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from alita_mcp.mining.generalisation.anti_unification import Hole
from alita_mcp.mining.generalisation.inputs import Reading
from alita_mcp.mining.generalisation.literals import is_container, rebuilt, value_of
from alita_mcp.mining.generalisation.refusal import NoFunctionError
from alita_mcp.mining.generalisation.scopes import Opening, Scope, global_names, globals_declared, walk
from alita_mcp.mining.generalisation.script import BUILTINS, Script, own_names
from alita_mcp.mining.generalisation.value_types import Place, Records, annotation_of

MAX_PARAMETERS = 20
_LOOPS = ast.For | ast.AsyncFor | ast.While


@dataclass
class Slot:
    """One parameter: its values, a run each, and the places in the program that it fills."""

    values: list[Any]
    holes: list[Hole] = field(default_factory=list)
    name: str = ""
    annotation: str = ""

    @property
    def optional(self) -> bool:
        """Whether it may be left out, which means None."""
        return self.annotation.endswith("| None")


class Places:
    """Places of nodes in a program."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._parents = {
            id(child): node for node in ast.walk(script.tree) for child in ast.iter_child_nodes(node)
        }
        self._stacks: dict[int, tuple[Scope, ...]] = {
            id(node): stack for node, stack in walk(script.tree.body, (script.scope,))
        }

    def repeated(self, node: ast.AST) -> bool:
        """Whether the node may be evaluated more than once."""
        while parent := self._parents.get(id(node)):
            if isinstance(parent, _LOOPS) or (
                isinstance(parent, Opening) and not isinstance(parent, ast.ClassDef)
            ):
                return True
            node = parent
        return False

    def shadowed(self, node: ast.AST, name: str) -> bool:
        """Whether a name of the top level means something else where the node stands."""
        return any(name in scope.bound for scope in self._stacks.get(id(node), ())[1:])

    def assignment(self, node: ast.AST) -> ast.Assign | None:
        """The statement of the top level that gives a name its first value, where the node is this value."""
        statement = self._parents.get(id(node))
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]) if statement in self._script.tree.body:
                rest = self._script.rest
                earlier = rest[: rest.index(statement)]
                known = BUILTINS | globals_declared(self._script.tree)
                if name in known or name in global_names(earlier, self._script.scope):
                    return None
                return statement
        return None

    def hint(self, node: ast.AST) -> str:
        """Name that the program gives the value: of a variable, a keyword, a key, a parameter."""
        parent = self._parents.get(id(node))
        match parent:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.keyword(arg=str(name)):
                return name
            case ast.For(target=ast.Name(id=name)) | ast.comprehension(target=ast.Name(id=name)):
                return f"{name}_values"
            case ast.Dict():
                return self._key(parent, node)
            case ast.arguments():
                named = (
                    [*parent.posonlyargs, *parent.args][-len(parent.defaults) :] if parent.defaults else []
                )
                pairs = [*zip(named, parent.defaults, strict=True)]
                pairs += [(a, d) for a, d in zip(parent.kwonlyargs, parent.kw_defaults, strict=True) if d]
                return next((argument.arg for argument, default in pairs if default is node), "")
            case ast.Call(func=ast.Name(id=called), args=arguments) if node in arguments:
                return self._argument(called, arguments.index(node))
        return ""

    def _key(self, parent: ast.Dict, node: ast.AST) -> str:
        keys = [key for key, item in zip(parent.keys, parent.values, strict=True) if item is node]
        return str(keys[0].value) if keys and isinstance(keys[0], ast.Constant) else ""

    def _argument(self, called: str, place: int) -> str:
        match self._script.definitions.get(called):
            case [ast.FunctionDef(args=arguments) | ast.AsyncFunctionDef(args=arguments)]:
                names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
                return names[place] if place < len(names) else ""
        return ""


def slots_of(
    scripts: Sequence[Script], holes: Sequence[Hole], reading: Reading, records: Records
) -> tuple[list[Slot], Places]:
    """The parameters: what all runs were given, what they read, what differs; optional ones last.

    Raises:
        NoFunctionError: there are none, too many, or values without a type.
    """
    base = scripts[0]
    places = Places(base)
    columns: dict[str, Slot] = {}
    for number, hole in enumerate(holes):
        column = json.dumps([hole.values, number if len(scripts) == 1 else 0])
        columns.setdefault(column, Slot(hole.values)).holes.append(hole)
    if len(columns) > MAX_PARAMETERS:
        raise NoFunctionError(
            f"{len(columns)} values vary, and a tool has at most {MAX_PARAMETERS} parameters"
        )
    given = _given(scripts, list(columns.values()), places)
    lines = [Slot(column, name=name) for name, column in reading.columns.items()]
    slots = [*given, *lines, *columns.values()]
    taken = {slot.name for slot in slots if slot.name}
    for slot in slots:
        if not slot.name:
            slot.name = _name(slot, places, taken, base)
            taken.add(slot.name)
        slot.annotation = annotation_of(slot.values, Place(f"parameter {slot.name}", slot.name), records)
    if not slots:
        raise NoFunctionError(
            "nothing in it varies: no arguments, no input() and no constants", writable=False
        )
    return sorted(slots, key=lambda slot: slot.optional), places


def _given(scripts: Sequence[Script], columns: Sequence[Slot], places: Places) -> list[Slot]:
    base = scripts[0]
    replaced = {
        places.hint(node)
        for slot in columns
        for node in (hole.nodes[0] for hole in slot.holes)
        if places.assignment(node)
    }
    names = [name for name in base.given if name not in replaced]
    for name in names:
        if any(name not in script.run.arguments for script in scripts):
            raise NoFunctionError(f"{name} was given to some of the runs only")
        if name in BUILTINS or name == "result" or not _fits(name):
            raise NoFunctionError(
                f"an argument named {name} means something else in Python; use another name"
            )
    return [Slot([script.run.arguments[name] for script in scripts], name=name) for name in names]


def _name(slot: Slot, places: Places, taken: set[str], base: Script) -> str:
    nodes = [hole.nodes[0] for hole in slot.holes]
    for node in nodes:
        statement = places.assignment(node)
        name = places.hint(node)
        if statement and name not in taken and _fits(name) and _serves(name, slot, places, base):
            return name
    hints = [re.sub(r"\W+", "_", places.hint(node)).strip("_").lower() for node in nodes]
    for hint in filter(_fits, hints):
        for name in (hint, f"{hint}_value"):
            free = name not in taken | BUILTINS | base.used | base.scope.bound
            if free and not any(places.shadowed(node, name) for node in nodes):
                return name
    number = 1
    while (name := f"value_{number}") in taken | own_names(base):
        number += 1
    return name


def _fits(name: str) -> bool:
    return bool(re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}", name)) and not keyword.iskeyword(name)


def _serves(name: str, slot: Slot, places: Places, base: Script) -> bool:
    """Whether a variable of the program can be the parameter: it holds the value wherever the value is wanted."""
    if len(slot.holes) == 1:
        return True
    nodes = [hole.nodes[0] for hole in slot.holes]
    own = [node for node in nodes if places.assignment(node) and places.hint(node) == name]
    others = [node for node in nodes if node not in own]
    once = base.times[name] == 1 and not any(is_container(node) for node in nodes)
    return once and not any(places.shadowed(node, name) for node in others)


def filled(slots: Sequence[Slot], places: Places) -> tuple[dict[int, str], list[ast.Assign]]:
    """Expressions for the holes, by the id of the node there, and the statements that are no longer needed."""
    texts: dict[int, str] = {}
    gone: list[ast.Assign] = []
    for slot in slots:
        for hole in slot.holes:
            node = hole.nodes[0]
            again = is_container(node) and (len(slot.holes) > 1 or places.repeated(node))
            text = rebuilt(hole.nodes, f"copy.deepcopy({slot.name})" if again else slot.name)
            statement = places.assignment(node)
            if text == slot.name and statement and places.hint(node) == slot.name:
                gone.append(statement)
            else:
                texts[id(node)] = text or slot.name
    return texts, gone


def constants(script: Script, records: Records) -> list[Hole]:
    """The places of a single program that its author would change: values of names of the top level."""
    found = []
    names = [node for node in ast.walk(script.tree) if isinstance(node, ast.Name)]
    loaded = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    for statement in script.rest:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name != "result":
                if script.times[name] != 1 or name not in loaded or value_of(value) is None:
                    continue
                hole = Hole([value])
                try:
                    annotation_of(hole.values, Place(name, name), Records(records.taken))
                except NoFunctionError:
                    continue
                if rebuilt(hole.nodes, name) is not None and value_of(value) != (None,):
                    found.append(hole)
    return found
