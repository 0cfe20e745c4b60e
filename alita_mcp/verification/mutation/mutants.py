"""Generator of mutants: variants of a tool's code with one small mistake each, without irrelevant ones."""

from __future__ import annotations

import ast
import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from alita_mcp.values import Value
from alita_mcp.verification.code.source import excerpt, parse_code
from alita_mcp.verification.mutation.operators import empty_result, mistakes_at

_SPOKEN = frozenset({"print", "debug", "info", "warning", "error", "critical", "exception", "log", "warn"})
"""Calls that only say something."""
Site = tuple[Any, str, int | None, ast.AST]
"""A node behind its parent, the parent's field, and the index in a field that is a list."""


class Reach:
    """Reachability of one tree: nodes that no result depends on, and the return types of functions."""

    def __init__(self, tree: ast.Module, function: str) -> None:
        self._idle = {id(node) for node in _never_used(tree, function)}
        self.returns: dict[int, ast.expr | None] = {}
        """The return annotation of the function that a return statement ends, by the statement's id."""
        self.assigned: Counter[str] = Counter()
        """How often each name is assigned."""
        for node in ast.walk(tree):
            self._idle |= {id(part) for part in _words(node)}
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self.assigned[node.id] += 1
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):  # inner ones come later and count
                returns = (part for part in ast.walk(node) if isinstance(part, ast.Return))
                self.returns |= dict.fromkeys(map(id, returns), node.returns)
        self.tables: dict[int, int] = {}
        """The line of the table of constants that holds a node, by the node's id."""
        for statement in tree.body:  # constants at the top level with more than a few entries
            constants = sum(isinstance(part, ast.Constant) for part in ast.walk(statement))
            if isinstance(statement, ast.Assign | ast.AnnAssign) and constants > 4:
                self.tables |= dict.fromkeys(map(id, ast.walk(statement)), statement.lineno)

    def sites(self, node: ast.AST) -> Iterator[Site]:
        """The places below a node where a mistake can be noticed."""
        for field, value in ast.iter_fields(node):
            if field in {"annotation", "returns", "decorator_list", "type_params", "bases"}:
                continue
            children = value if isinstance(value, list) else [value]
            for place, child in enumerate(children):
                if isinstance(child, ast.AST) and id(child) not in self._idle:
                    yield node, field, place if isinstance(value, list) else None, child
                    yield from self.sites(child)


def _words(node: ast.AST) -> list[ast.AST]:
    """Parts of a node that no result depends on: docstrings, printed text, error messages, imports."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Global() | ast.Nonlocal() | ast.Expr(value=ast.Constant()):
            return [node]
        case ast.Expr(value=ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name))) if name in _SPOKEN:
            return [node]
        case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Compare(left=ast.Name(id="__name__"))):
            return [node]
        case ast.Assign(targets=[ast.Name(id=name)]) if name.startswith("__"):
            return [node]
        case ast.If(test=ast.Constant(value=bool(always)) as test):
            return [test, *(node.orelse if always else node.body)]
        case ast.Raise(exc=ast.Call(args=args, keywords=keywords), cause=cause):
            return [*args, *keywords, *([cause] if cause else [])]
        case ast.Assert(msg=ast.expr() as message):
            return [message]
        case ast.FormattedValue(format_spec=ast.expr() as written):
            return [written]
        case ast.JoinedStr(values=parts):
            return [part for part in parts if isinstance(part, ast.Constant)]
    return []


def _never_used(tree: ast.Module, function: str) -> list[ast.stmt]:
    """Functions and classes at the top level that nothing reachable from the tool's function names."""
    definitions = {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    waiting: list[ast.AST] = [node for node in tree.body if node not in definitions.values()]
    waiting += [definitions[function]] if function in definitions else []
    reached = {function}
    while waiting:
        names = {node.id for node in ast.walk(waiting.pop()) if isinstance(node, ast.Name)}
        names = (names & definitions.keys()) - reached
        reached |= names
        waiting += [definitions[name] for name in names]
    return [node for name, node in definitions.items() if name not in reached]


MAX_MUTANTS = 60
"""More than that say little more: 60 drawn at random give a score to within a tenth."""
MAX_TABLE_MUTANTS = 4
"""From one table of constants: it is looked at, but a thousand of its numbers do not outweigh the code."""
MAX_WRITTEN = 2_000_000
"""Characters of all mutants together: each is the whole code twice more."""
_MAX_SITES = 20_000
_MAX_PER_NODE = 40
"""A condition of ten thousand parts has as many mistakes, each as long as itself."""


class Mutant(Value):
    """One variant of the code."""

    line: int
    was: str
    """The beginning of the text that was replaced."""
    now: str
    code: str
    trap: str = ""
    """The code with an error in place of the mistake, which every call that reaches it shows."""


@dataclass(frozen=True)
class Change:
    """One replacement of a node."""

    site: Site
    instead: ast.AST
    line: int = 0

    @property
    def node(self) -> ast.AST:
        """The node that is replaced."""
        return self.site[3]

    def render(self, tree: ast.Module, instead: ast.AST | None = None) -> str:
        """The whole code with the replacement or another node in place; empty when it cannot be unparsed.

        The tree is as before afterwards.
        """
        self.put(instead or self.instead)
        try:
            return ast.unparse(tree)
        except (ValueError, RecursionError):  # a number with more digits than Python prints
            return ""
        finally:
            self.put(self.node)

    def put(self, node: ast.AST) -> None:
        """Puts a node into the place."""
        parent, field, place, _ = self.site
        if place is None:
            setattr(parent, field, node)
        else:
            getattr(parent, field)[place] = node


def mutants_of(code: str, function: str, limit: int | None = None) -> tuple[Mutant, ...]:
    """At most `limit` (MAX_MUTANTS) mutants of a tool's code: always the same ones, spread fairly over its lines.

    Raises:
        ContractError: the code does not parse.
    """
    tree = parse_code(code)
    most = MAX_MUTANTS if limit is None else limit
    reach = Reach(tree, function)
    by_line: defaultdict[int, list[Change]] = defaultdict(list)
    for site in islice(reach.sites(tree), _MAX_SITES):
        parent, _, _, node = site
        # an operator or a comprehension has no line of its own
        line = getattr(node, "lineno", 0) or getattr(parent, "lineno", 0)
        mistakes: Iterable[ast.AST] = islice(mistakes_at(node), _MAX_PER_NODE)
        if isinstance(node, ast.Return) and node.value is not None:
            empty = empty_result(reach.returns.get(id(node)))
            mistakes = [ast.Return(empty)] if ast.dump(empty) != ast.dump(node.value) else []
        elif isinstance(node, ast.Assign) and all(
            isinstance(name, ast.Name) and reach.assigned[name.id] > 1 for name in node.targets
        ):
            mistakes = [ast.Pass(), *mistakes]  # its names still have values without it
        for mistake in mistakes:
            by_line[line].append(Change(site, mistake, line))

    # each line with a change comes once before one comes twice; which comes first is drawn by the code itself
    draw = random.Random(hashlib.sha256(code.encode()).hexdigest())  # noqa: S311 - a sample, not a secret
    tables: Counter[int] = Counter()
    order: list[tuple[int, float, Change]] = []
    for line in draw.sample(sorted(by_line), len(by_line)):
        for place, change in enumerate(draw.sample(by_line[line], len(by_line[line]))):
            table = reach.tables.get(id(change.node), 0)
            tables[table] += 1
            if not table or tables[table] <= MAX_TABLE_MUTANTS:
                order.append((place, draw.random(), change))

    seen = {ast.unparse(tree), ""}
    found: list[Mutant] = []
    written = 0
    for _, _, change in sorted(order, key=lambda each: each[:2]):
        if len(found) >= most or written > MAX_WRITTEN:
            break
        mutated = change.render(tree)
        if mutated in seen:
            continue
        seen.add(mutated)
        # an error in place of the node
        node, error = change.node, ast.BinOp(ast.Constant(1), ast.FloorDiv(), ast.Constant(0))
        instead: ast.AST = ast.Expr(error) if isinstance(node, ast.stmt) else error
        if isinstance(node, ast.comprehension):
            instead = ast.comprehension(node.target, error, node.ifs, node.is_async)
        trap = change.render(tree, instead)
        written += len(mutated) + len(trap)
        was, now = _describe_node(node), _describe_node(change.instead)
        found.append(Mutant(line=change.line, was=was, now=now, code=mutated, trap=trap))
    return tuple(found)


def _describe_node(node: ast.AST) -> str:
    match node:
        case ast.If(test=test):
            return f"if {excerpt(test)}"
        case ast.While(test=test):
            return f"while {excerpt(test)}"
        case ast.For(target=target, iter=iterable):
            return f"for {excerpt(target)} in {excerpt(iterable)}"
        case ast.comprehension(target=target, iter=iterable, ifs=ifs):
            return " if ".join([f"for {excerpt(target)} in {excerpt(iterable)}", *map(excerpt, ifs)])
    return excerpt(node)
