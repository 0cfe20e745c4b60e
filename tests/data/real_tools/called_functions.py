import ast

class _Visitor(ast.NodeVisitor):
    def __init__(self) -> None:
        self.defined: list[str] = []
        self.called: set[str] = set()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.defined.append(f"{node.name}/{len(node.args.args)}")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        self.called.add(ast.unparse(node.func))
        self.generic_visit(node)

def called_functions(source: str) -> dict[str, list[str]]:
    """Functions with their number of parameters, and the names of what is called.

    Args:
        source: Python code.

    Raises:
        SyntaxError: It is none.
    """
    visitor = _Visitor()
    visitor.visit(ast.parse(source))
    return {"defined": visitor.defined, "called": sorted(visitor.called)}


DESCRIPTION = "Finds which functions a piece of Python code defines and calls."
EXAMPLES = [{'arguments': {'source': 'def f(a, b):\n    return g(a) + x.y(b)(1)\n'},
  'expected': {'defined': ['f/2'], 'called': ['g', 'x.y', 'x.y(b)']}},
 {'arguments': {'source': ''}, 'expected': {'defined': [], 'called': []}},
 {'arguments': {'source': 'def ('}, 'raises': 'SyntaxError'},
 {'arguments': {'source': 'class A:\n    def m(self): print(len([]))\n'},
  'expected': {'defined': ['m/1'], 'called': ['len', 'print']}}]
