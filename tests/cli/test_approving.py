"""`alita approve`: what is shown, asked and granted, on a terminal and without one."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from alita_mcp.library.library import Library
from alita_mcp.library.opening import open_library
from alita_mcp.settings import Settings
from alita_mcp.values import Grants, Manifest
from tests.cli.conftest import Alita
from tests.cli.terminal import on_terminal
from tests.library.factory import no_starters, simple

WIDE = Grants(network=("api.example.org",), model=True)


def changed(home: Path, *answers: str, approve: bool = False, grants: Grants = WIDE) -> list[Manifest]:
    """Publishes versions of one tool that asks for something; a person may approve the last of them."""

    async def work() -> list[Manifest]:
        async with open_library(Settings(home=home), starters=no_starters) as library:
            made = [await _next(library, answer, grants) for answer in answers]
            if approve:
                await library.approve("asker", made[-1].digest)
            return made

    return anyio.run(work)


async def _next(library: Library, answer: str, grants: Grants) -> Manifest:
    known = library.tools.entry("asker")
    follows = max(known.versions) if known else 0
    return await library.publish(simple("asker", answer=answer, grants=grants), expected_version=follows)


def answer(
    environment: dict[str, str], home: Path, said: str, *words: str, late: str = ""
) -> tuple[int, str]:
    """Runs `alita` on a terminal and types an answer, once it asks; `late` is published before that."""
    with on_terminal(words, environment) as terminal:
        terminal.until(b"[y/N]")
        if late:
            changed(home, late, grants=Grants())
        terminal.type(f"{said}\n")
        return terminal.end()


def granted(alita: Alita) -> list[bool]:
    return [bool(alita("show", "asker", str(number), "--json").json["granted"]) for number in (1, 2)]


def test_without_a_terminal_nothing_is_approved_that_is_not_named_by_its_digest(
    alita: Alita, home: Path
) -> None:
    first, second = changed(home, "one", "two")
    refused = alita("approve", "asker")
    assert refused.status == 2
    assert "This needs a terminal to ask on" in refused.err
    assert second.digest not in refused.err + refused.out
    unknown = alita("approve", "asker", f"sha256:{64 * '0'}")
    assert unknown.status == 2
    assert granted(alita) == [False, False]
    said = alita("approve", "asker", first.digest)
    assert said.out == "asker v1: enabled, approved: network api.example.org, model\n"
    assert granted(alita) == [True, False]


@pytest.mark.process
def test_a_terminal_shows_version_digest_wishes_and_what_is_new_and_asks(
    alita: Alita, home: Path, environment: dict[str, str]
) -> None:
    changed(home, "one", approve=True, grants=Grants(model=True, secrets=("token",)))
    (second,) = changed(home, "two")
    status, said = answer(environment, home, "n", "approve", "asker")
    assert status == 1
    for piece in (
        f"asker v2  {second.digest}",
        "approved last",
        "+ network api.example.org",
        "- secret token",
    ):
        assert piece in said
    assert "-    return 'one'" in said
    assert "+    return 'two'" in said
    assert "Nothing was approved." in said
    assert granted(alita) == [True, False]
    assert answer(environment, home, "y", "approve", "asker")[0] == 0
    assert alita("show", "asker", "--json").json["manifest"]["version"] == 2
    assert granted(alita) == [True, True]


@pytest.mark.process
def test_what_became_current_while_the_person_looked_is_not_approved_nor_is_what_was_seen(
    alita: Alita, home: Path, environment: dict[str, str]
) -> None:
    changed(home, "one")
    status, said = answer(environment, home, "y", "approve", "asker", late="other")
    assert status == 3
    assert "not as it was a moment ago" in said
    assert granted(alita)[0] is False


def test_hosts_are_approved_and_what_is_not_asked_for_is_refused(alita: Alita, home: Path) -> None:
    (made,) = changed(home, "one")
    assert "does not ask for" in alita("approve", "asker", made.digest, "--network", "www.example.com").err
    assert "cannot be granted" in alita("approve", "asker", made.digest, "--network", "*").err
    assert granted_now(alita) is None
    assert alita("approve", "asker", made.digest, "--network", "api.example.org").status == 0
    assert granted_now(alita) == {
        "network": ["api.example.org"], "workspace": "none", "model": True, "tools": [], "secrets": []
    }  # fmt: skip


def granted_now(alita: Alita) -> object:
    found: object = alita("show", "asker", "--json").json["granted"]
    return found
