"""How two versions of a tool differ: the lines of a unified difference over all that decides what they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import unified_diff
from itertools import islice

from alita_mcp.unseen import code_rows
from alita_mcp.values import StoredVersion

MAX_SHOWN = 5_000
"""Lines of a difference that a page shows; a longer one is read at the command line."""


def compare_versions(old: StoredVersion | None, new: StoredVersion, was: str, now: str) -> Iterator[str]:
    """Lines that begin with `+`, `-`, `@`, or a blank, after two that name the sides; none where nothing differs.

    Manifest, examples, packages and code are compared, in this order. What is printed of a line is `code_rows` of it:
    strangers wrote them.
    """
    before, after = (_version_lines(each) if each else [] for each in (old, new))
    return unified_diff(before, after, was, now, lineterm="")


def shown_difference(before: StoredVersion | None, now: StoredVersion) -> list[tuple[str, str]] | None:
    """Lines of the difference with their marks, hidden characters spelled out; None where they are too many."""
    lines = list(islice(compare_versions(before, now, "", ""), 2, MAX_SHOWN + 3))
    if len(lines) > MAX_SHOWN:
        return None
    return [(line[0], "".join(code_rows(line[1:], 1 << 20))) for line in lines]  # a browser breaks them


def _version_lines(stored: StoredVersion) -> list[str]:
    """All of a version that decides what it is, one thing a line."""
    manifest = stored.manifest.model_dump(mode="json", exclude={"version", "created_at", "digest"})
    parts = [json.dumps(manifest, ensure_ascii=False, indent=2)]
    parts += [json.dumps(example.as_json(), ensure_ascii=False) for example in stored.examples]
    return "\n".join([*parts, stored.lock.text, stored.code]).split("\n")
