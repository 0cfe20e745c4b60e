"""What the definitions of tools say, and how much of a model's context they take."""

from __future__ import annotations

import json
import re

import pytest

from alita_mcp.library.versions.files import read_version_folder, unpack
from alita_mcp.library.versions.starter import FOUND_BY_SEARCH, starter_tools_folder
from alita_mcp.server.instructions import INSTRUCTIONS
from alita_mcp.server.tools.admission import MAX_DEPTH
from alita_mcp.server.tools.definitions import META_DEFINITIONS, definition_of
from alita_mcp.values import Grants
from tests.server.manifests import SLUGIFY, manifest

MOST_TOKENS = 1_100
"""Of the five."""
FIRST_LIST_TOKENS = 1_700
"""Of the five and the starters that a new library lists, by characters / 4."""


def wire(definition: object) -> str:
    dumped = definition.model_dump(by_alias=True, mode="json", exclude_none=True)  # type: ignore[attr-defined]
    return json.dumps(dumped, separators=(",", ":"), ensure_ascii=False)


def word_pieces(text: str) -> int:
    """A second, coarser count: words in pieces of at most seven letters, signs in pairs."""
    return len(re.findall(r"[A-Za-z]{1,7}|\d{1,3}|[^\sA-Za-z\d]{1,2}", text))


def test_the_fixed_tools_together_take_at_most_eleven_hundred_tokens() -> None:
    texts = [wire(tool) for tool in META_DEFINITIONS]

    assert sum(map(len, texts)) / 4 <= MOST_TOKENS
    assert sum(map(word_pieces, texts)) <= 1.25 * MOST_TOKENS  # finds 30 % more than the tokenizers below


def test_the_first_list_is_short() -> None:
    folder = starter_tools_folder()
    assert folder is not None
    kept = [
        unpack(read_version_folder(place, place.parent.name, 1), place.parent.name, 1)
        for place in folder.glob("*/v1")
        if place.parent.name not in FOUND_BY_SEARCH
    ]
    listed = [definition_of(each.manifest) for each in kept if each.manifest.grants.is_pure]

    assert len(listed) == 3
    assert sum(len(wire(tool)) for tool in (*META_DEFINITIONS, *listed)) / 4 <= FIRST_LIST_TOKENS


def test_claude_code_is_told_to_load_the_meta_tools_at_once_and_no_other() -> None:
    assert all(tool.meta == {"anthropic/alwaysLoad": True} for tool in META_DEFINITIONS)
    assert "anthropic/alwaysLoad" not in (definition_of(SLUGIFY).meta or {})


def test_the_instructions_fit_what_hosts_show() -> None:
    assert len(INSTRUCTIONS) <= 500
    assert {"search_capabilities", "synthesize_tool", "run_tool"} <= set(re.findall(r"\w+", INSTRUCTIONS))


def test_meta_tools_use_only_the_schema_subset_that_every_client_takes() -> None:
    def check(node: dict[str, object], depth: int) -> None:
        assert isinstance(node["type"], str)
        assert depth <= MAX_DEPTH
        assert not node.keys() & {"$ref", "$defs", "anyOf", "oneOf", "allOf", "$schema", "x-mcp-header"}
        children = list(node.get("properties", {}).values())  # type: ignore[attr-defined]
        if node["type"] == "array":
            children.append(node["items"])
        for child in children:
            check(child, depth + 1)

    for tool in META_DEFINITIONS:
        check(tool.input_schema, 0)


@pytest.mark.parametrize(
    ("grants", "reads_only", "destroys", "repeats", "open_world"),
    [
        (Grants(), True, None, True, False),
        (Grants(workspace="read"), True, None, True, False),
        (Grants(workspace="write"), False, True, False, False),
        (Grants(network=("api.example.org",)), False, True, False, True),
        (Grants(model=True), True, None, True, True),
        (Grants(tools=("other_tool",)), False, True, False, True),
    ],
)
def test_annotations_follow_the_grants(
    grants: Grants, reads_only: bool, destroys: bool | None, repeats: bool, open_world: bool
) -> None:
    hints = definition_of(manifest(grants=grants)).annotations

    assert hints is not None
    assert hints.read_only_hint is reads_only
    assert hints.destructive_hint is destroys
    assert hints.idempotent_hint is repeats
    assert hints.open_world_hint is open_world
