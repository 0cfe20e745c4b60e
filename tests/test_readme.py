"""The README: short, whole, and with buttons and links that work."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from alita_mcp.clients.table import CLIENTS, KEY
from alita_mcp.settings import Settings
from docs.pictures.tool_born import PICTURE
from tests.client_configuration import configuration
from tests.docs.documents import (
    DOCUMENTS,
    README,
    ROOT,
    anchors,
    fences,
    relative_links,
    words_outside_folds,
)
from tests.docs.test_json import LAUNCH

TEXT = README.read_text(encoding="utf-8")
MOST_WORDS = 900
MOST_TABLES = 3


def test_the_readme_is_short() -> None:
    assert words_outside_folds(README) <= MOST_WORDS
    assert len(re.findall(r"^\|[-|: ]+\|$", TEXT, re.MULTILINE)) <= MOST_TABLES


def test_the_readme_names_its_parts_in_the_order_in_which_a_newcomer_asks() -> None:
    assert re.findall(r"^## (.*)", TEXT, re.MULTILINE) == [
        "Install", "Connect your client", "A job that comes back", "What you will see in your client",
        "Watch and decide", "Safety in six lines", "The tools", "Compared", "Limits", "Troubleshooting",
        "Update and uninstall", "From a checkout",
    ]  # fmt: skip
    assert re.findall(r"^\d\. ", TEXT, re.MULTILINE) == [f"{number}. " for number in range(1, 7)]


def test_the_picture_and_what_was_measured_stand_in_the_readme() -> None:
    assert f"]({PICTURE.relative_to(ROOT).as_posix()})" in TEXT
    dependencies = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    (figures,) = re.findall(r"This installs (.*?) \(", TEXT)
    assert figures in dependencies


def test_the_standard_json_comes_first() -> None:
    assert json.loads(fences(README, "json")[0]) == configuration(CLIENTS["claude-desktop"], LAUNCH)


def test_the_buttons_install_the_standard_entry() -> None:
    cursor, vscode = re.findall(r"^\[!\[.*\)\]\((\S+)\)$", TEXT, re.MULTILINE)
    given = parse_qs(urlsplit(cursor).query, strict_parsing=True)
    entry = json.loads(base64.b64decode(given["config"][0], validate=True))
    assert (given["name"], entry) == ([KEY], CLIENTS["cursor"].entry(LAUNCH))
    given = parse_qs(urlsplit(vscode).query, strict_parsing=True)
    assert (given["name"], json.loads(given["config"][0])) == ([KEY], CLIENTS["vscode"].entry(LAUNCH))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda each: str(each.relative_to(ROOT)))
def test_relative_links_lead_somewhere(document: Path) -> None:
    for link in relative_links(document):
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        assert not anchor or anchor in anchors(target), link


def test_the_settings_are_listed() -> None:
    settings = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|", settings, re.MULTILINE)
    assert sorted(rows) == sorted(
        f"ALITA_{name.upper()}" for name in Settings.model_fields if name != "limits"
    )
    assert len(rows) <= 45
