import fnmatch
import glob
from pathlib import PurePosixPath

def match_names(names: list[str], patterns: list[str]) -> dict[str, list[str]]:
    """Names that match each pattern, and those that none matches.

    Args:
        names: Paths or file names.
        patterns: Such as *.py or data/[a-c]?.csv.
    """
    found = {pattern: [name for name in names if fnmatch.fnmatchcase(name, pattern)] for pattern in patterns}
    by_path = [name for name in names if any(PurePosixPath(name).match(pattern) for pattern in patterns)]
    magic = [pattern for pattern in patterns if glob.has_magic(pattern)]
    return found | {"*by path": by_path, "*magic": magic, "*none": [name for name in names if name not in by_path]}


DESCRIPTION = "Selects names by patterns as a shell does."
EXAMPLES = [{'arguments': {'names': ['a.py', 'b.txt', 'src/c.py', 'data/b1.csv'],
                'patterns': ['*.py', 'data/[a-c]?.csv']},
  'expected': {'*.py': ['a.py', 'src/c.py'],
               'data/[a-c]?.csv': ['data/b1.csv'],
               '*by path': ['a.py', 'src/c.py', 'data/b1.csv'],
               '*magic': ['*.py', 'data/[a-c]?.csv'],
               '*none': ['b.txt']}},
 {'arguments': {'names': [], 'patterns': []},
  'expected': {'*by path': [], '*magic': [], '*none': []}},
 {'arguments': {'names': ['x'], 'patterns': ['x']},
  'expected': {'x': ['x'], '*by path': ['x'], '*magic': [], '*none': []}},
 {'arguments': {'names': ['A.PY'], 'patterns': ['*.py']},
  'expected': {'*.py': [], '*by path': [], '*magic': ['*.py'], '*none': ['A.PY']}}]
