"""`alita memory`: lists, shows and forgets; forgetting asks on a terminal, or needs --yes."""

from __future__ import annotations

import io
from pathlib import Path

import anyio
import pytest

from alita_mcp.agent.interface import FileSeen
from alita_mcp.agent.memory.store import StoredMemory
from alita_mcp.library.storage import Storage
from tests.agent.memory.remembered import summed
from tests.cli.conftest import Alita
from tests.tables import each_case


class Person(io.StringIO):
    """A terminal at which somebody has typed."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def remembered(home: Path) -> None:
    file = home.with_name("lyon.csv")
    file.write_text("inhabitants\n522250\n")
    anyio.run(StoredMemory(Storage(home)).remember, summed(files=(FileSeen(name="lyon.csv", path=file),)))


def test_a_new_library_remembers_nothing(alita: Alita) -> None:
    said = alita("memory")
    assert (said.status, said.out) == (0, "")
    assert "Nothing is remembered" in said.err
    assert alita("memory", "list", "--json").json == []
    assert alita("memory", "forget", "--all", "--json").json == {"forgotten": 0}


@pytest.mark.usefixtures("remembered")
def test_memories_are_listed(alita: Alita) -> None:
    every = alita("memory", "list", "--json").json
    assert [each["kind"] for each in every] == ["program", "file"]
    said = alita("memory").out
    assert "lyon.csv: 1 rows, separated by ','" in said


@pytest.mark.usefixtures("remembered")
def test_one_memory_is_shown(alita: Alita) -> None:
    program, _ = alita("memory", "--json").json
    assert alita("memory", "show", program["id"], "--json").json == program
    assert "open(file_name)" in alita("memory", "show", program["id"]).out
    assert alita("memory", "show", "program-x").status == 2


@pytest.mark.usefixtures("remembered")
def test_forgetting_needs_a_person_or_yes(alita: Alita, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [each["id"] for each in alita("memory", "--json").json]
    refused = alita("memory", "forget", ids[0])
    assert (refused.status, "--yes" in refused.err) == (2, True)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdin", Person("n\n"))
    kept = alita("memory", "forget", ids[1])
    assert (kept.status, "Forget 1?" in kept.err) == (130, True)
    monkeypatch.setattr("sys.stdin", Person("y\n"))
    assert "1 forgotten" in alita("memory", "forget", ids[1]).out
    assert "1 forgotten" in alita("memory", "forget", "--all", "--yes").out
    assert alita("memory", "--json").json == []


@pytest.mark.usefixtures("remembered")
@each_case(
    "words",
    [
        ("show",),
        ("export",),
        ("forget",),
        ("forget", "--all", "program-none"),
        ("forget", "program-none", "--yes"),
        ("list", "program-none"),
        ("remember",),
    ],
)
def test_words_that_do_not_fit_are_refused(alita: Alita, words: tuple[str, ...]) -> None:
    assert alita("memory", *words).status == 2
    assert len(alita("memory", "--json").json) == 2
