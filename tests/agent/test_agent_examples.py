"""The examples of agents in the documentation: one sandbox, two sandboxes, two models; each with scripted models."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from alita_mcp.settings import ModelChoice, Settings
from benchmarks.agent import site
from tests.agent import scripted_solver, talk
from tests.agent.talk import Opened, Turns

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples" / "agents"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def settings_for(url: str, home: Path, **more: Any) -> Settings:
    return Settings(
        home=home,
        sandbox="wasm",
        model=scripted_solver.MODEL,
        model_base_url=url,
        **more,
    )


async def test_one_model_and_one_sandbox_solve_a_task_over_a_file(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text("amount\n" + "".join(f"{number}\n" for number in range(3_000)))
    script = talk.over_files("print('ANSWER[%d]' % sum(map(int, open('data.csv').read().split()[1:])))")
    with scripted_solver.serving(script) as url:
        solution = await example("one_sandbox").solve(
            settings_for(url, tmp_path / "home"), "Sum the column amount of data.csv.", [file]
        )
    assert (solution.answer, solution.solved) == (str(sum(range(3_000))), True)


def fetches_then_computes(opened: Opened) -> Turns:
    """The one task names a site, the other a file; each has nothing of the other's."""
    if opened.site:
        (page,) = yield (talk.read_page(f"{opened.site}/stations"),)
        rows = re.findall(r"(\w+) \| ([\d,]+)", page)
        answer = "; ".join(f"{name} {feet.replace(',', '')}" for name, feet in rows)
        claims = [
            {
                "claim": f"{name} {feet.replace(',', '')}",
                "reference": talk.name_of(page),
                "quote": f"{name} | {feet}",
            }
            for name, feet in rows
        ]
        yield (talk.Call("finish", {"answer": answer, "solved": True, "claims": claims}),)
        return
    code = (
        "import re\nfeet = [int(n) for n in re.findall(r'\\d+', open('rows.txt').read())]\n"
        "print('ANSWER[%s]' % round(sum(feet) / len(feet)))"
    )
    yield from talk.computed(code)


async def test_one_model_fetches_in_one_sandbox_and_computes_in_another(tmp_path: Path) -> None:
    module, asked = example("two_sandboxes"), list[dict[str, Any]]()
    with scripted_solver.serving(fetches_then_computes, asked) as url, site.served() as web:
        ours = settings_for(url, tmp_path)
        fetched, computed = await module.solve(
            module.apart(ours, "fetching", web_allow=web.host),
            module.apart(ours, "computing", web_allow=""),
            f"List the stations of {web.url}/stations with their elevation.",
            "What is the mean of the elevations in rows.txt?",
        )
    elevations = site.pages.ELEVATIONS_FT.values()
    assert fetched.solved
    assert (computed.answer, computed.solved) == (str(round(sum(elevations) / len(elevations))), True)
    assert [step.tool for step in fetched.steps] == ["read_page"]
    assert [step.tool for step in computed.steps] == ["run_code"]
    assert not computed.sources
    assert web.host not in str([body for body in asked if "mean of the elevations" in str(body)])


async def test_one_model_takes_the_steps_and_another_checks_the_answer(tmp_path: Path) -> None:
    module = example("two_models")
    steps, checks = list[dict[str, Any]](), list[dict[str, Any]]()
    script = talk.over_files("print(f'ANSWER[{6 * 7}]')")
    with scripted_solver.serving(script, steps) as coder, scripted_solver.serving(script, checks) as judge:
        settings = module.with_two_models(
            Settings(home=tmp_path, sandbox="wasm"),
            ModelChoice(name="openai/coder", base_url=coder),
            ModelChoice(name="openai/judge", base_url=judge),
        )
        solution = await module.solve(settings, "What is 6 times 7?")
    assert (solution.answer, solution.solved) == ("42", True)
    assert {body["model"] for body in steps} == {"coder"}
    assert all("tools" in body for body in steps)
    assert {body["model"] for body in checks} == {"judge"}
    assert all("tools" not in body for body in checks)
