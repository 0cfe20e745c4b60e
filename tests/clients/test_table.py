"""The tables of clients say what the drivers prove, and what `alita install` writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from alita_mcp.clients.table import CLIENTS
from tests.clients.agents import AGENTS, PINNED

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def rows(text: str) -> list[list[str]]:
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    ]


@pytest.mark.parametrize("name", AGENTS)
def test_a_driven_client_has_its_row(name: str) -> None:
    agent = AGENTS[name]
    known = f"{name.partition(',')[0]} {PINNED[agent.package]}"
    (row,) = [row for row in rows(DOCUMENT) if row[0] == known]
    _, protocol, asks_again, next_request, reads, seen_by = row
    assert protocol.startswith(agent.protocol)
    assert asks_again == ("after each change" if agent.follows else "never")
    assert next_request.startswith("yes" if agent.follows else "no")
    assert reads.startswith(agent.reads)
    assert seen_by == "tests/clients"
    (short,) = [row for row in rows(README) if name.partition(",")[0] in row[0].split(", ")]
    assert ("very next request" in short[1]) == agent.follows


def test_no_row_claims_a_driver_that_is_not_there() -> None:
    driven = {f"{name.partition(',')[0]} {PINNED[agent.package]}" for name, agent in AGENTS.items()}
    assert {row[0] for row in rows(DOCUMENT) if row[-1] == "tests/clients"} == driven
    assert set(PINNED) == {agent.package for agent in AGENTS.values()}


def test_each_client_in_the_readme_has_its_row_in_the_document() -> None:
    (begin,) = [number for number, row in enumerate(rows(README)) if row[0] == "client (measured)"]
    named = {client for row in rows(README)[begin + 2 : begin + 4] for client in row[0].split(", ")}
    assert len(named) >= 10
    assert {client for client in named if f"| {client} " not in DOCUMENT} == set()


def test_a_file_in_the_document_is_the_one_that_is_written() -> None:
    written = {client.title: client.usual_file() for client in CLIENTS.values()}
    named = {
        row[0]: re.findall(r"`([^`]+)`", row[1])
        for row in rows(DOCUMENT)
        if row[0] in written and len(row) == 3
    }
    assert len(named) >= 6
    assert {title: Path(files[0]).expanduser() for title, files in named.items()} == {
        title: written[title] for title in named
    }
