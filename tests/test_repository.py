"""The rules that reviewers would otherwise repeat: names, unfinished work, and a README that cannot drift."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from functools import cache
from itertools import chain
from pathlib import Path

from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "alita_mcp"
SOURCES = sorted(PACKAGE.rglob("*.py"))
CONSTRAINTS = ROOT / "constraints.txt"
LOCKS = {"uv.lock", CONSTRAINTS.name}
VAGUE = re.compile(r"(Manager|Helper|Util|Utils|Info|Data|Base|Core|Common|Misc|Handler)$")
VAGUE_MODULES = {"utils", "util", "helpers", "helper", "common", "core", "base", "misc", "manager"}
UNFINISHED = re.compile(
    r"\b(TODO|FIXME|XXX|HACK|NotImplementedError|placeholder|for now|simplified)\b", re.IGNORECASE
)


def tracked(*patterns: str) -> list[Path]:
    """Files that belong to the repository: tracked, or new and not ignored."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [ROOT / line for line in listing.stdout.splitlines() if (ROOT / line).is_file()]


def imported_by(node: ast.Import | ast.ImportFrom) -> list[str]:
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else [item.name for item in node.names]


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def definitions(path: Path) -> list[ast.AST]:
    return list(ast.walk(parsed(path)))


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_names_say_something() -> None:
    assert [relative(path) for path in SOURCES if path.stem in VAGUE_MODULES] == []
    vague = [
        f"{relative(path)}:{node.name}"
        for path in SOURCES
        for node in definitions(path)
        if isinstance(node, ast.ClassDef) and VAGUE.search(node.name)
    ]
    assert vague == []


def test_every_module_says_what_goes_in_and_what_comes_out() -> None:
    docstrings = {relative(path): ast.get_docstring(parsed(path)) or "" for path in SOURCES}
    assert [path for path, text in docstrings.items() if len(text) <= 20] == []


def test_nothing_is_left_for_later() -> None:
    left = {relative(path): UNFINISHED.findall(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert {path: words for path, words in left.items() if words} == {}


def test_the_runner_inside_the_sandbox_needs_the_standard_library_only() -> None:
    sandbox = PACKAGE / "sandbox"
    travelling = [
        *(sandbox / "runner").rglob("*.py"),
        *(sandbox / "wire" / f"{name}.py" for name in ("frames", "reports", "strict_json")),
    ]
    ours = {f"alita_mcp.{path.relative_to(PACKAGE).with_suffix('')}".replace("/", ".") for path in travelling}
    imported = {
        name
        for module in travelling
        for node in definitions(module)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in imported_by(node)
    }
    packages = {module.rpartition(".")[0] for module in ours}
    foreign = {name for name in imported if name.partition(".")[0] not in sys.stdlib_module_names}
    assert foreign <= ours | packages


def test_every_room_has_its_floor() -> None:
    layers = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    named = {room.strip(" ()") for layer in layers["layers"] for room in layer.split("|")}
    there = {
        path.stem
        for path in PACKAGE.iterdir()
        if not path.name.startswith("__") and path.suffix in ("", ".py")
    }
    assert there <= named


def test_the_readme_names_the_two_commands_and_they_exist() -> None:
    readme, makefile = (ROOT / "README.md").read_text(), (ROOT / "Makefile").read_text()
    for target in ("demo", "test"):
        assert f"make {target}" in readme
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def blocks(language: str) -> list[str]:
    found = []
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        found += re.findall(
            rf"^```{language}\n(.*?)^```", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
        )
    return found


def test_json_in_the_documents_is_json() -> None:
    assert blocks("json")
    for block in blocks("json"):
        json.loads(block)


def test_install_lines_name_our_distribution() -> None:
    for path in [ROOT / "README.md", ROOT / "mcp.json.example", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"(uvx|pip install|uv tool install|pipx install)\s+alita-mcp(?!-server)", text)


def test_the_example_configuration_runs_our_command() -> None:
    example = json.loads((ROOT / "mcp.json.example").read_text())
    server = example["mcpServers"]["alita"]
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert server == {"command": "alita-mcp-server", "args": []}
    assert server["command"] in scripts


def test_the_change_log_knows_this_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"[{version}]" in (ROOT / "CHANGELOG.md").read_text()
    import alita_mcp

    assert alita_mcp.__version__ == version


def test_no_file_is_larger_than_a_reader_would_expect() -> None:
    large = {
        str(path.relative_to(ROOT)): path.stat().st_size
        for path in tracked()
        if path.stat().st_size > 200_000 and path.name not in LOCKS and path.parent.name != "static_minilm"
    }
    assert large == {}


def test_every_dependency_is_bounded_and_the_stolen_releases_are_excluded() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    requirements = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    others = [
        each for each in requirements if not each.startswith(project["name"])
    ]  # extras of extras name ours
    assert [each for each in others if "<" not in each or ">=" not in each] == []
    (litellm,) = (each for each in requirements if each.startswith("litellm"))
    assert not list(SpecifierSet(litellm.removeprefix("litellm")).filter(["1.82.7", "1.82.8"]))
    assert {"!=1.82.7", "!=1.82.8"} <= set(litellm.removeprefix("litellm").split(","))


def test_the_constraints_hold_a_hash_for_each_locked_version() -> None:
    pinned = re.findall(
        r"^(\S+==\S+).*?((?: \\\n    --hash=sha256:[0-9a-f]{64})*)$", CONSTRAINTS.read_text(), re.MULTILINE
    )
    assert len(pinned) > 100
    assert [name for name, hashes in pinned if not hashes] == []
