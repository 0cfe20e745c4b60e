import os.path
from pathlib import PurePosixPath, PureWindowsPath

def path_parts(path: str, windows: bool = False) -> dict[str, str]:
    """Parts of a path that need not exist.

    Args:
        path: A path.
        windows: Whether it is one of Windows.
    """
    pure = PureWindowsPath(path) if windows else PurePosixPath(path)
    return {
        "name": pure.name,
        "stem": pure.stem,
        "suffixes": "".join(pure.suffixes),
        "parent": str(pure.parent),
        "anchor": pure.anchor,
        "posix": pure.as_posix(),
        "normal": os.path.normpath(pure.as_posix()),
    }


DESCRIPTION = "Takes paths apart, for Unix and Windows alike."
EXAMPLES = [{'arguments': {'path': '/srv/data/../archive.tar.gz'},
  'expected': {'name': 'archive.tar.gz',
               'stem': 'archive.tar',
               'suffixes': '.tar.gz',
               'parent': '/srv/data/..',
               'anchor': '/',
               'posix': '/srv/data/../archive.tar.gz',
               'normal': '/srv/archive.tar.gz'}},
 {'arguments': {'path': 'C:\\Users\\ann\\notes.txt', 'windows': True},
  'expected': {'name': 'notes.txt',
               'stem': 'notes',
               'suffixes': '.txt',
               'parent': 'C:\\Users\\ann',
               'anchor': 'C:\\',
               'posix': 'C:/Users/ann/notes.txt',
               'normal': 'C:/Users/ann/notes.txt'}},
 {'arguments': {'path': ''},
  'expected': {'name': '',
               'stem': '',
               'suffixes': '',
               'parent': '.',
               'anchor': '',
               'posix': '.',
               'normal': '.'}},
 {'arguments': {'path': '.profile'},
  'expected': {'name': '.profile',
               'stem': '.profile',
               'suffixes': '',
               'parent': '.',
               'anchor': '',
               'posix': '.profile',
               'normal': '.profile'}},
 {'arguments': {'path': 'a//b/./c/'},
  'expected': {'name': 'c',
               'stem': 'c',
               'suffixes': '',
               'parent': 'a/b',
               'anchor': '',
               'posix': 'a/b/c',
               'normal': 'a/b/c'}}]
