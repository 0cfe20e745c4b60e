import json
from functools import singledispatch

@singledispatch
def _describe(value: object) -> str:
    return "nothing" if value is None else f"unknown {type(value).__name__}"

@_describe.register
def _(value: bool) -> str:
    return "yes" if value else "no"

@_describe.register(int)
@_describe.register(float)
def _(value: float) -> str:
    return f"number {value}"

@_describe.register
def _(value: str) -> str:
    return f"text of {len(value)}"

@_describe.register
def _(value: list) -> str:
    return f"[{', '.join(map(_describe, value))}]"

def dispatch_values(values: str) -> str:
    """What a JSON text holds, in words.

    Args:
        values: JSON.

    Raises:
        JSONDecodeError: It is none.
    """
    return _describe(json.loads(values))


DESCRIPTION = "Describes JSON values by functions chosen for their types."
EXAMPLES = [{'arguments': {'values': '[1, 2.5, true, null, "abc", [], {}]'},
  'expected': '[number 1, number 2.5, yes, nothing, text of 3, [], unknown dict]'},
 {'arguments': {'values': 'false'}, 'expected': 'no'},
 {'arguments': {'values': '[1'}, 'raises': 'JSONDecodeError'},
 {'arguments': {'values': '""'}, 'expected': 'text of 0'}]
