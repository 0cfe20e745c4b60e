"""What happens to the chosen candidate when a gate refuses it, and what a planner may not do."""

from __future__ import annotations

import pytest

from alita_mcp.library.library import Library
from alita_mcp.models.roles import RoleModels
from alita_mcp.models.scripted import ScriptedModel
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.requests.outcomes import Created, Rejected
from alita_mcp.toolsmith.toolsmith import Toolsmith
from alita_mcp.values import Manifest
from tests.models.openai_server import Request, openai_server
from tests.toolsmith.authors import LISTED, PLAIN, Script, coded
from tests.toolsmith.bench import Bench

pytestmark = pytest.mark.slow


class Admission:
    """Refuses so many definitions before it lets one through."""

    def __init__(self, refusals: int) -> None:
        self.left = refusals

    def __call__(self, _manifest: Manifest) -> tuple[str, ...]:
        self.left -= 1
        return ("the definition is too long",) if self.left >= 0 else ()


async def made_after(
    refusals: int, script: Script, library: Library, sandbox: WasmSandbox, settings: Settings
) -> object:
    with openai_server(script) as (url, _asked):
        served = settings.model_copy(update={"model": "openai/x", "model_base_url": url})
        smith = Toolsmith(library, sandbox, served, Admission(refusals), RoleModels(served))
        return await Bench(library, smith, script).make(mode="standard")


async def test_a_choice_that_a_gate_refuses_is_mended_and_at_most_provisional(
    library: Library, sandbox: WasmSandbox, settings: Settings
) -> None:
    script = Script(candidates=[PLAIN], repairs=lambda _: LISTED)
    outcome = await made_after(1, script, library, sandbox, settings)
    assert isinstance(outcome, Created), outcome
    assert outcome.trust == "provisional"
    stored = await library.read("digit_sum")
    assert stored.code == LISTED
    assert stored.report.agreement is not None
    assert stored.report.agreement.repairs == 1
    assert "Keep the signature word for word" in script.texts("repair")[0]


async def test_a_model_that_falls_silent_while_a_choice_is_mended_leaves_the_gates_reason(
    library: Library, sandbox: WasmSandbox, settings: Settings
) -> None:
    script = Script(candidates=[PLAIN], repairs=lambda _: "no code")
    outcome = await made_after(99, script, library, sandbox, settings)
    assert isinstance(outcome, Rejected), outcome
    assert "no further attempt" in outcome.reason


async def test_any_source_of_models_can_write(
    library: Library, sandbox: WasmSandbox, settings: Settings
) -> None:
    script = Script(candidates=[PLAIN])

    def answer(messages: object) -> str:
        text = "\n".join(message.content for message in messages)  # type: ignore[attr-defined]
        reply = script(Request({"messages": [{"role": "user", "content": text}]}, {}, 0))
        return reply if isinstance(reply, str) else coded(PLAIN) if reply is None else _json(reply)

    model = ScriptedModel(answer)
    role_models = RoleModels(settings, source=lambda _role: model)
    smith = Toolsmith(library, sandbox, settings, lambda _: (), role_models)
    assert isinstance(await Bench(library, smith, script).make(mode="thorough"), Created)
    assert len(model.asked) == 4, "where two candidates and a suite agree, no more is drawn"


def _json(reply: object) -> str:
    import json

    return json.dumps(reply)


async def test_a_planner_that_takes_another_name_is_not_asked_again(
    library: Library, sandbox: WasmSandbox, settings: Settings
) -> None:
    script = Script(candidates=[PLAIN.replace("digit_sum", "cross_total")])
    with openai_server(script) as (url, _asked):
        served = settings.model_copy(update={"model": "openai/x", "model_base_url": url})
        smith = Toolsmith(library, sandbox, served, Admission(0), RoleModels(served))
        outcome = await Bench(library, smith, script).make(name="cross_total")
    assert isinstance(outcome, Created), outcome
    assert (outcome.tool, script.count("spec")) == ("cross_total", 1)
