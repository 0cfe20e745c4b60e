"""`alita library copy`, from a home to PostgreSQL and back."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Alita

pytestmark = [pytest.mark.postgres, pytest.mark.extra("team")]


def test_a_library_is_copied_there_and_back(
    tmp_path: Path, alita: Alita, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = alita("list", "--json").json
    said = alita("library", "copy", "--to", postgres_url)
    assert said.status == 0, said
    assert re.match(
        r"\d+ tools, \d+ versions and \d+ lines of the journal copied; both sides have .* sha256:", said.out
    )
    again = alita("library", "copy", "--to", postgres_url)
    assert again.status == 7
    assert "There is a library at" in again.err
    monkeypatch.setenv("ALITA_LIBRARY", postgres_url)
    back = alita("library", "copy", "--to", str(tmp_path / "back"), "--json")
    assert back.status == 0, back
    assert json.loads(back.out)["digest"] in said.out
    monkeypatch.delenv("ALITA_LIBRARY")
    monkeypatch.setenv("ALITA_HOME", str(tmp_path / "back"))
    assert alita("list", "--json").json == tools
