"""Synthesis request, read from a client's JSON or rejected with the field that does not fit."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, JsonValue, StringConstraints, ValidationError

from alita_mcp.library.grants.hosts import MAX_HOSTS
from alita_mcp.toolsmith.requests.fences import unfenced
from alita_mcp.toolsmith.requests.modes import Mode
from alita_mcp.toolsmith.requests.outcomes import Rejected
from alita_mcp.values import Example, Recorded, Value, Varying
from alita_mcp.verification.code.function import public_functions
from alita_mcp.verification.code.source import parse_code
from alita_mcp.verification.findings import ContractError

NEEDS = ("network", "workspace", "model", "tools", "secrets")
"""What a tool may ask for; clients send them together as `needs`."""
NEEDS_SHAPE = (
    'Send needs as {"network": ["api.example.org"], "workspace": "read" or "write", "model": true, "tools": ["name"], '
    '"secrets": ["NAME"]}, only what the code uses.'
)
MAX_WHERE = 80
MAX_TEXT = 64_000
"""Longest code, in characters."""
EXAMPLE_SHAPE = (
    'Each test is {"arguments": {…}, "expected": …}, {"arguments": {…}, "raises": "ValueError"} '
    'or {"arguments": {…}, "check": "expression over result and arguments"}.'
)
BOTH = Rejected(
    stage="policy",
    reason="from_run and code exclude one another: the code is that of the runs.",
    fix="Leave out code, or send it with tests and without from_run.",
)

RunId = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
MAX_RUNS = 50
"""One tool is made of at most so many runs."""


class SynthesisRequest(Value):
    """Arguments of `synthesize_tool`; empty fields were not given."""

    description: str = Field(default="", max_length=8_000)
    name: str = Field(default="", max_length=200)
    code: str = Field(default="", max_length=MAX_TEXT)
    tests: tuple[Example, ...] = Field(default=(), max_length=200)
    from_run: Annotated[
        tuple[RunId, ...], BeforeValidator(lambda ids: [ids] if isinstance(ids, str) else ids)
    ] = Field(default=(), max_length=MAX_RUNS)
    """Runs of `run_code` that the tool is made of, instead of code."""
    use_when: tuple[str, ...] = Field(default=(), max_length=50)
    packages: tuple[str, ...] = Field(default=(), max_length=30)
    network: tuple[str, ...] = Field(default=(), max_length=MAX_HOSTS)
    """Hosts that the tool reaches; `*` stands for hosts that a person names later."""
    workspace: Literal["none", "read", "write"] = "none"
    model: bool = False
    tools: tuple[str, ...] = Field(default=(), max_length=20)
    secrets: tuple[str, ...] = Field(default=(), max_length=20)
    varies: tuple[Varying, ...] = Field(default=(), max_length=2)
    """What results may differ by from call to call."""
    update: bool = False
    breaks: tuple[dict[str, JsonValue], ...] = Field(default=(), max_length=200)
    """Arguments of those examples of the replaced version that are not to hold any longer."""
    mode: Mode | None = None
    """How much a model may spend on it; None: as the settings say."""
    made_by: str = Field(default="", exclude=True)
    """What the client calls itself; never taken from its arguments."""
    client: str = Field(default="", exclude=True)
    """The same with its version, for the journal."""
    recorded: Recorded | None = Field(default=None, exclude=True)
    """Where `code` was made of runs: which, and those of `tests` that only these show; never taken from arguments."""

    @property
    def full_description(self) -> str:
        """The description, and what its author says of results that vary."""
        return f"{self.description}\n{variation(self.varies)}" if self.varies else self.description


def variation(varies: Sequence[Varying]) -> str:
    """Describes results that vary for writers; empty where they do not."""
    by = {"clock": "the clock (checks know it as `now`, a datetime in UTC)", "random": "chance"}
    named = " and ".join(by[each] for each in varies)
    return f"Results vary with {named}: tests use check." if varies else ""


def read_request(raw: Mapping[str, Any], made_by: str = "", client: str = "") -> SynthesisRequest | Rejected:
    """Reads a request of a client; anything that does not fit comes back as a rejection naming the field.

    What a tool asks for may stand in `needs`, or beside the other fields as files of requests have it.
    """
    needs = raw.get("needs") or {}
    if not isinstance(needs, Mapping) or not needs.keys() <= {*NEEDS}:
        return Rejected(stage="schema", reason="needs: it is not an object of these fields.", fix=NEEDS_SHAPE)
    given = {**{field: value for field, value in raw.items() if field != "needs"}, **needs}
    try:
        ours = {"made_by": made_by, "client": client, "recorded": None}
        request = SynthesisRequest.model_validate({**given, **ours})
    except ValidationError as invalid:
        return _unreadable(invalid)
    if not request.code.strip():
        return request
    if request.from_run:
        return BOTH
    request = request.model_copy(update={"code": unfenced(request.code)})
    return request.model_copy(update=taken_from_code(request))


def _unreadable(invalid: ValidationError) -> Rejected:
    problem = invalid.errors(include_url=False, include_context=False)[0]
    where = ".".join(str(part) for part in problem["loc"])[:MAX_WHERE]
    field = str(problem["loc"][0]) if problem["loc"] else ""
    reason = f"{where or 'the request'}: {problem['msg'].removeprefix('Value error, ')}."
    fix = f"Send {field[:MAX_WHERE] or 'the request'} as the input schema says."
    shapes = {"tests": EXAMPLE_SHAPE, **dict.fromkeys(NEEDS, NEEDS_SHAPE)}
    fix = shapes.get(field, fix)
    return Rejected(stage="examples" if field == "tests" else "schema", reason=reason, fix=fix)


def taken_from_code(request: SynthesisRequest) -> dict[str, str]:
    """Name and description from the code where the request leaves them out and the code says them plainly."""
    try:
        module = parse_code(request.code)
    except ContractError:
        return {}
    functions = public_functions(module)
    if len(functions) != 1:
        return {}
    summary = (ast.get_docstring(functions[0]) or "").strip().partition("\n\n")[0].strip()
    found = {}
    if not request.name:
        found["name"] = functions[0].name
    if not request.description.strip():
        found["description"] = summary
    return found
