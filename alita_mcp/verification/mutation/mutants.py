"""Generator of mutants: variants of a tool's code with one small mistake each, without irrelevant ones."""

from __future__ import annotations

import ast
import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from alita_mcp.values import Value
from alita_mcp.verification.code.source import excerpt, parse_code
from alita_mcp.verification.mutation.reach import Reach
from alita_mcp.verification.mutation.rules import empty_result, mistakes_at

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
    """One mistake and its position: a field of a node, or an index in a field that is a list."""

    parent: ast.AST
    field: str
    place: int | None
    node: ast.AST
    instead: ast.AST
    line: int
    table: int
    """Line of the table of constants that it is in; 0: in none."""

    def written(self, tree: ast.Module, instead: ast.AST | None = None) -> str:
        """The whole code with the mistake or another node in place; empty when it cannot be unparsed.

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
        """Replaces the node in the tree."""
        if self.place is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.place] = node


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
    plain = ast.unparse(tree)
    seen = {plain, reach.meaning(plain)}
    found: list[Mutant] = []
    written = 0
    for change in _in_fair_order(_changes(tree, reach), code):
        if len(found) >= most or written > MAX_WRITTEN:
            break
        mutated = change.written(tree)
        meaning = reach.meaning(mutated) if mutated not in seen else mutated
        if mutated and not seen & {mutated, meaning}:
            seen |= {mutated, meaning}
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
    if isinstance(node, ast.If | ast.While):
        return f"{'if' if isinstance(node, ast.If) else 'while'} {excerpt(node.test)}"
    if isinstance(node, ast.For):
        return f"for {excerpt(node.target)} in {excerpt(node.iter)}"
    if isinstance(node, ast.comprehension):
        return " if ".join([f"for {excerpt(node.target)} in {excerpt(node.iter)}", *map(excerpt, node.ifs)])
    return excerpt(node)


def _in_fair_order(changes: Iterator[Change], code: str) -> list[Change]:
    """Each line with a change comes once before one comes twice; which comes first is drawn by the code itself."""
    draw = random.Random(hashlib.sha256(code.encode()).hexdigest())  # noqa: S311 - a sample, not a secret
    by_line: defaultdict[int, list[Change]] = defaultdict(list)
    for change in changes:
        by_line[change.line].append(change)
    tables: Counter[int] = Counter()
    order: list[tuple[int, float, Change]] = []
    for line in draw.sample(sorted(by_line), len(by_line)):
        for place, change in enumerate(draw.sample(by_line[line], len(by_line[line]))):
            tables[change.table] += 1
            if not change.table or tables[change.table] <= MAX_TABLE_MUTANTS:
                order.append((place, draw.random(), change))
    return [change for _, _, change in sorted(order, key=lambda each: each[:2])]


def _changes(tree: ast.Module, reach: Reach) -> Iterator[Change]:
    for count, (parent, field, place, node) in enumerate(sites(tree, reach)):
        if count > _MAX_SITES:
            return
        for instead in _mistakes(node, reach):
            # an operator or a comprehension has no line of its own
            line = getattr(node, "lineno", 0) or getattr(parent, "lineno", 0)
            yield Change(parent, field, place, node, instead, line, reach.table_of(node))


def _mistakes(node: ast.AST, reach: Reach) -> Iterator[ast.AST]:
    if isinstance(node, ast.Return) and node.value is not None:
        empty = empty_result(reach.returns(node))
        if ast.dump(empty) != ast.dump(node.value):
            yield ast.Return(empty)
        return
    if isinstance(node, ast.Assign) and reach.is_reassigned(node):
        yield ast.Pass()
    yield from islice(mistakes_at(node), _MAX_PER_NODE)


def sites(node: ast.AST, reach: Reach) -> Iterator[tuple[Any, str, int | None, ast.AST]]:
    """Each reachable node with its parent, field and index; parts that no example can notice are skipped."""
    for field, value in ast.iter_fields(node):
        if field in {"annotation", "returns", "decorator_list", "type_params", "bases"}:
            continue
        children = value if isinstance(value, list) else [value]
        for place, child in enumerate(children):
            if isinstance(child, ast.AST) and not reach.is_idle(child):
                yield node, field, place if isinstance(value, list) else None, child
                yield from sites(child, reach)
