import os
import tempfile
from pathlib import Path

def scratch_lines(lines: list[str]) -> dict[str, list[str]]:
    """Lines in order as they were read back, and the size of their file.

    Args:
        lines: Without line ends.

    Raises:
        ValueError: A line has several lines.
    """
    if any("\n" in line or "\r" in line for line in lines):
        raise ValueError("a line has several lines")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lines.txt"
        path.write_text("".join(f"{line}\n" for line in sorted(lines)), encoding="utf-8", newline="\n")
        with path.open(encoding="utf-8", newline="\n") as file:
            found = [line.rstrip("\n") for line in file]
        size = os.path.getsize(path)
        names = os.listdir(folder)
    return {"lines": found, "size": [str(size)], "names": names, "gone": [str(not os.path.exists(folder))]}


DESCRIPTION = "Sorts lines through a temporary file."
EXAMPLES = [{'arguments': {'lines': ['b', 'a', 'ü']},
  'expected': {'lines': ['a', 'b', 'ü'], 'size': ['7'], 'names': ['lines.txt'], 'gone': ['True']}},
 {'arguments': {'lines': []},
  'expected': {'lines': [], 'size': ['0'], 'names': ['lines.txt'], 'gone': ['True']}},
 {'arguments': {'lines': ['a\nb']}, 'raises': 'ValueError'}]
