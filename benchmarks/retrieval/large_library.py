"""Generator of catalogues of any size from the words of real tools, without files behind them."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from alita_mcp.library.catalogue.catalogue import Catalogue
from alita_mcp.library.versions.store import Store
from alita_mcp.values import Manifest
from benchmarks.retrieval import needs

MADE_AT = "2026-01-01T00:00:00.000000+00:00"
LONGEST_NAME = 32


def fill(home: Path, tools: Sequence[needs.CatalogueTool], size: int) -> None:
    """Makes a library with so many tools in an empty home, the same ones each time."""
    Store(home, None).close()
    enter(home, _manifests(tools, size))


def enter(home: Path, manifests: Iterator[Manifest] | Sequence[Manifest]) -> None:
    """Enters tools into the catalogue, as another process does that publishes them."""
    catalogue = Catalogue(home / "library.sqlite3")
    try:
        catalogue.publish(*((manifest, "", "none") for manifest in manifests))
    finally:
        catalogue.close()


def manifest_of(name: str, tool: needs.CatalogueTool, description: str) -> Manifest:
    """A tool of that name with another tool's parameters and a description."""
    properties = {
        each.name: {"type": "string", "description": each.description or ""} for each in tool.params
    }
    return Manifest(
        name=name,
        version=1,
        description=description,
        summary=description.partition("\n")[0],
        use_when=tool.examples,
        input_schema={"type": "object", "properties": properties},
        output_schema={"type": "object", "properties": {"result": {"type": "string"}}},
        wraps_result=True,
        trust="verified",
        deterministic=True,
        created_at=MADE_AT,
        digest=f"sha256:{name}",
    )


def _manifests(tools: Sequence[needs.CatalogueTool], size: int) -> Iterator[Manifest]:
    draw = random.Random(size)
    for number in range(size):
        one, other = draw.choice(tools), draw.choice(tools)
        yield manifest_of(_name(one.name, number), one, other.description)


def _name(said: str, number: int) -> str:
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", said).lower()
    plain = re.sub(r"[^a-z0-9]+", "_", words).strip("_0123456789")
    return f"{plain[:LONGEST_NAME].strip('_') or 'tool'}_{number}"
