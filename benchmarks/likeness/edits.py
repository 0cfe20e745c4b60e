"""A program in, the like of it out: what authors change between two runs of the same program."""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Callable, Iterator

Edit = Callable[[ast.Module, random.Random], ast.Module | None]
"""Changes the tree that it is given; nothing where there is nothing to change."""
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
_CLOSED = ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.BoolOp | ast.IfExp
"""What is in them may not be computed before them."""


def edited(code: str, edit: Edit, seed: int) -> str | None:
    """The program after an edit, without its comments and layout; nothing where the edit finds no place."""
    tree = edit(ast.parse(code), random.Random(seed))  # noqa: S311
    return ast.unparse(ast.fix_missing_locations(tree)) if tree else None


def renamed(tree: ast.Module, rng: random.Random) -> ast.Module | None:
    """Every variable, parameter and function has another name."""
    fixed = {"self", "cls"} | {
        (each.asname or each.name).partition(".")[0] for node in _all(tree, ast.alias) for each in [node]
    }
    for owner in _all(tree, ast.ClassDef):
        fixed |= {name for statement in owner.body for name in _bound(statement, deep=False)}
    new: dict[str, str] = {}
    for name in sorted(set(_bound(tree)) - fixed):
        new[name] = f"{rng.choice(('value', 'item', 'thing', 'entry', 'x'))}_{len(new)}"
    own = {node.name for node in _all(tree, _FUNCTIONS)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in own:
            for keyword in node.keywords:
                keyword.arg = new.get(keyword.arg or "", keyword.arg)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = new.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = new.get(node.arg, node.arg)
        elif isinstance(node, _FUNCTIONS | ast.ExceptHandler) and node.name:
            node.name = new.get(node.name, node.name)
        elif isinstance(node, ast.Global | ast.Nonlocal):
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


def extracted(tree: ast.Module, rng: random.Random, *, below: bool = False) -> ast.Module | None:
    """An expression becomes a function of its own, at the top or at the end."""
    places = [(node, name) for node, name in _computed(tree)]
    if not places:
        return None
    node, name = rng.choice(places)
    value = getattr(node, name)
    known = set(_bound(tree))
    free = sorted(
        {each.id for each in _all(value, ast.Name)} & known - {each.name for each in _all(tree, _FUNCTIONS)}
    )
    parameters = ast.arguments([], [ast.arg(each) for each in free], None, [], [], None, [])
    helper = ast.FunctionDef("derived", parameters, [ast.Return(value)], [], type_params=[])
    setattr(node, name, ast.Call(ast.Name("derived"), [ast.Name(each) for each in free], []))
    tree.body.insert(len(tree.body) if below else _after_imports(tree), helper)
    return tree


def printed(tree: ast.Module, rng: random.Random) -> ast.Module | None:
    """One more print."""
    block, at = rng.choice(list(_places(tree)))
    names = sorted(set(_bound(block[at])) | set(_bound(tree)))
    shown = ast.Name(rng.choice(names)) if names and rng.random() < 0.7 else ast.Constant("here")
    block.insert(at, _statement(f"print({ast.unparse(shown)})"))
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
    names = sorted(set(_bound(tree))) or ["True"]
    block[at] = ast.If(ast.Name(rng.choice(names)), [block[at]], [])
    return tree


def tried(tree: ast.Module, rng: random.Random) -> ast.Module | None:
    """A statement, or a whole body, stands in a try."""
    handler = ast.ExceptHandler(ast.Name("Exception"), "error", [_statement("print(error)")])
    bodies = [each.body for each in _all(tree, _FUNCTIONS)]
    if bodies and rng.random() < 0.5:
        body = rng.choice(bodies)
        body[:] = [ast.Try(body[:], [handler], [], [])]
    else:
        block, at = rng.choice(list(_places(tree)))
        block[at] = ast.Try([block[at]], [handler], [], [])
    return tree


def named(tree: ast.Module, rng: random.Random) -> ast.Module | None:
    """An intermediate value has a variable."""
    places = []
    for block, at in _places(tree):
        statement = block[at]
        if isinstance(statement, ast.Return | ast.Assign | ast.Expr | ast.AugAssign) and statement.value:
            places += [(block, at, *each) for each in _inside(statement)]
    if not places:
        return None
    block, at, owner, field, index = rng.choice(places)
    held = getattr(owner, field)
    value = held if index is None else held[index]
    if index is None:
        setattr(owner, field, ast.Name("intermediate"))
    else:
        held[index] = ast.Name("intermediate")
    block.insert(at, ast.Assign([ast.Name("intermediate")], value, lineno=0))
    return tree


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
    places = list(_computed(tree))
    if not places:
        return None
    node, name = rng.choice(places)
    word = ast.Name(rng.choice(("str", "list", "sorted", "len", "round")))
    setattr(node, name, ast.Call(word, [getattr(node, name)], []))
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


def _all(tree: ast.AST, kinds: type) -> Iterator[ast.AST]:
    return (node for node in ast.walk(tree) if isinstance(node, kinds))


def _bound(tree: ast.AST, *, deep: bool = True) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.arg) and deep:
            yield node.arg
        elif isinstance(node, _FUNCTIONS) or (isinstance(node, ast.ExceptHandler) and node.name):
            yield node.name


def _statement(code: str) -> ast.stmt:
    return ast.parse(code).body[0]


def _after_imports(tree: ast.Module) -> int:
    imports = [at for at, each in enumerate(tree.body) if isinstance(each, ast.Import | ast.ImportFrom)]
    return imports[-1] + 1 if imports else 0


def _places(tree: ast.Module) -> Iterator[tuple[list[ast.stmt], int]]:
    """Each statement's place, but for imports and definitions."""
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list) and not isinstance(node, ast.ClassDef):
                yield from (
                    (block, at)
                    for at, each in enumerate(block)
                    if not isinstance(each, ast.Import | ast.ImportFrom | _FUNCTIONS | ast.ClassDef)
                )


def _computed(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Where a value is computed that a statement returns or assigns."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Return | ast.Assign) and isinstance(
            node.value, ast.Call | ast.BinOp | ast.Subscript
        ):
            yield node, "value"


def _inside(statement: ast.stmt) -> Iterator[tuple[ast.AST, str, int | None]]:
    """Calls, sums and the like in a statement's value, each as its holder, field and place there."""
    rest: list[ast.AST] = [statement]
    while rest:
        holder = rest.pop()
        for field, value in ast.iter_fields(holder):
            held = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
            for index, each in held:
                if not isinstance(each, ast.expr) or isinstance(each, _CLOSED | ast.Starred):
                    continue
                if isinstance(each, ast.Call | ast.BinOp | ast.Subscript) and isinstance(
                    each_ctx(each), ast.Load
                ):
                    if holder is not statement or isinstance(statement, ast.Return):
                        yield holder, field, index
                rest.append(each)


def each_ctx(node: ast.expr) -> ast.expr_context:
    """Whether a value is read or written."""
    return getattr(node, "ctx", ast.Load())
