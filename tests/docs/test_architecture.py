"""docs/architecture.md shows the packages as they are, and names files and folders that are there."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "alita_mcp"

spec = importlib.util.spec_from_file_location("rooms", ROOT / "docs" / "pictures" / "rooms.py")
assert spec is not None
assert spec.loader is not None
rooms = importlib.util.module_from_spec(spec)
spec.loader.exec_module(rooms)


def test_the_picture_is_what_the_imports_are_now() -> None:
    assert rooms.drawn(DOCUMENT, rooms.picture()) == DOCUMENT, "run: python docs/pictures/rooms.py"


def test_edges_that_follow_from_others_are_left_out() -> None:
    edges = {"a": {"b", "c"}, "b": {"c"}, "c": set()}
    assert rooms.reduced(edges) == {"a": {"b"}, "b": {"c"}, "c": set()}


def test_every_package_is_described() -> None:
    described = set(re.findall(r"^\| `(\w+)` \| [^|]{10,} \|$", DOCUMENT, re.MULTILINE))
    assert rooms.imports_of_packages().keys() <= described


def test_every_file_that_a_flow_names_is_there() -> None:
    rooms_named = "|".join(rooms.imports_of_packages())
    named = set(re.findall(rf"`((?:{rooms_named})/[\w/.]+)`", DOCUMENT))
    assert len(named) > 25
    assert [path for path in sorted(named) if not (PACKAGE / path).exists()] == []


def test_every_folder_of_the_home_is_named_in_the_code() -> None:
    table = DOCUMENT.partition("| file or folder |")[2].partition("\n\n")[0]
    names = re.findall(
        r"`([\w.-]+)/?(?:NAME/vN/)?`", "".join(re.findall(r"^\| (.*?) \|", table, re.MULTILINE))
    )
    assert len(names) > 12
    source = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    assert [name for name in names if f'"{name}"' not in source] == []
