"""Staging of a task's files into the working folder of the code that names them."""

from __future__ import annotations

import json
from collections.abc import Sequence

_BRING = (
    "import alita_tool as _files, os as _os\n"
    "for _name in NAMES:\n"
    "    _os.makedirs(_os.path.dirname(_name) or '.', exist_ok=True)\n"
    "    with open(_name, 'wb') as _copy: _copy.write(_files.read_bytes(_name))\n"
    "del _files, _os, _name, _copy\n"
)


def named_files(code: str, files: Sequence[str]) -> tuple[str, ...]:
    """The files that code names."""
    return tuple(name for name in files if name in code)


def staged(code: str, files: Sequence[str]) -> str:
    """The code with a first line that puts the files it names into its working folder."""
    if not files:
        return code
    program = _BRING.replace("NAMES", json.dumps(list(files)))
    return f"exec({program!r})\n{code}"
