from graphlib import CycleError, TopologicalSorter

def build_order(needs: dict[str, list[str]]) -> list[list[str]]:
    """Groups of tasks that can be done at once, in order.

    Args:
        needs: What each task needs first.

    Raises:
        ValueError: Tasks need each other in a circle.
    """
    sorter = TopologicalSorter(needs)
    try:
        sorter.prepare()
    except CycleError as circle:
        raise ValueError(f"a circle of {len(set(circle.args[1]))}") from circle
    groups = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        groups.append(ready)
        sorter.done(*ready)
    return groups


DESCRIPTION = "Orders tasks so that each comes after those it needs."
EXAMPLES = [{'arguments': {'needs': {'app': ['lib', 'docs'], 'lib': ['core'], 'docs': []}},
  'expected': [['core', 'docs'], ['lib'], ['app']]},
 {'arguments': {'needs': {}}, 'expected': []},
 {'arguments': {'needs': {'a': ['b'], 'b': ['a']}}, 'raises': 'ValueError'},
 {'arguments': {'needs': {'a': ['a']}}, 'raises': 'ValueError'}]
