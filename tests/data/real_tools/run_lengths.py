from itertools import accumulate, chain, groupby, islice, pairwise, zip_longest

def run_lengths(text: str) -> dict[str, list[str]]:
    """Runs, where each one begins, and which run follows which.

    Args:
        text: Any text.
    """
    runs = [(letter, sum(1 for _ in run)) for letter, run in groupby(text)]
    starts = islice(accumulate(chain([0], (length for _, length in runs))), len(runs))
    return {
        "runs": [f"{letter}{length}" for letter, length in runs],
        "starts": [str(start) for start in starts],
        "changes": [f"{left[0]}>{right[0]}" for left, right in pairwise(runs)],
        "halves": ["".join(pair) for pair in zip_longest(text[: len(text) // 2], text[len(text) // 2 :], fillvalue="_")],
    }


DESCRIPTION = "Encodes a text by the lengths of its runs and finds its windows."
EXAMPLES = [{'arguments': {'text': 'aaabccd'},
  'expected': {'runs': ['a3', 'b1', 'c2', 'd1'],
               'starts': ['0', '3', '4', '6'],
               'changes': ['a>b', 'b>c', 'c>d'],
               'halves': ['ab', 'ac', 'ac', '_d']}},
 {'arguments': {'text': ''}, 'expected': {'runs': [], 'starts': [], 'changes': [], 'halves': []}},
 {'arguments': {'text': 'zz'},
  'expected': {'runs': ['z2'], 'starts': ['0'], 'changes': [], 'halves': ['zz']}},
 {'arguments': {'text': 'xyx'},
  'expected': {'runs': ['x1', 'y1', 'x1'],
               'starts': ['0', '1', '2'],
               'changes': ['x>y', 'y>x'],
               'halves': ['xy', '_x']}}]
