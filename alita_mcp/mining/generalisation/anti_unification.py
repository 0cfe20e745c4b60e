"""Anti-unification of programs: what all of them share, and the literals in which they differ."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from alita_mcp.mining.generalisation.literals import is_container, rebuilt, value_of
from alita_mcp.mining.generalisation.refusal import NoFunctionError
from alita_mcp.mining.generalisation.scopes import Function, Opening, Scope, parts_of, resolve, scope_of
from alita_mcp.mining.generalisation.script import Import, Script, is_text
from alita_mcp.mining.generalisation.value_types import Place, Records, annotation_of

_OTHER = "the programs differ in more than values: "
_BINDING = {"name", "arg", "asname", "rest"}
_SKIPPED = {"ctx", "type_comment", "kind", "annotation", "returns"}


@dataclass
class Hole:
    """A place in the first program where the programs have different literals: one of each."""

    nodes: list[ast.expr]

    @property
    def values(self) -> list[Any]:
        """JSON value of the literal in each program."""
        return [found[0] for node in self.nodes if (found := value_of(node))]


@dataclass
class _Frame:
    """The same scope in each program, and which of its names have been found to be one another's."""

    scopes: list[Scope]
    alike: dict[str, tuple[str, ...]] = field(default_factory=dict)
    taken: set[tuple[int, str]] = field(default_factory=set)


def anti_unified(scripts: Sequence[Script]) -> list[Hole]:
    """The places where like programs differ, modulo names of their own and the order of their definitions.

    Raises:
        NoFunctionError: they differ in more than literals.
    """
    comparison = _Comparison(scripts)
    comparison.programs()
    return comparison.holes


class _Comparison:
    """Walks all the programs at once."""

    def __init__(self, scripts: Sequence[Script]) -> None:
        self.holes: list[Hole] = []
        self._scripts = scripts
        self._frames = [_Frame([script.scope for script in scripts])]
        self._pending: list[list[ast.stmt]] = []
        self._fixed_places = 0
        self._given = {"result"}.union(*(script.run.arguments for script in scripts))
        """Names of the top level that the caller sees."""
        nodes = (node for script in scripts for node in ast.walk(script.tree))
        self._fixed = {node.arg for node in nodes if isinstance(node, ast.keyword) and node.arg}
        """Names of parameters that some call says."""

    def programs(self) -> None:
        """Compares the statements of the top level, then the functions and classes that these led to."""
        self._all(
            [[each for each in script.rest if not isinstance(each, ast.Pass)] for script in self._scripts]
        )
        while self._pending:
            self._same(list(self._pending.pop(0)))

    def _all(self, columns: Sequence[Sequence[ast.AST]]) -> None:
        if len({len(column) for column in columns}) > 1:
            raise NoFunctionError(f"{_OTHER}one has more statements or parts than another")
        for row in zip(*columns, strict=True):
            self._same(list(row))

    def _same(self, nodes: list[ast.AST]) -> None:
        if isinstance(nodes[0], ast.expr) and self._literals(nodes):
            return
        if len({type(node) for node in nodes}) > 1:
            kinds = " and ".join(sorted({type(node).__name__ for node in nodes}))
            raise NoFunctionError(f"{_OTHER}{kinds} stand at the same place")
        if isinstance(nodes[0], ast.Name):
            self._names([node.id for node in nodes if isinstance(node, ast.Name)])
        elif isinstance(nodes[0], Opening):
            self._scopes(nodes)
        else:
            self._fixed_places += isinstance(nodes[0], ast.pattern)
            self._fields(nodes)
            self._fixed_places -= isinstance(nodes[0], ast.pattern)

    def _literals(self, nodes: list[ast.AST]) -> bool:
        """Whether the nodes are literals and dealt with."""
        literals = [node for node in nodes if isinstance(node, ast.expr) and value_of(node)]
        if len(literals) < len(nodes):
            return False
        if len({ast.dump(node) for node in nodes}) == 1:
            return True
        if self._fixed_places:
            raise NoFunctionError("patterns or annotations differ, where no variable can stand")
        hole = Hole(literals)
        try:
            annotation_of(hole.values, Place("the values", "values"), Records())
        except NoFunctionError:
            parts = {(type(node), len(list(ast.iter_child_nodes(node)))) for node in nodes}
            if not is_container(nodes[0]) or len(parts) > 1:
                raise
            return False  # perhaps its parts have types
        if rebuilt(literals, "x") is None:
            return False
        self.holes.append(hole)
        return True

    def _names(self, names: Sequence[str]) -> None:
        """Names are the same when they belong to the same scope and always stand for one another there."""
        places = {
            resolve([frame.scopes[run] for frame in self._frames], name) for run, name in enumerate(names)
        }
        if len(places) > 1:
            raise NoFunctionError(f"{_OTHER}{' and '.join(sorted(set(names)))} are not the same name")
        place = places.pop()
        if place is not None and names[0] in (frame := self._frames[place]).alike:
            alike = frame.alike[names[0]] == tuple(names)
        elif (
            place is None
            or frame.scopes[0].kind == "class"
            or self._fixed.intersection(names)
            or (place == 0 and self._given.intersection(names))
        ):
            alike = len(set(names)) == 1
        else:
            alike = not frame.taken.intersection(enumerate(names))
        if not alike:
            raise NoFunctionError(f"{_OTHER}{' and '.join(sorted(set(names)))} are not the same name")
        if place is not None and names[0] not in frame.alike:
            frame.alike[names[0]] = tuple(names)
            frame.taken.update(enumerate(names))
            if place == 0:
                self._defined(names)

    def _defined(self, names: Sequence[str]) -> None:
        """Compares what names of the top level are defined as, later."""
        found = [script.definitions.get(name, []) for script, name in zip(self._scripts, names, strict=True)]
        if all(isinstance(each, Import) for statements in found for each in statements):
            if len({tuple(sorted(_imported(each) for each in statements)) for statements in found}) > 1:
                raise NoFunctionError(f"{_OTHER}{names[0]} is not imported from the same place")
            return
        if len({len(statements) for statements in found}) > 1:
            raise NoFunctionError(f"{_OTHER}{names[0]} is defined in one way here and in another there")
        self._pending += [list(row) for row in zip(*found, strict=True)]

    def _scopes(self, nodes: Sequence[ast.AST]) -> None:
        openings = [node for node in nodes if isinstance(node, Opening)]
        if isinstance(openings[0], Function | ast.ClassDef):
            self._names([node.name for node in openings if isinstance(node, Function | ast.ClassDef)])
        parts = [parts_of(node) for node in openings]
        if len({each.shape for each in parts}) > 1:
            raise NoFunctionError(f"{_OTHER}functions of different parameters, or loops of different parts")
        self._all([each.outer for each in parts])
        if any(isinstance(node, Function) and node.decorator_list for node in openings):
            self._fixed_places += 1
            self._all([each.annotations for each in parts])  # the decorator may read them
            self._fixed_places -= 1
        here = self._frames
        self._frames = [*here, _Frame([scope_of(node) for node in openings])]
        self._all([[each for each in part.inner if not _is_idle(each)] for part in parts])
        self._frames = here

    def _fields(self, nodes: list[ast.AST]) -> None:
        for name in nodes[0]._fields:
            if name in _SKIPPED and not (name == "annotation" and isinstance(nodes[0], ast.AnnAssign)):
                continue
            values: list[Any] = [getattr(node, name, None) for node in nodes]
            if all(isinstance(value, list) for value in values):
                self._lists(nodes[0], values)
            elif all(isinstance(value, ast.AST) for value in values):
                self._fixed_places += name == "annotation"
                self._same(values)
                self._fixed_places -= name == "annotation"
            elif any(isinstance(value, ast.AST) for value in values):
                raise NoFunctionError(f"{_OTHER}a part is there in one and missing in another")
            else:
                self._plain(nodes[0], name, values)
        if isinstance(nodes[0], ast.alias):
            self._names(
                [node.asname or node.name.split(".")[0] for node in nodes if isinstance(node, ast.alias)]
            )

    def _lists(self, node: ast.AST, columns: list[list[Any]]) -> None:
        if isinstance(node, ast.Global | ast.Nonlocal):
            if len({len(column) for column in columns}) > 1:
                raise NoFunctionError(f"{_OTHER}they declare different names")
            for row in zip(*columns, strict=True):
                self._names(row)
            return
        if isinstance(node, ast.MatchClass) and isinstance((columns[0] or [None])[0], str):
            self._plain(node, "kwd_attrs", columns)
            return
        if any(each is None for column in columns for each in column):  # `**other` in a dict display
            gaps = {tuple(each is None for each in column) for column in columns}
            if len(gaps) > 1:
                raise NoFunctionError(f"{_OTHER}dicts are made of other parts")
            columns = [[each for each in column if each is not None] for column in columns]
        self._all([[each for each in column if not _is_idle(each)] for column in columns])

    def _plain(self, node: ast.AST, name: str, values: list[Any]) -> None:
        if len(set(map(repr, values))) == 1 and not (name in _BINDING and isinstance(values[0], str)):
            return
        binds = name in _BINDING and not isinstance(node, ast.alias | ast.keyword)
        if binds and all(isinstance(value, str) for value in values):
            self._names(values)
        elif not (isinstance(node, ast.alias) and name == "asname") and len(set(map(repr, values))) > 1:
            raise NoFunctionError(f"{_OTHER}{' and '.join(sorted(map(str, values)))} stand at the same place")


def _is_idle(node: object) -> bool:
    return isinstance(node, ast.AST) and (isinstance(node, ast.Pass) or is_text(node))


def _imported(statement: ast.stmt) -> str:
    if isinstance(statement, ast.ImportFrom):
        return f"{'.' * statement.level}{statement.module}:{statement.names[0].name}"
    return statement.names[0].name if isinstance(statement, ast.Import) else ""
