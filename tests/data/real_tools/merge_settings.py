import copy
from pprint import pformat

def merge_settings(texts: dict[str, dict[str, list[int]]], changes: dict[str, dict[str, list[int]]]) -> dict[str, str]:
    """The merged settings in print, and whether the first ones stayed as they were.

    Args:
        texts: Settings by section.
        changes: What is replaced in them.
    """
    before = copy.deepcopy(texts)
    merged = copy.deepcopy(texts)
    for section, values in changes.items():
        merged.setdefault(section, {}).update(copy.copy(values))
    shared = copy.copy(texts)
    return {"merged": pformat(merged, width=40), "kept": str(texts == before), "shared": str(all(shared[name] is texts[name] for name in texts))}


DESCRIPTION = "Merges nested settings without changing any of them."
EXAMPLES = [{'arguments': {'texts': {'a': {'x': [1, 2]}}, 'changes': {'a': {'y': [3]}, 'b': {'z': []}}},
  'expected': {'merged': "{'a': {'x': [1, 2], 'y': [3]},\n 'b': {'z': []}}",
               'kept': 'True',
               'shared': 'True'}},
 {'arguments': {'texts': {}, 'changes': {}},
  'expected': {'merged': '{}', 'kept': 'True', 'shared': 'True'}},
 {'arguments': {'texts': {'long section name': {'first value': [1, 2, 3],
                                                'second value': [4, 5, 6]}},
                'changes': {}},
  'expected': {'merged': "{'long section name': {'first value': [1,\n"
                         '                                       2,\n'
                         '                                       3],\n'
                         "                       'second value': [4,\n"
                         '                                        5,\n'
                         '                                        6]}}',
               'kept': 'True',
               'shared': 'True'}}]
