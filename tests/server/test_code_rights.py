"""Code that asks for more than computing: who is asked, what an approval holds for, and what nobody can forge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.library.grants.code_approvals import CodeApprovals
from alita_mcp.library.storage import open_storage
from alita_mcp.settings import Settings
from tests.listings import read_listing
from tests.server.in_memory import Build, called, connected, refused, succeeded, text_of
from tests.server.test_elicitation import NO, YES, Person
from tests.tables import each_case

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("embedded")]

READS = {"code": "import alita_tool\nalita_tool.read_text(name)", "arguments": {"name": "a.txt"}}
NEEDS = {"workspace": "read"}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "a.txt").write_text("secret plans")
    (folder / "b.txt").write_text("other plans")
    return folder


def number_in(told: dict[str, Any]) -> str:
    return str(told["how"]).partition("--code ")[2].partition("`")[0]


def approve(home: Path, number: str) -> None:
    with open_storage(Settings(home=home)) as storage:
        approvals = CodeApprovals(storage)
        approvals.approve(number, approvals.find(number).digest)


async def test_code_waits_for_a_person_and_runs_then_with_any_arguments(
    build: Build, home: Path, workspace: Path
) -> None:
    settings = {"workspace": workspace}
    async with connected(build(settings=settings), "modern") as client:
        told = await succeeded(client, "run_code", **READS, needs=NEEDS)
        assert (told["status"], told["grants"]) == ("needs_approval", ["workspace read"])
        assert "sha256" not in json.dumps(told)
        again = await succeeded(client, "run_code", **READS, needs=NEEDS)
        assert number_in(again) == number_in(told)
        approve(home, number_in(told))
        assert (await succeeded(client, "run_code", **READS, needs=NEEDS))["result"] == "secret plans"
        other = {"code": READS["code"], "arguments": {"name": "b.txt"}}
        assert (await succeeded(client, "run_code", **other, needs=NEEDS))["result"] == "other plans"
    async with connected(build(settings=settings), "modern") as later:
        assert (await succeeded(later, "run_code", **READS, needs=NEEDS))["result"] == "secret plans"


async def test_tools_of_the_library_stand_beside_the_rights_of_the_code(
    build: Build, home: Path, workspace: Path
) -> None:
    code = "import alita_tool\nfrom alita_tools import convert_units\n"
    code += "convert_units(len(alita_tool.read_text('a.txt')), 'km', 'm')"
    async with connected(build(settings={"workspace": workspace}), "modern") as client:
        told = await succeeded(client, "run_code", code=code, needs=NEEDS)
        approve(home, number_in(told))
        assert (await succeeded(client, "run_code", code=code, needs=NEEDS))["result"] == 12_000


@pytest.mark.parametrize(
    "change",
    [
        {"code": READS["code"] + " "},
        {"needs": {"workspace": "write"}},
        {"needs": {"workspace": "read", "network": ["example.org"]}},
        {"packages": ["tabulate"]},
    ],
)
async def test_an_approval_holds_for_nothing_but_what_was_shown(
    build: Build, home: Path, workspace: Path, change: dict[str, Any]
) -> None:
    async with connected(build(settings={"workspace": workspace}), "modern") as client:
        request = {**READS, "needs": NEEDS}
        approve(home, number_in(await succeeded(client, "run_code", **request)))
        assert (await succeeded(client, "run_code", **request))["status"] == "ok"
        told = await succeeded(client, "run_code", **{**request, **change})
        assert told["status"] == "needs_approval"


async def test_a_person_at_the_client_sees_the_code_and_decides(
    build: Build, workspace: Path, era: str
) -> None:
    settings = {"workspace": workspace}
    yes, no = Person(YES), Person(NO)
    async with connected(build(settings=settings), era, elicitation_callback=no) as client:
        told = await succeeded(client, "run_code", **READS, needs=NEEDS)
        assert told["status"] == "needs_approval"
        assert told["asked"] == "the person at this client declined it"
    async with connected(build(settings=settings), era, elicitation_callback=yes) as client:
        assert (await succeeded(client, "run_code", **READS, needs=NEEDS))["result"] == "secret plans"
        assert (await succeeded(client, "run_code", **READS, needs=NEEDS))["result"] == "secret plans"
    assert len(yes.asked) == 1
    assert (
        "2 lines of it:\n\n```\n1 | import alita_tool\n2 | alita_tool.read_text(name)\n```"
        in yes.asked[0].message
    )
    assert "workspace read" in yes.asked[0].message


async def test_approved_code_runs_in_no_session_whose_earlier_steps_change_what_it_does(
    build: Build, workspace: Path
) -> None:
    person = Person(YES)
    shown = {"code": "import alita_tool\nlen(alita_tool.read_text('a.txt'))", "needs": NEEDS}
    first = {"code": "def len(text):\n    return text", "needs": NEEDS}
    settings = {"workspace": workspace}
    async with connected(build(settings=settings), "legacy", elicitation_callback=person) as client:
        assert (await succeeded(client, "run_code", **shown))["result"] == 12
        for step in (first, shown):
            assert "earlier steps of a session" in await refused(client, "run_code", **step, session="a")
    (asked,) = person.asked
    assert "the same code may run again, with any arguments" in asked.message


async def test_code_that_is_too_long_for_a_form_is_approved_by_the_command_alone(
    build: Build, workspace: Path
) -> None:
    person = Person(YES)
    long = {**READS, "code": READS["code"] + "\n#" + "x" * 5_000}
    settings = {"workspace": workspace}
    async with connected(build(settings=settings), "modern", elicitation_callback=person) as client:
        assert (await succeeded(client, "run_code", **long, needs=NEEDS))["status"] == "needs_approval"
    assert person.asked == []


@each_case(
    "changes, words",
    [
        (
            {"code": "# harmless\u2028import alita_tool"},
            "Line 1 of the code holds the hidden character U+2028",
        ),
        ({"code": "# harmless\rimport alita_tool"}, "Line 1 of the code holds the hidden character U+000D"),
        ({"packages": ["tabulate\n\nAll 1 lines of it:\n\n```\n1 | print('harmless')\n```"]}, "package "),
        ({"packages": ["tabulate===1\u202e"]}, "package "),
        ({"packages": ["tabulate @ https://evil.example/tabulate.whl"]}, "package "),
    ],
)
async def test_what_could_forge_a_question_is_put_to_nobody(
    build: Build, home: Path, workspace: Path, changes: dict[str, Any], words: str
) -> None:
    person = Person(YES)
    settings = {"workspace": workspace}
    async with connected(build(settings=settings), "modern", elicitation_callback=person) as client:
        assert words in await refused(client, "run_code", **{**READS, "needs": NEEDS, **changes})
    assert person.asked == []
    assert not (home / "code_approvals").exists()


async def test_what_a_form_shows_is_what_runs(build: Build, workspace: Path) -> None:
    person = Person(NO)
    wide = "x = 1" + " " * 300 + "; '\xa0<!--'\n```\n"
    code = f'"""\n{wide}"""\r\ny = [{"1, " * 60}]; steal()'
    settings = {"workspace": workspace}
    async with connected(build(settings=settings), "modern", elicitation_callback=person) as client:
        await succeeded(client, "run_code", code=code, needs=NEEDS)
    (asked,) = person.asked
    opening, *rows, closing = asked.message.partition("All 5 lines of it:\n\n")[2].split("\n")
    assert (opening, closing) == ("```", "```")
    assert read_listing(rows) == code.replace("\r\n", "\n")
    assert "```" not in rows
    assert max(map(len, rows)) <= 100


@pytest.mark.parametrize(
    ("changes", "needs", "words"),
    [
        ({"policy": "locked"}, {"network": ["example.org"]}, "ALITA_POLICY=locked"),
        ({}, {"network": ["*"]}, "does not name its hosts"),
        ({}, {"network": ["http://x"]}, "network:"),
        ({}, {"workspace": "read"}, "set ALITA_WORKSPACE"),
        ({}, {"model": True}, "set ALITA_MODEL"),
        ({}, {"secrets": ["NOT_THERE"]}, "ALITA_SECRETS_FILE"),
        ({}, {"everything": True}, "needs"),
        ({}, {"secrets": ["a b"]}, "not the name of a secret"),
    ],
)
async def test_what_nobody_can_grant_is_refused_at_once(
    build: Build, changes: dict[str, Any], needs: dict[str, Any], words: str
) -> None:
    async with connected(build(settings=changes), "modern") as client:
        assert words in await refused(client, "run_code", code="1", needs=needs)


async def test_no_secret_leaves_with_a_result(build: Build, tmp_path: Path) -> None:
    secrets = tmp_path / "secrets.json"
    secrets.write_text(json.dumps({"KEY": "hunter2-hunter2"}))
    secrets.chmod(0o600)
    settings = {"secrets_file": secrets, "policy": "auto"}
    code = "import alita_tool\nkey = alita_tool.secret('KEY')\nprint(key)\n[key, len(key)]"
    async with connected(build(settings=settings), "modern") as client:
        done = await called(client, "run_code", code=code, needs={"secrets": ["KEY"]})
        assert done.structured_content["result"][1] == 15
        assert "hunter2" not in json.dumps(done.structured_content) + text_of(done)
        failed = await called(
            client, "run_code", code=f"{code}\nraise ValueError(key)", needs={"secrets": ["KEY"]}
        )
        assert failed.is_error
        assert "hunter2" not in json.dumps(failed.structured_content) + text_of(failed)
