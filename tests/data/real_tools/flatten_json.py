import json
from decimal import Decimal

class _Encoder(json.JSONEncoder):
    def default(self, o: object) -> object:
        return str(o) if isinstance(o, Decimal) else super().default(o)

def flatten_json(text: str) -> dict[str, str]:
    """Each value as JSON under its dotted path.

    Args:
        text: JSON.

    Raises:
        JSONDecodeError: It is none.
        ValueError: It holds NaN or Infinity.
    """
    def refuse(name: str) -> None:
        raise ValueError(f"{name} is no JSON")

    found: dict[str, str] = {}
    pending = [("$", json.loads(text, parse_float=Decimal, parse_constant=refuse))]
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict) and value:
            pending += [(f"{path}.{name}", part) for name, part in value.items()]
        elif isinstance(value, list) and value:
            pending += [(f"{path}[{place}]", part) for place, part in enumerate(value)]
        else:
            found[path] = json.dumps(value, cls=_Encoder, ensure_ascii=False)
    return dict(sorted(found.items()))


DESCRIPTION = "Flattens a JSON text into paths with their values."
EXAMPLES = [{'arguments': {'text': '{"a": [1, {"b": 2.50}], "c": {}, "d": "é"}'},
  'expected': {'$.a[0]': '1', '$.a[1].b': '"2.50"', '$.c': '{}', '$.d': '"é"'}},
 {'arguments': {'text': '3'}, 'expected': {'$': '3'}},
 {'arguments': {'text': '{'}, 'raises': 'JSONDecodeError'},
 {'arguments': {'text': '[NaN]'}, 'raises': 'ValueError'},
 {'arguments': {'text': '[]'}, 'expected': {'$': '[]'}}]
