"""A tool that asks for something and is thinly proved: kept, given nothing, until more examples make it verified."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from alita_mcp.errors import ToolUnavailable
from alita_mcp.library.library import Library
from alita_mcp.library.opening import open_library
from alita_mcp.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.requests.outcomes import Exists, NeedsApproval, Outcome, Rejected
from alita_mcp.toolsmith.requests.request import read_request
from alita_mcp.toolsmith.toolsmith import Toolsmith

pytestmark = pytest.mark.usefixtures("bubblewrap")

CODE = '''import alita_tool


def shouted_line(name: str, number: int) -> str:
    """A line of a file in the workspace, in capitals.

    Args:
        name: Name of the file.
        number: Which line, the first is 0.
    """
    lines = alita_tool.read_text(name).splitlines()
    return lines[number].upper()
'''
FEW = [
    {"arguments": {"name": "sample.txt", "number": 1}, "expected": "JUMPS OVER"},
    {"arguments": {"name": "sample.txt", "number": 2}, "expected": "THE LAZY DOG."},
]
MORE = [
    {"arguments": {"name": "sample.txt", "number": 99}, "raises": "IndexError"},
    {"arguments": {"name": "nowhere.txt", "number": 1}, "raises": "FileNotFoundError"},
]
ASKING: dict[str, Any] = {
    "name": "shouted_line",
    "description": "A line of a file in the workspace, in capitals.",
    "code": CODE,
    "tests": FEW,
    "workspace": "read",
}


@pytest.fixture
async def library(settings: Settings) -> AsyncIterator[Library]:
    async with open_library(settings, starters=lambda: None) as opened:
        yield opened


@pytest.fixture
async def sandbox(settings: Settings) -> AsyncIterator[BubblewrapSandbox]:
    box = BubblewrapSandbox(settings)
    yield box
    await box.aclose()


async def made(smith: Toolsmith, **changes: Any) -> Outcome:
    async def silent(_stage: str) -> None:
        return None

    request = read_request({**ASKING, **changes})
    assert not isinstance(request, Rejected), request
    with anyio.fail_after(300):
        return await smith.make(request, silent)


@pytest.mark.parametrize("policy", ["ask", "auto"])
async def test_a_thinly_proved_tool_is_granted_nothing_until_more_examples_verify_it(
    library: Library, sandbox: BubblewrapSandbox, settings: Settings, policy: str
) -> None:
    smith = Toolsmith(library, sandbox, settings.model_copy(update={"policy": policy}), lambda _manifest: ())
    thin = await made(smith)
    assert isinstance(thin, NeedsApproval), thin
    assert (thin.trust, thin.grants) == ("provisional", ("workspace read",))
    assert "Only verified tools are given grants" in thin.how
    assert thin.to_raise_trust in thin.how
    with pytest.raises(ToolUnavailable, match="verified tools only") as caught:
        await library.approve("shouted_line")
    assert caught.value.hint == thin.to_raise_trust
    assert not library.entry("shouted_line").callable_now

    raised = await made(smith, tests=MORE)

    entry = library.entry("shouted_line")
    assert (entry.manifest.trust, entry.versions) == ("verified", (1,))
    assert entry.callable_now is (policy == "auto")
    if policy == "auto":
        assert isinstance(raised, Exists), raised
        assert (raised.trust_before, raised.trust) == ("provisional", "verified")
    else:
        assert isinstance(raised, NeedsApproval), raised
        assert "alita approve shouted_line" in raised.how
        assert (raised.trust, raised.to_raise_trust) == ("verified", "")
        assert (await library.approve("shouted_line")).callable_now
