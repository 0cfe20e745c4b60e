"""Request for a tool: its fields, how it is read, and the draft it describes."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, JsonValue, StringConstraints, ValidationError

from alita_mcp.library.grants.grants_file import SECRET_NAME
from alita_mcp.library.grants.hosts import ANY, MAX_HOSTS, host_problem, written
from alita_mcp.toolsmith.requests.modes import Mode
from alita_mcp.toolsmith.requests.outcomes import Rejected, rejection
from alita_mcp.values import META_TOOLS, TOOL_NAME, Draft, Example, Grants, Recorded, Value, Varying
from alita_mcp.verification.code.function import public_functions, several_public
from alita_mcp.verification.code.source import parse_code
from alita_mcp.verification.findings import ContractError

_FENCED = re.compile(
    r"^ {0,3}(`{3,}|~{3,})[^`\n]*\n(?P<code>.*)^ {0,3}\1[`~]*[ \t\r]*$", re.MULTILINE | re.DOTALL
)
"""From the first line that opens a block to the last that closes one, as CommonMark has them."""
_CODE = re.compile(r"^\s*(async def|def|class|import|from\s+\S+\s+import|@\w+)\b", re.MULTILINE)


def strip_fence(text: str) -> str:
    """Returns the code of the one fenced block, with or without prose around it; any other text as it is.

    Code that only holds fences, in a docstring for instance, is left alone.
    """
    found = _FENCED.search(text)
    if found is None or _is_code(text) or not _is_code(found["code"]):
        return text
    around = text[: found.start()] + text[found.end() :]
    return text if _CODE.search(around) else found["code"]


def _is_code(text: str) -> bool:
    try:
        return bool(parse_code(text).body)
    except ContractError:
        return False


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
    request = request.model_copy(update={"code": strip_fence(request.code)})
    return request.model_copy(update=name_and_description_in_code(request))


def _unreadable(invalid: ValidationError) -> Rejected:
    problem = invalid.errors(include_url=False, include_context=False)[0]
    where = ".".join(str(part) for part in problem["loc"])[:MAX_WHERE]
    field = str(problem["loc"][0]) if problem["loc"] else ""
    reason = f"{where or 'the request'}: {problem['msg'].removeprefix('Value error, ')}."
    fix = f"Send {field[:MAX_WHERE] or 'the request'} as the input schema says."
    shapes = {"tests": EXAMPLE_SHAPE, **dict.fromkeys(NEEDS, NEEDS_SHAPE)}
    fix = shapes.get(field, fix)
    return Rejected(stage="examples" if field == "tests" else "schema", reason=reason, fix=fix)


def name_and_description_in_code(request: SynthesisRequest) -> dict[str, str]:
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


def unfit_grants(request: SynthesisRequest) -> Rejected | None:
    """Returns the rejection of the first right that cannot be granted at all."""
    for host in request.network:
        problem = "" if host == ANY else host_problem(host)
        if problem:
            fix = "Ask for host names, as in api.example.org or *.example.org, without scheme and path."
            return Rejected(stage="policy", reason=f"network: {problem}.", fix=fix)
    for name in request.tools:
        if not re.fullmatch(TOOL_NAME, name) or name in META_TOOLS or name == request.name:
            fix = "Name tools of the library that this one calls."
            return Rejected(stage="policy", reason=f"tools: {name[:80]!r} cannot be called by it.", fix=fix)
    for name in request.secrets:
        if not SECRET_NAME.fullmatch(name):
            fix = "Name a secret by letters, digits, dots, dashes and underscores; never send its value."
            return Rejected(stage="policy", reason="secrets: one of them is no secret's name.", fix=fix)
    return None


def grants_of(request: SynthesisRequest) -> Grants:
    """Returns the grants that a request asks for; its hosts were checked before."""
    hosts = [host if host == ANY else written(host) for host in request.network]
    return Grants(
        network=tuple(dict.fromkeys(hosts)),
        workspace=request.workspace,
        model=request.model,
        tools=tuple(dict.fromkeys(request.tools)),
        secrets=tuple(dict.fromkeys(request.secrets)),
    )


NO_TESTS = Rejected(
    stage="examples",
    reason="tests: there are none, so nothing would be proved.",
    fix="Give at least 3 with different results, one an edge or error case. " + EXAMPLE_SHAPE,
)


def draft_of(request: SynthesisRequest, *, has_testers: bool = False) -> Draft | Rejected:
    """Makes the draft that a request describes, or says what it lacks; without testers the request needs tests."""
    lack = _lack_of(request, has_testers=has_testers)
    if lack is not None:
        return lack
    try:
        return Draft(
            name=request.name,
            description=request.description.strip(),
            code=request.code,
            examples=request.tests,
            use_when=request.use_when,
            packages=request.packages,
            grants=grants_of(request),
            varies=tuple(sorted(set(request.varies))),
            recorded=request.recorded,
        )
    except ValidationError as invalid:
        problem = invalid.errors(include_url=False, include_context=False)[0]
        return Rejected(
            stage="schema",
            reason=f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}.",
            fix="Send the field as the input schema says.",
        )


def unfit_name(name: str) -> Rejected | None:
    """The rejection of a name that no tool may have."""
    if not re.fullmatch(TOOL_NAME, name):
        return Rejected(
            stage="schema",
            reason=f"name: {name[:80]!r} is not a tool name.",
            fix="3 to 40 lower-case letters, digits and underscores, beginning with a letter: csv_to_json.",
        )
    if name in META_TOOLS:
        taken = f"name: {name!r} is one of the server's own tools."
        return Rejected(stage="schema", reason=taken, fix="Choose another name.")
    return None


def _why_unnamed(code: str) -> Rejected | None:
    """Why no name could be taken from the code: it does not parse, or has several public functions."""
    try:
        public = public_functions(parse_code(code))
    except ContractError as broken:
        return rejection(broken.check)
    return rejection(several_public(public).check) if len(public) > 1 else None


def _lack_of(request: SynthesisRequest, *, has_testers: bool) -> Rejected | None:
    refused = None if request.name else _why_unnamed(request.code)
    refused = refused or unfit_name(request.name) or unfit_grants(request)
    if refused is not None:
        return refused
    if request.breaks and not request.update:
        fix = "Send update=true with it, or leave it out."
        return Rejected(stage="policy", reason="breaks: there is no version to update.", fix=fix)
    if not request.tests and not (has_testers and grants_of(request).is_pure):
        return NO_TESTS
    return None
