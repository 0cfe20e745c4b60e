"""The tools of `tests/data/real_tools`: each a file as an agent hands it in, then its description and examples."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from alita_mcp.values import Draft

FOLDER = Path(__file__).parents[2] / "data" / "real_tools"
NAMES = tuple(sorted(file.stem for file in FOLDER.glob("*.py")))
_WORDS = {"DESCRIPTION": "description", "EXAMPLES": "examples", "VARIES": "varies"}


def read_tool(name: str) -> Draft:
    """The draft in a file."""
    code, found, words = (FOLDER / f"{name}.py").read_text("utf-8").partition("\n\n\nDESCRIPTION = ")
    assert found
    fields: dict[str, Any] = {"name": name, "code": f"{code}\n"}
    for statement in ast.parse(f"DESCRIPTION = {words}").body:
        assert isinstance(statement, ast.Assign)
        assert isinstance(statement.targets[0], ast.Name)
        fields[_WORDS[statement.targets[0].id]] = ast.literal_eval(statement.value)
    return Draft(**fields)
