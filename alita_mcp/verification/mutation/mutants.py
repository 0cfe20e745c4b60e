"""Generator of mutants: variants of a tool's code with one small mistake each, without irrelevant ones."""

from __future__ import annotations

import ast
import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from alita_mcp.values import Value
from alita_mcp.verification.code.source import excerpt, parse_code
from alita_mcp.verification.mutation.operators import empty_result, mistakes_at
from alita_mcp.verification.mutation.reach import Reach, Site

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

    @property
    def change(self) -> tuple[int, str, str]:
        """What it changes, and where."""
        return self.line, self.was, self.now


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

    def written(self, tree: ast.Module, instead: ast.AST | None = None) -> str:
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
    return mutants_in(parse_code(code), code, function, limit)


def mutants_in(tree: ast.Module, code: str, function: str, limit: int | None = None) -> tuple[Mutant, ...]:
    """The mutants of a parsed tree; line numbers are those of the code."""
    most = MAX_MUTANTS if limit is None else limit
    reach = Reach(tree, function)
    seen = {ast.unparse(tree), ""}
    found: list[Mutant] = []
    written = 0
    for change in _in_fair_order(_changes(tree, reach), reach, code):
        if len(found) >= most or written > MAX_WRITTEN:
            break
        mutated = change.written(tree)
        if mutated in seen:
            continue
        seen.add(mutated)
        trap = change.written(tree, _trap(change.node))
        written += len(mutated) + len(trap)
        was, now = _shown(change.node), _shown(change.instead)
        found.append(Mutant(line=change.line, was=was, now=now, code=mutated, trap=trap))
    return tuple(found)


def _trap(node: ast.AST) -> ast.AST:
    """An error in the place of a node."""
    error = ast.BinOp(ast.Constant(1), ast.FloorDiv(), ast.Constant(0))
    if isinstance(node, ast.stmt):
        return ast.Expr(error)
    if isinstance(node, ast.comprehension):
        return ast.comprehension(node.target, error, node.ifs, node.is_async)
    return error


def _shown(node: ast.AST) -> str:
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


def _in_fair_order(changes: Iterator[Change], reach: Reach, code: str) -> list[Change]:
    """Each line with a change comes once before one comes twice; which comes first is drawn by the code itself."""
    draw = random.Random(hashlib.sha256(code.encode()).hexdigest())  # noqa: S311 - a sample, not a secret
    by_line: defaultdict[int, list[Change]] = defaultdict(list)
    for change in changes:
        by_line[change.line].append(change)
    tables: Counter[int] = Counter()
    order: list[tuple[int, float, Change]] = []
    for line in draw.sample(sorted(by_line), len(by_line)):
        for place, change in enumerate(draw.sample(by_line[line], len(by_line[line]))):
            table = reach.table_of(change.node)
            tables[table] += 1
            if not table or tables[table] <= MAX_TABLE_MUTANTS:
                order.append((place, draw.random(), change))
    return [change for _, _, change in sorted(order, key=lambda each: each[:2])]


def _changes(tree: ast.Module, reach: Reach) -> Iterator[Change]:
    for site in islice(reach.sites(tree), _MAX_SITES):
        parent, _, _, node = site
        # an operator or a comprehension has no line of its own
        line = getattr(node, "lineno", 0) or getattr(parent, "lineno", 0)
        if isinstance(node, ast.Return) and node.value is not None:
            empty = empty_result(reach.returns(node))
            if ast.dump(empty) != ast.dump(node.value):
                yield Change(site, ast.Return(empty), line)
            continue
        if isinstance(node, ast.Assign) and reach.is_reassigned(node):
            yield Change(site, ast.Pass(), line)
        for instead in islice(mistakes_at(node), _MAX_PER_NODE):
            yield Change(site, instead, line)
