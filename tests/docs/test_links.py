"""Relative links in the documents lead to files that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def relative_links(document: Path) -> list[str]:
    text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    return [to.partition("#")[0] for to in targets if not re.match(r"\w+:|#", to)]


def test_relative_links_lead_to_files() -> None:
    broken = {
        f"{document.relative_to(ROOT)}: {to}"
        for document in DOCUMENTS
        for to in relative_links(document)
        if not (document.parent / to).exists()
    }
    assert broken == set()
    assert len(relative_links(ROOT / "CONTRIBUTING.md")) > 5
