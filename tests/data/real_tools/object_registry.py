import gc
import weakref
from types import MappingProxyType, SimpleNamespace

class _Node:
    def __init__(self, name: str) -> None:
        self.name = name
        self.next: "_Node | None" = None

def object_registry(names: list[str], keep: int) -> dict[str, list[str]]:
    """Names that are still known after all but some were let go.

    Args:
        names: Objects that are made.
        keep: How many of the first ones are kept.
    """
    gone: list[str] = []
    known: weakref.WeakValueDictionary[str, _Node] = weakref.WeakValueDictionary()
    nodes = [_Node(name) for name in names]
    for node in nodes:
        node.next = node
        known[node.name] = node
        weakref.finalize(node, gone.append, node.name)
    kept = nodes[: max(0, keep)]
    nodes = node = None
    gc.collect()
    space = SimpleNamespace(**{"count": len(kept)})
    frozen = MappingProxyType({"known": sorted(known)})
    return {"known": frozen["known"], "gone": sorted(gone), "kept": [str(space.count)]}


DESCRIPTION = "Shows which objects live while others refer to them."
EXAMPLES = [{'arguments': {'names': ['a', 'b', 'c'], 'keep': 1},
  'expected': {'known': ['a'], 'gone': ['b', 'c'], 'kept': ['1']}},
 {'arguments': {'names': [], 'keep': 5}, 'expected': {'known': [], 'gone': [], 'kept': ['0']}},
 {'arguments': {'names': ['x'], 'keep': 0},
  'expected': {'known': [], 'gone': ['x'], 'kept': ['0']}},
 {'arguments': {'names': ['x', 'y'], 'keep': -1},
  'expected': {'known': [], 'gone': ['x', 'y'], 'kept': ['0']}}]
