"""The same tool is not made twice: whole syntheses through an App, models scripted over HTTP, real sandboxes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio
import pytest

from alita_mcp.app import App, open_app
from alita_mcp.models.litellm.backoff import Patience
from alita_mcp.models.roles import RoleModels
from alita_mcp.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.server.tools.admission import admit
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.requests.outcomes import Created, Exists, Outcome, Rejected
from alita_mcp.toolsmith.requests.request import read_request
from tests.models.openai_server import openai_server
from tests.toolsmith.authors import COUNT, EDGES, GOOD, LISTED, PLAIN, REQUEST, SPEC, WRONG, Script, suite_of

pytestmark = [pytest.mark.slow, pytest.mark.no_cover, pytest.mark.embedded_first]

WAIT_S = 300
Make = Callable[[Script], AbstractAsyncContextManager[App]]


async def silent(_stage: str) -> None:
    return None


@pytest.fixture(params=["wasm", pytest.param("bubblewrap", marks=pytest.mark.bubblewrap)])
def opened(request: pytest.FixtureRequest, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Opens an App in a sandbox of each kind, with models that answer from a script."""
    if request.param == "bubblewrap":
        request.getfixturevalue("bubblewrap")
    kind = {"wasm": WasmSandbox, "bubblewrap": BubblewrapSandbox}[request.param]
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")

    @asynccontextmanager
    async def opening(script: Script) -> AsyncIterator[App]:
        with openai_server(script) as (url, _asked):
            configured = settings.model_copy(update={"model": "openai/scripted", "model_base_url": url})
            role_models = RoleModels(configured, patience=Patience(first_pause_s=0.01, max_pause_s=0.05))
            async with open_app(configured, admit=admit, sandbox=kind(configured), models=role_models) as app:
                yield app

    return opening


async def ask(app: App, **raw: object) -> Outcome:
    request = read_request(raw)
    assert not isinstance(request, Rejected), request
    with anyio.fail_after(WAIT_S):
        return await app.synthesize(request, silent)


async def publish(app: App, code: str, name: str, says: str, *pairs: tuple[int, int]) -> None:
    outcome = await ask(
        app, name=name, code=code.replace("def digit_sum", f"def {name}"), description=says,
        tests=suite_of(*pairs)["tests"],
    )  # fmt: skip
    assert isinstance(outcome, Created), outcome


async def publish_twin(app: App) -> None:
    says = "Adds up the decimal digits of a number."
    await publish(app, LISTED, "cross_total", says, (123, 6), (0, 0), (-45, 9))


async def test_a_duplicate_that_the_tests_do_not_show_is_recognised_before_it_is_published(
    opened: Make,
) -> None:
    script = Script(suites=[WRONG, GOOD, EDGES])
    async with opened(script) as app:
        await publish_twin(app)
        outcome = await ask(app, description=REQUEST)
        assert isinstance(outcome, Exists), outcome
        assert (outcome.tool, outcome.why[:15]) == ("cross_total", "same results on")
        assert script.count("code") == 3
        assert script.count("tests") == 3
        assert (
            REQUEST in app.library.entry("cross_total").wordings
            or SPEC["description"] in app.library.entry("cross_total").wordings
        )


async def test_a_tool_that_sounds_alike_and_does_something_else_is_published_beside_it(opened: Make) -> None:
    script = Script(candidates=[PLAIN, PLAIN, LISTED])
    async with opened(script) as app:
        says = "Counts the decimal digits of a whole number."
        await publish(app, COUNT, "digit_count", says, (123, 3), (0, 1), (-45, 2))
        outcome = await ask(app, description=REQUEST)
        assert isinstance(outcome, Created), outcome
        assert outcome.similar == ("digit_count",)
        assert "digit_count gives" in outcome.differs[0]
        assert app.library.entry("digit_count").wordings == ()
