import inspect
from typing import Any

def describe_signature(source: str) -> list[str]:
    """Each parameter with its kind and default.

    Args:
        source: The head of a function, such as `a, b=1, *, c: int`.

    Raises:
        SyntaxError: It is no head of a function.
    """
    space: dict[str, Any] = {}
    exec(f"def f({source}): pass", space)
    signature = inspect.signature(space["f"])
    lines = []
    for parameter in signature.parameters.values():
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        lines.append(f"{parameter.name}: {parameter.kind.description}{default}")
    return lines


DESCRIPTION = "Describes the parameters of a function given as source."
EXAMPLES = [{'arguments': {'source': 'a, /, b=1, *rest, c, **more'},
  'expected': ['a: positional-only',
               'b: positional or keyword = 1',
               'rest: variadic positional',
               'c: keyword-only',
               'more: variadic keyword']},
 {'arguments': {'source': ''}, 'expected': []},
 {'arguments': {'source': 'a b'}, 'raises': 'SyntaxError'},
 {'arguments': {'source': "*, x='y'"}, 'expected': ["x: keyword-only = 'y'"]}]
