"""Draws the packages of alita_mcp, what they import and what they hold into docs/architecture.md.

python docs/pictures/packages.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import grimp

DOCUMENT = Path(__file__).resolve().parents[1] / "architecture.md"
BEGIN, END = "<!-- packages: begin -->\n", "<!-- packages: end -->\n"
PACKAGE = "alita_mcp"

Edges = dict[str, set[str]]


def imports_of_packages() -> Edges:
    """Which packages each package imports, directly or in its functions; modules at the top are left out."""
    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    packages = {name for name in graph.find_children(PACKAGE) if graph.find_children(name)}
    found: Edges = {name.removeprefix(f"{PACKAGE}."): set() for name in packages}
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            importer, target = _package(module), _package(imported)
            if importer in found and target in found and importer != target:
                found[importer].add(target)
    return found


def _package(module: str) -> str:
    return (*module.split("."), "")[1]


def reduced(edges: Edges) -> Edges:
    """The edges without those that follow from others: a to c where a leads to b and b to c."""
    below = {name: _reachable(name, edges) for name in edges}
    return {
        name: {to for to in targets if not any(to in below[other] for other in targets - {to})}
        for name, targets in edges.items()
    }


def _reachable(name: str, edges: Edges) -> set[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        new = edges[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def mermaid(edges: Edges) -> str:
    """A Mermaid flowchart of these edges, importers above."""
    lines = [f"    {name} --> {to}" for name in sorted(edges) for to in sorted(edges[name])]
    return "\n".join(["```mermaid", "flowchart TD", *lines, "```", ""])


def drawn(document: str, picture: str) -> str:
    """The document with the picture between its markers."""
    before, _, rest = document.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + picture + END + after


def contents() -> str:
    """A table of the packages and the packages in each, by name."""
    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    rows = []
    for package in sorted(imports_of_packages()):
        within = sorted(graph.find_children(f"{PACKAGE}.{package}"))
        named = [name.rpartition(".")[2] for name in within if graph.find_children(name)]
        rows.append(f"| `{package}` | {', '.join(named) or 'none'} |")
    return "\n".join(["| package | subpackages |", "|---|---|", *rows, ""])


def picture() -> str:
    """The picture and the table as the imports are now."""
    return mermaid(reduced(imports_of_packages())) + "\n" + contents()


if __name__ == "__main__":
    DOCUMENT.write_text(drawn(DOCUMENT.read_text(encoding="utf-8"), picture()), encoding="utf-8")
    sys.stdout.write(f"{DOCUMENT}\n")
