"""What `alita tool environments` tells and drops."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from alita_mcp.sandbox.packages.uses import Uses
from tests.cli.conftest import Alita

DIGEST, HELD = "a" * 64, "b" * 64


@pytest.fixture
def shelf(home: Path) -> Uses:
    """Two environments of bubblewrap, one of them in use."""
    uses = Uses(home, "bubblewrap")
    for digest, packages in ((DIGEST, tuple(f"p{number}" for number in range(8))), (HELD, ("uv",))):
        (home / "environments" / digest).mkdir(parents=True)
        uses.note(digest, packages, 3 << 20)
    day_ago = time.time() - 86_400
    os.utime(home / "environments" / ".uses" / "bubblewrap" / f"{DIGEST}.json", (day_ago, day_ago))
    return uses


def test_an_empty_home_has_no_environments(alita: Alita) -> None:
    said = alita("tool", "environments")
    assert (said.status, said.out) == (0, "")
    assert "0 environments" in said.err


def test_environments_are_listed_with_their_size_use_and_packages(alita: Alita, shelf: Uses) -> None:
    said = alita("tool", "environments")
    first, second = said.out.splitlines()
    assert first.split()[:4] == [DIGEST[:12], "bubblewrap", "3.0", "MB"]
    assert first.endswith("p0, p1, p2, p3, p4, p5 and 2 more")
    assert "in use" in second
    assert "2 environments, 6.0 MB" in said.err
    listed = alita("tool", "environments", "--json").json["environments"]
    assert [(card["digest"], card["in_use"]) for card in listed] == [(DIGEST, False), (HELD, True)]


def test_pruning_drops_what_nobody_uses(alita: Alita, shelf: Uses, home: Path) -> None:
    said = alita("tool", "environments", "--prune", "--json")
    assert [card["digest"] for card in said.json["dropped"]] == [DIGEST]
    assert not (home / "environments" / DIGEST).exists()
    assert (home / "environments" / HELD).exists()
    assert [use.digest for use in shelf.list_uses()] == [HELD]


def test_environments_whose_engine_is_away_stay(
    alita: Alita, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    uses = Uses(home, "docker")
    uses.note(DIGEST, (), 1)
    os.utime(home / "environments" / ".uses" / "docker" / f"{DIGEST}.json", (0, 0))
    said = alita("tool", "environments", "--prune")
    assert said.status == 5
    assert "the environments of docker stay: No Docker engine answers" in said.err
    assert [use.digest for use in uses.list_uses()] == [DIGEST]
