import difflib

def text_diff(before: str, after: str, context: int = 1) -> list[str]:
    """Unified diff without its header; the last line is the similarity.

    Args:
        before: The old text.
        after: The new text.
        context: Unchanged lines around a change.
    """
    old, new = before.splitlines(), after.splitlines()
    lines = list(difflib.unified_diff(old, new, lineterm="", n=max(0, context)))[2:]
    ratio = difflib.SequenceMatcher(None, before, after).ratio()
    return [*lines, f"{ratio:.2f}"]


DESCRIPTION = "Shows how two texts differ, line by line."
EXAMPLES = [{'arguments': {'before': 'a\nb\nc\nd', 'after': 'a\nB\nc\nd'},
  'expected': ['@@ -1,3 +1,3 @@', ' a', '-b', '+B', ' c', '0.86']},
 {'arguments': {'before': 'same', 'after': 'same'}, 'expected': ['1.00']},
 {'arguments': {'before': '', 'after': 'x', 'context': 0},
  'expected': ['@@ -0,0 +1 @@', '+x', '0.00']},
 {'arguments': {'before': '1\n2\n3', 'after': '1\n3', 'context': 0},
  'expected': ['@@ -2 +1,0 @@', '-2', '0.75']}]
