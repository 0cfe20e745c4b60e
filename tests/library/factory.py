"""Accepted versions by hand, and libraries opened without the starter tools."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from alita_mcp.library.disk import OnStep, no_step, write_folder
from alita_mcp.library.library import Library
from alita_mcp.library.opening import open_library
from alita_mcp.library.rows import CatalogueEntry
from alita_mcp.library.search.answer import SearchHit
from alita_mcp.library.versions.files import VERSION_FILES, manifest_of, pack, unpack
from alita_mcp.settings import Settings
from alita_mcp.values import (
    AcceptedVersion,
    Draft,
    Example,
    Lock,
    Manifest,
    ToolContract,
    Trust,
    VerificationReport,
)

PUBLISH_STEPS = (
    "claimed",
    "staged",
    *(f"wrote {name}" for name in VERSION_FILES),
    "synced",
    "renamed",
    "in place",
    "row written",
    "committed",
    "home recorded",
)
"""What publishing does, in order; a process may die after any of them and leave the tool whole or absent."""
RAISE_STEPS = (
    "claimed",
    "staged",
    *(f"wrote {name}" for name in VERSION_FILES),
    "synced",
    "laid aside",
    "replaced",
    "in place",
    "row written",
    "committed",
    "home recorded",
)
"""What raising a version's trust does, in order; a process may die after any of them."""
SURVIVED = {"committed", "home recorded"}
"""The steps after which what was done is there for good."""

SLUGIFY = '''"""Slugs."""

import re


def slugify(text: str, max_length: int | None = None) -> str:
    """Turn a title into a URL slug.

    Raises:
        ValueError: nothing is left.
    """
    slug = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    if not slug:
        raise ValueError("nothing is left")
    return slug[:max_length]
'''

SLUGIFY_EXAMPLES = (
    Example(arguments={"text": "Hello, World!"}, expected="hello-world"),
    Example(arguments={"text": "Hello, World!", "max_length": 5}, expected="hello", exact=True),
    Example(arguments={"text": "¿?"}, raises="ValueError"),
    Example(arguments={"text": "A b C"}, check="result == result.lower() and ' ' not in result"),
)

SLUGIFY_INPUT = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "the title"},
        "max_length": {"type": "integer", "description": "longest slug wanted"},
    },
    "required": ["text"],
}


def no_starters() -> Path | None:
    return None


def an_example(arguments: dict[str, Any], expected: Any) -> Example:
    return Example(arguments=arguments, expected=expected)


def accepted(
    name: str = "slugify",
    description: str = "Turn a title into a URL slug.",
    *,
    code: str = SLUGIFY,
    examples: tuple[Example, ...] = SLUGIFY_EXAMPLES,
    input_schema: dict[str, Any] | None = None,
    output_schema: dict[str, Any] | None = None,
    trust: Trust = "verified",
    sandbox: str = "scripted",
    is_async: bool = False,
    lock: Lock | None = None,
    **draft: Any,
) -> AcceptedVersion:
    return AcceptedVersion(
        draft=Draft(name=name, description=description, code=code, examples=examples, **draft),
        contract=ToolContract(
            function=name,
            summary=description.partition("\n")[0],
            input_schema=input_schema or SLUGIFY_INPUT,
            output_schema=output_schema or {"type": "object", "properties": {"result": {"type": "string"}}},
            wraps_result=output_schema is None,
            is_async=is_async,
        ),
        lock=lock or Lock(),
        report=VerificationReport(
            trust=trust,
            checks=(),
            sandbox=sandbox,
            examples_passed=len(examples),
            examples_total=len(examples),
            deterministic=True,
            created_at="2026-01-01T00:00:00.000000+00:00",
        ),
    )


def simple(name: str, description: str = "", *, answer: str = "x", **more: Any) -> AcceptedVersion:
    """A tool without parameters that answers a constant."""
    return accepted(
        name,
        description or f"Answer for {name}.",
        code=f"def {name}() -> str:\n    return {answer!r}\n",
        examples=(Example(expected=answer),),
        input_schema={"type": "object", "properties": {}},
        **more,
    )


def hit_of(name: str, score: float) -> SearchHit:
    """A search hit on a tool without parameters."""
    manifest = manifest_of(simple(name), 1)
    entry = CatalogueEntry(manifest=manifest, state="enabled", versions=(1,), sandboxes=(), created_at="")
    return SearchHit(
        name=name, version=1, signature="", summary="", trust="verified", score=score, entry=entry
    )


SIX_TOOLS = {
    "slugify": ("Turn a title into a URL slug.", ["make a url slug", "kebab case for this headline"]),
    "word_count": (
        "Count the words of a text.",
        ["how many words are in this", "number of words in my essay"],
    ),
    "celsius_to_fahrenheit": (
        "Convert a temperature from Celsius to Fahrenheit.",
        ["how hot is 30 degrees celsius in fahrenheit"],
    ),
    "roman_numeral": ("Write a whole number as a Roman numeral.", ["2024 in roman numerals"]),
    "csv_to_json": (
        "Parse CSV text into a list of JSON objects.",
        ["turn this spreadsheet export into objects"],
    ),
    "days_between": (
        "Count the days between two dates.",
        ["how long until christmas", "difference of two dates"],
    ),
}


async def publish_six(library: Library) -> None:
    for name, (description, use_when) in SIX_TOOLS.items():
        await library.publish(simple(name, description, use_when=tuple(use_when)), expected_version=0)


@asynccontextmanager
async def opened(home: Path, on_step: OnStep = no_step) -> AsyncIterator[Library]:
    async with open_library(Settings(home=home), starters=no_starters, on_step=on_step) as library:
        yield library


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Waits for what other processes or tasks in the background bring about."""
    while not await holds():  # noqa: ASYNC110 - nothing tells of it
        await anyio.sleep(0.05)


def version_folder(home: Path, manifest: Manifest) -> Path:
    return home / "generated_tools" / manifest.name / f"v{manifest.version}"


def write_version_folder(folder: Path, accepted: AcceptedVersion, version: int = 1) -> Manifest:
    """Writes a version as a folder outside any library, as starter tools are kept; `folder` must not exist."""
    files = pack(accepted, version)
    write_folder(folder, files)
    return unpack(files, accepted.draft.name, version).manifest


def forge(
    folder: Path, *, manifest: dict[str, Any] | None = None, report: dict[str, Any] | None = None
) -> None:
    """Edits a version as somebody would who knows how its files vouch for one another."""
    said = json.loads((folder / "report.json").read_bytes()) | (report or {})
    (folder / "report.json").write_text(json.dumps(said), encoding="utf-8")
    document = json.loads((folder / "manifest.json").read_bytes())
    document["manifest"] |= manifest or {}
    digest = hashlib.sha256((folder / "report.json").read_bytes()).hexdigest()
    document["files"]["report.json"] = f"sha256:{digest}"
    (folder / "manifest.json").write_text(json.dumps(document), encoding="utf-8")


def found(home: Path, pattern: str) -> list[Path]:
    """The files and folders under `home` that match."""
    return sorted(home.glob(pattern))


def events(library: Library) -> list[str]:
    """What the journal says happened, in order."""
    return [row.event for row in reversed(library.journal(10_000))]


def as_text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
