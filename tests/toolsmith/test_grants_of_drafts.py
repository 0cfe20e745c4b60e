"""Drafts that ask for more than computing: proved in rehearsal, kept, and callable only once a person grants it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from alita_mcp.errors import ToolUnavailable
from alita_mcp.library.library import Library
from alita_mcp.library.opening import open_library
from alita_mcp.library.promotion import Promotion
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.requests.outcomes import Created, Exists, NeedsApproval, Outcome, Rejected
from alita_mcp.toolsmith.requests.request import read_request
from alita_mcp.toolsmith.toolsmith import Toolsmith
from alita_mcp.values import Grants
from tests.verification.test_rehearsal import FETCH
from tests.verification.trusting_sandbox import TrustingSandbox

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("embedded")]

WAIT_S = 300
FETCH_ITEM: dict[str, Any] = {
    "name": "fetch_item",
    "description": "Fetches an item.",
    "code": FETCH,
    "tests": [
        {"arguments": {"number": 3}, "expected": "/items/3"},
        {"arguments": {"number": 0}, "expected": "/items/0"},
        {"arguments": {"number": -1}, "raises": "ValueError"},
    ],
    "network": ["API.example.org", "api.example.org"],
}


@pytest.fixture
async def library(settings: Settings) -> AsyncIterator[Library]:
    async with open_library(settings, starters=lambda: None) as opened:
        yield opened


async def silent(_stage: str) -> None:
    return None


async def made(library: Library, settings: Settings, **changes: Any) -> Outcome:
    request = read_request({**FETCH_ITEM, **changes})
    assert not isinstance(request, Rejected), request
    smith = Toolsmith(library, TrustingSandbox(), settings, lambda _manifest: ())
    with anyio.fail_after(WAIT_S):
        return await smith.make(request, silent)


def listed(library: Library) -> list[str]:
    return [entry.name for entry in Promotion(20).choose(library.tools.entries())]


async def test_a_tool_that_asks_for_a_host_is_kept_and_waits_for_a_person(
    library: Library, settings: Settings
) -> None:
    outcome = await made(library, settings)
    assert isinstance(outcome, NeedsApproval), outcome
    assert (outcome.tool, outcome.version) == ("fetch_item", 1)
    assert outcome.grants == ("network api.example.org",)
    assert "alita approve fetch_item" in outcome.how
    assert library.entry("fetch_item").manifest.grants == Grants(network=("api.example.org",))
    assert library.entry("fetch_item").manifest.trust == "verified"
    assert listed(library) == []
    with pytest.raises(ToolUnavailable, match=r"network api\.example\.org"):
        library.callable_entry("fetch_item")
    assert (await library.search("fetch an item", 3)).results[0].name == "fetch_item"
    await library.approve("fetch_item")
    assert listed(library) == ["fetch_item"]


async def test_policy_auto_grants_what_is_asked_for_but_names_no_hosts(
    library: Library, settings: Settings
) -> None:
    auto = settings.model_copy(update={"policy": "auto"})
    assert isinstance(await made(library, auto), Created)
    assert listed(library) == ["fetch_item"]
    open_hosts = await made(library, auto, update=True, network=["*"])
    assert isinstance(open_hosts, NeedsApproval)
    assert open_hosts.grants == ("network (hosts that you name)",)
    assert "alita approve fetch_item --network HOST" in open_hosts.how
    assert (listed(library), library.entry("fetch_item").manifest.version) == (["fetch_item"], 1)


async def test_a_tool_that_reaches_for_another_host_fails_its_examples(
    library: Library, settings: Settings
) -> None:
    outcome = await made(library, settings, network=["other.example.org"])
    assert isinstance(outcome, Rejected)
    assert outcome.stage == "examples"
    assert not list(library.tools.entries())


async def test_a_tool_with_grants_is_never_taken_for_another_one(
    library: Library, settings: Settings
) -> None:
    pure = 'def pure_item(number: int) -> str:\n    """Names an item.\n\n    Args:\n        number: Which.\n    """\n'
    body = '    if number < 0:\n        raise ValueError("negative")\n    return f"/items/{number}"\n'
    one = await made(library, settings, name="pure_item", code=pure + body, network=[])
    assert isinstance(one, Created), one
    assert isinstance(await made(library, settings), NeedsApproval)


FETCH_THING: dict[str, Any] = {
    "name": "fetch_thing",
    "description": "Fetches an item that is called a thing.",
    "code": FETCH.replace("fetch_item", "fetch_thing"),
}


async def test_tools_with_the_same_grants_are_compared_in_rehearsal(
    library: Library, settings: Settings
) -> None:
    assert isinstance(await made(library, settings), NeedsApproval)
    outcome = await made(library, settings, **FETCH_THING)
    assert isinstance(outcome, Exists), outcome
    assert (outcome.tool, "in rehearsal" in outcome.why) == ("fetch_item", True)


async def test_needs_are_asked_for_together_and_rehearsed(library: Library, settings: Settings) -> None:
    code = (
        "import alita_tool\n\n\ndef read_line(name: str, number: int) -> str:\n"
        '    """One line of a file.\n\n    Args:\n        name: Of the file.\n        number: From 0.\n\n'
        '    Raises:\n        IndexError: There is no such line.\n    """\n'
        "    return alita_tool.read_text(name).splitlines()[number]\n"
    )
    tests = [
        {"arguments": {"name": "sample.txt", "number": 1}, "expected": "jumps over"},
        {"arguments": {"name": "sample.txt", "number": 0}, "expected": "The quick brown fox"},
        {"arguments": {"name": "sample.txt", "number": 9}, "raises": "IndexError"},
    ]
    request = {
        "name": "read_line", "description": "Gives one line of a file.", "code": code, "tests": tests, "network": [],
    }  # fmt: skip
    forgotten = await made(library, settings, **request)
    assert isinstance(forgotten, Rejected)
    assert 'Add "needs": {"workspace": "read"}' in forgotten.fix
    outcome = await made(library, settings, **request, needs={"workspace": "read"})
    assert isinstance(outcome, NeedsApproval), outcome
    assert outcome.grants == ("workspace read",)
