"""Edits that authors make to a program between two runs of it."""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

Edit = Callable[[ast.Module, random.Random], ast.Module | None]
"""Changes the tree that it is given; nothing where there is nothing to change."""
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
_CLOSED = ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.BoolOp | ast.IfExp
"""What is in them may not be computed before them."""
_COMPUTED = ast.Call | ast.BinOp | ast.Subscript


def edited(code: str, edit: Edit, seed: int) -> str | None:
    """The program after an edit, without its comments and layout; nothing where the edit finds no place."""
    tree = edit(ast.parse(code), random.Random(seed))
    return ast.unparse(ast.fix_missing_locations(tree)) if tree else None


def same(tree: ast.Module, _: random.Random) -> ast.Module:
    """Another layout, no comments."""
    return tree


def renamed(tree: ast.Module, rng: random.Random) -> ast.Module | None:
    """Every variable, parameter and function has another name."""
    fields = {name for owner in _all(tree, ast.ClassDef) for each in owner.body for name in _bound(each)}
    new: dict[str, str] = {}
    for name in sorted(set(_bound(tree)) - fields):
        new[name] = f"{rng.choice(('value', 'item', 'thing', 'entry', 'x'))}_{len(new)}"
    own = {node.name for node in _all(tree, _FUNCTIONS)}
    for call in _all(tree, ast.Call):
        for keyword in call.keywords if isinstance(call.func, ast.Name) and call.func.id in own else ():
            keyword.arg = new.get(keyword.arg or "", keyword.arg)
    for node in ast.walk(tree):
        for word in ("id", "arg", "name"):
            if not isinstance(node, ast.keyword | ast.alias) and isinstance(
                old := getattr(node, word, None), str
            ):
                setattr(node, word, new.get(old, old))
        if isinstance(node, ast.Global | ast.Nonlocal):
            node.names = [new.get(each, each) for each in node.names]
    return tree if new else None


def other_constants(tree: ast.Module, rng: random.Random) -> ast.Module | None:
    """Other numbers and texts; lists of constants are longer or shorter."""
    found = False
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and not isinstance(node.value, bool | None):
            found = True
            if isinstance(node.value, str):
                node.value = "".join(rng.choices("abc xyz-/.", k=rng.randint(1, 12)))
            elif isinstance(node.value, int):
                node.value = rng.randint(0, 999)
            elif isinstance(node.value, float):
                node.value = round(rng.uniform(0, 99), 3)
        elif (
            isinstance(node, ast.List)
            and node.elts
            and all(isinstance(each, ast.Constant) for each in node.elts)
        ):
            node.elts = [copy.deepcopy(rng.choice(node.elts)) for _ in range(rng.randint(1, 9))]
    return tree if found else None


def helper_above(tree: ast.Module, rng: random.Random) -> ast.Module | None:
    """An expression becomes a function of its own, at the top."""
    return _extracted(tree, rng, below=False)


def helper_below(tree: ast.Module, rng: random.Random) -> ast.Module | None:
    """The same at the end, for the same random numbers."""
    return _extracted(tree, rng, below=True)


def _extracted(tree: ast.Module, rng: random.Random, *, below: bool) -> ast.Module | None:
    holders = list(_computing(tree))
    if not holders:
        return None
    holder = rng.choice(holders)
    functions = {each.name for each in _all(tree, _FUNCTIONS)}
    free = sorted({each.id for each in _all(holder.value, ast.Name)} & set(_bound(tree)) - functions)
    helper = _statement(f"def derived({', '.join(free)}):\n    pass")
    helper.body = [ast.Return(holder.value)]
    holder.value = ast.parse(f"derived({', '.join(free)})", mode="eval").body
    imports = [at for at, each in enumerate(tree.body) if isinstance(each, ast.Import | ast.ImportFrom)]
    tree.body.insert(len(tree.body) if below else max(imports, default=-1) + 1, helper)
    return tree


def printed(tree: ast.Module, rng: random.Random) -> ast.Module | None:
    """One more print."""
    block, at = rng.choice(list(_places(tree)))
    block.insert(at, _statement(f"print({rng.choice(sorted(_bound(tree)) or [repr('here')])})"))
    return tree


def guarded(tree: ast.Module, rng: random.Random) -> ast.Module | None:
    """One more condition: a return at the beginning of a function, or around a statement."""
    functions = [node for node in _all(tree, _FUNCTIONS) if node.args.args]
    if functions and rng.random() < 0.5:
        chosen = rng.choice(functions)
        name = rng.choice(chosen.args.args).arg
        chosen.body.insert(0, _statement(f"if not {name}:\n    return {rng.choice(('None', '[]', name))}"))
        return tree
    block, at = rng.choice(list(_places(tree)))
    block[at] = ast.If(ast.Name(rng.choice(sorted(_bound(tree)) or ["True"])), [block[at]], [])
    return tree


def tried(tree: ast.Module, rng: random.Random) -> ast.Module | None:
    """A statement, or a whole body, stands in a try."""
    bodies = [each.body for each in _all(tree, _FUNCTIONS)]
    handled = _statement("try:\n    pass\nexcept Exception as error:\n    print(error)")
    if bodies and rng.random() < 0.5:
        body = rng.choice(bodies)
        handled.body, body[:] = body[:], [handled]
    else:
        block, at = rng.choice(list(_places(tree)))
        handled.body, block[at] = [block[at]], handled
    return tree


def named(tree: ast.Module, rng: random.Random) -> ast.Module | None:
    """An intermediate value has a variable."""
    places = []
    for block, at in _places(tree):
        if isinstance(block[at], ast.Return | ast.Assign | ast.Expr | ast.AugAssign) and block[at].value:
            places += [(block, at, each) for each in _inside(block[at])]
    if not places:
        return None
    block, at, value = rng.choice(places)
    name = ast.Name("intermediate")
    block[at] = _Replacing(value, name).visit(block[at])
    block.insert(at, ast.Assign([name], value))
    return tree


class _Replacing(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self._new if node is self._old else self.generic_visit(node)


def compared(tree: ast.Module, rng: random.Random) -> ast.Module | None:
    """Another operator: `<=` for `<`, `-` for `+`."""
    other = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
             ast.NotEq: ast.Eq, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv}  # fmt: skip
    places = [node for node in _all(tree, ast.Compare) if type(node.ops[0]) in other]
    places += [node for node in _all(tree, ast.BinOp | ast.AugAssign) if type(node.op) in other]
    if not places:
        return None
    node = rng.choice(places)
    if isinstance(node, ast.Compare):
        node.ops[0] = other[type(node.ops[0])]()
    else:
        node.op = other[type(node.op)]()
    return tree


def converted(tree: ast.Module, rng: random.Random) -> ast.Module | None:
    """One more call around a value."""
    holders = list(_computing(tree))
    if not holders:
        return None
    holder = rng.choice(holders)
    word = rng.choice(("str", "list", "sorted", "len", "round"))
    holder.value = ast.Call(ast.Name(word), [holder.value], [])
    return tree


def in_main(tree: ast.Module, rng: random.Random) -> ast.Module | None:
    """A script becomes `def main()` and its call."""
    imports = [each for each in tree.body if isinstance(each, ast.Import | ast.ImportFrom)]
    functions = [each for each in tree.body if isinstance(each, _FUNCTIONS | ast.ClassDef)]
    rest = [each for each in tree.body if each not in imports and each not in functions]
    if not rest:
        return None
    main = _statement("def main():\n    pass")
    main.body = rest  # type: ignore[attr-defined]
    call = _statement(rng.choice(("main()", "if __name__ == '__main__':\n    main()")))
    tree.body = [*imports, *functions, main, call]
    return tree


SMALL: dict[str, Edit] = {
    "one more print": printed, "one more condition": guarded, "a try": tried, "one more variable": named,
    "another operator": compared, "one more call": converted,
}  # fmt: skip


def all_at_once(tree: ast.Module, rng: random.Random) -> ast.Module | None:
    """Other names, other constants and a small edit."""
    made = rng.choice(list(SMALL.values()))(tree, rng)
    if not made:
        return None
    made = ast.parse(ast.unparse(ast.fix_missing_locations(made)))
    other_constants(made, rng)
    return renamed(made, rng) or made


EDITS: dict[str, Edit] = {
    "other layout": same, "other names": renamed, "other constants": other_constants, "in a main": in_main,
    "a helper function made": helper_above, **SMALL, "all at once": all_at_once,
}  # fmt: skip
BOTH: dict[str, tuple[Edit, Edit]] = {
    "a helper function moved": (helper_above, helper_below), "all at once, in both": (all_at_once, all_at_once),
}  # fmt: skip
"""Both programs of a pair are edited."""


def _all(tree: ast.AST, kinds: Any) -> Iterator[Any]:
    return (node for node in ast.walk(tree) if isinstance(node, kinds))


def _bound(tree: ast.AST) -> set[str]:
    stored = {node.id for node in _all(tree, ast.Name) if isinstance(node.ctx, ast.Store)}
    handlers = {node.name for node in _all(tree, ast.ExceptHandler) if node.name}
    functions = {node.name for node in _all(tree, _FUNCTIONS)}
    return stored | handlers | functions | {node.arg for node in _all(tree, ast.arg)}


def _statement(code: str) -> Any:
    return ast.parse(code).body[0]


def _places(tree: ast.Module) -> Iterator[tuple[list[Any], int]]:
    """Each statement's place, but for imports and definitions."""
    fixed = ast.Import | ast.ImportFrom | ast.ClassDef | _FUNCTIONS
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list) and not isinstance(node, ast.ClassDef):
                yield from ((block, at) for at, each in enumerate(block) if not isinstance(each, fixed))


def _computing(tree: ast.Module) -> Iterator[Any]:
    """Statements that return or assign what they compute."""
    for node in _all(tree, ast.Return | ast.Assign):
        if isinstance(node.value, _COMPUTED):
            yield node


def _inside(statement: Any) -> Iterator[ast.expr]:
    """What is computed in a statement, for whatever reason it runs."""
    rest = [statement.value]
    while rest:
        node = rest.pop()
        if isinstance(node, _COMPUTED) and (node is not statement.value or isinstance(statement, ast.Return)):
            yield node
        if not isinstance(node, _CLOSED):
            rest.extend(each for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr))
