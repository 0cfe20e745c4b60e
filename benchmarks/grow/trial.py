"""Trial of one group of scripts in the app: the tool made of them, and its differences."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from alita_mcp.app.learning import ClientIdentity
from alita_mcp.app.runs.runner import CodeRunResult
from alita_mcp.errors import AlitaError
from alita_mcp.interpreter.code_run import CodeRequest
from alita_mcp.synthesis.requests.outcomes import Created, Exists
from alita_mcp.synthesis.requests.request import read_request
from alita_mcp.verification.comparison.compare import same_result

if TYPE_CHECKING:
    from alita_mcp.app import App
    from alita_mcp.interpreter.code_run import CodeRun
    from benchmarks.grow.groups import Group, Script

Places = Mapping[str, int]
"""For each parameter of a tool, which of a script's values it takes."""


async def tried(app: App, group: Group, number: int) -> dict[str, Any]:
    """The result of a group's trial."""
    told: dict[str, Any] = {
        "shape": group.shape, "tool": "", "trust": "", "confirmed": "", "noticed": False, "why": "",
        "compared": 0, "refused": 0, "differs": [],
    }  # fmt: skip
    identity, ids = ClientIdentity(f"bench-{number}", "bench"), []
    for script in group.seen:
        answer = await _ran(app, script, identity)
        ids.append(answer.id)
        told["noticed"] |= bool(answer.keep)
    raw = {"from_run": ids, "name": f"grown_{number}", "description": f"Does what group {number} did."}
    outcome = await app.synthesize(read_request(raw), _silent)
    if not isinstance(outcome, Created):
        return told | {"why": _why(outcome)}
    told |= {"tool": outcome.tool, "trust": outcome.trust}
    places = await _places(app, outcome.tool, group.seen)
    if places is None:
        return told | {"differs": ["a parameter that no value of the scripts explains"]}
    for script in group.new:
        await _compare(app, outcome.tool, places, script, told, identity)
    told["confirmed"] = await _confirmed(app, raw, outcome)
    return told


async def _ran(app: App, script: Script, identity: ClientIdentity) -> CodeRunResult:
    answer = await app.code.run(CodeRequest(code=script.code, arguments=script.arguments), identity, _silent)
    if isinstance(answer, CodeRunResult):
        return answer
    raise AssertionError("code that only computes waits for nobody")


async def _places(app: App, tool: str, seen: Sequence[Script]) -> Places | None:
    """Found by the values alone: the tool's first examples are the scripts' calls."""
    stored = await app.library.read(tool)
    found: dict[str, int] = {}
    for name in stored.manifest.input_schema.get("properties", {}):
        columns = [json.dumps(each.arguments.get(name)) for each in stored.examples]
        places = [
            place
            for place in range(len(seen[0].values))
            if set(columns) <= {_as_json(script.values[place]) for script in seen}
        ]
        if not places:
            return None
        found[name] = max(places, key=lambda place: len({_as_json(each.values[place]) for each in seen}))
    return found


def _as_json(value: Any) -> str:
    try:
        return json.dumps(value)
    except TypeError:
        return repr(value)


async def _compare(
    app: App, tool: str, places: Places, script: Script, told: dict[str, Any], identity: ClientIdentity
) -> None:
    """The tool beside one new script."""
    run = (await _ran(app, script, identity)).run
    if run.status not in ("ok", "error") or run.result_kind == "repr":
        return
    given = {name: json.loads(_as_json(script.values[place])) for name, place in places.items()}
    try:
        result = (await app.run(tool, given)).result
    except AlitaError:
        told["refused"] += 1
        return
    told["compared"] += 1
    if run.ok and result.ok and same_result(_result_of(run), result.value):
        return
    if not run.ok and not result.ok and run.error_type == result.error_type.rpartition(".")[2]:
        return
    got = result.value if result.ok else f"{result.error_type}: {result.message}"
    expected = _result_of(run) if run.ok else run.error_type
    told["differs"].append(f"for {_as_json(given)}: {_as_json(got)}, the script {_as_json(expected)}")


def _result_of(run: CodeRun) -> Any:
    """What a tool is to give in its place: what it printed, where it has no result and printed something."""
    return (run.stdout or None) if run.result_kind == "none" else run.result


async def _confirmed(app: App, raw: dict[str, Any], made: Created) -> str:
    """The trust once a caller has confirmed what the server proposed, and the scripts' own calls."""
    stored = await app.library.read(made.tool)
    tests = [each.as_json() for each in stored.examples] + [dict(each) for each in made.proposed]
    outcome = await app.synthesize(read_request({**raw, "tests": tests}), _silent)
    return outcome.trust if isinstance(outcome, Exists | Created) else f"{outcome.status}"


def _why(outcome: Any) -> str:
    said = getattr(outcome, "reason", "") or getattr(outcome, "why", "") or outcome.status
    stage = getattr(outcome, "stage", "")
    return " ".join(f"{outcome.status} {stage} {said}".split())[:110]


async def _silent(_stage: str) -> None:
    return None
