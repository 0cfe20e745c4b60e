"""docs/architecture.md shows the packages as they are, and names files and folders that are there."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "alita_mcp"

spec = importlib.util.spec_from_file_location("pictures_packages", ROOT / "docs" / "pictures" / "packages.py")
assert spec is not None
assert spec.loader is not None
pictures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pictures)


def test_the_picture_is_what_the_imports_are_now() -> None:
    assert pictures.drawn(DOCUMENT, pictures.picture()) == DOCUMENT, "run: python docs/pictures/packages.py"


def test_edges_that_follow_from_others_are_left_out() -> None:
    edges = {"a": {"b", "c"}, "b": {"c"}, "c": set()}
    assert pictures.reduced(edges) == {"a": {"b"}, "b": {"c"}, "c": set()}


def test_every_package_is_described() -> None:
    described = set(re.findall(r"^\| `(\w+)` \| [^|]{10,} \|$", DOCUMENT, re.MULTILINE))
    assert pictures.imports_of_packages().keys() <= described


def test_every_file_that_a_flow_names_is_there() -> None:
    packages = "|".join(pictures.imports_of_packages())
    named = set(re.findall(rf"`((?:{packages})/[\w/.]+)`", DOCUMENT))
    assert len(named) > 25
    assert [
        path for path in sorted(named) if not ((PACKAGE / path).exists() or (PACKAGE / f"{path}.py").exists())
    ] == []


def test_every_folder_of_the_home_is_named_in_the_code() -> None:
    table = DOCUMENT.partition("| file or folder |")[2].partition("\n\n")[0]
    names = re.findall(
        r"`([\w.-]+)/?(?:NAME/vN/)?`", "".join(re.findall(r"^\| (.*?) \|", table, re.MULTILINE))
    )
    assert len(names) > 12
    source = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    assert [name for name in names if f'"{name}"' not in source] == []
