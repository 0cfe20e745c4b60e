"""Request for a tool: its fields, how it is read, and the draft it describes."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, JsonValue, StringConstraints, ValidationError

from alita_mcp.library.grants.hosts import ANY, MAX_HOSTS, canonical_host, host_problem
from alita_mcp.owners import UNIDENTIFIED, UNKNOWN_MAKER, ClientIdentity, Maker
from alita_mcp.toolsmith.requests.modes import Mode
from alita_mcp.toolsmith.requests.outcomes import Rejected, rejection
from alita_mcp.values import (
    META_TOOLS,
    SECRET_NAME,
    TOOL_NAME,
    Draft,
    Example,
    Grants,
    Recorded,
    Value,
    Varying,
)
from alita_mcp.verification.code.function import check_name, public_functions, several_public
from alita_mcp.verification.code.source import parse_code
from alita_mcp.verification.findings import ContractError

_OPENS = re.compile(r"^ {0,3}(`{3,}+|~{3,}+)[^`\n]*+\n", re.MULTILINE)
_CLOSES = r"(?P<code>.*)^ {{0,3}}{}[`~]*+[ \t\r]*+$"
"""A block of code: from the first line that opens one to the last that closes it, as CommonMark has them."""
_CODE = re.compile(r"^[^\S\n]*(async def|def|class|import|from\s+\S+\s+import|@\w+)\b", re.MULTILINE)


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
    made_by: Maker = Field(default=UNKNOWN_MAKER, exclude=True)
    """Who sends it; never taken from its arguments."""
    client: ClientIdentity = Field(default=UNIDENTIFIED, exclude=True)
    """Who asks; never taken from arguments either."""
    looks_up: bool = Field(default=True, exclude=True)
    """Whether the web may be asked what its planner does not know; never taken from arguments."""
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


def read_request(
    raw: Mapping[str, Any], made_by: Maker = UNKNOWN_MAKER, client: ClientIdentity = UNIDENTIFIED
) -> SynthesisRequest | Rejected:
    """Reads a request of a client; anything that does not fit comes back as a rejection naming the field.

    What a tool asks for may stand in `needs`, or beside the other fields as files of requests have it.
    """
    needs = raw.get("needs") or {}
    if not isinstance(needs, Mapping) or not needs.keys() <= {*NEEDS}:
        return Rejected(stage="schema", reason="needs: expected an object of known fields.", fix=NEEDS_SHAPE)
    given = {**{field: value for field, value in raw.items() if field != "needs"}, **needs}
    try:
        ours = {"made_by": made_by, "client": client, "looks_up": True, "recorded": None}
        request = SynthesisRequest.model_validate({**given, **ours})
    except ValidationError as invalid:
        problem = invalid.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(part) for part in problem["loc"])[:MAX_WHERE] or "the request"
        field = str(problem["loc"][0]) if problem["loc"] else ""
        shapes = {"tests": EXAMPLE_SHAPE, **dict.fromkeys(NEEDS, NEEDS_SHAPE)}
        return Rejected(
            stage="examples" if field == "tests" else "schema",
            reason=f"{where}: {problem['msg'].removeprefix('Value error, ')}.",
            fix=shapes.get(field, f"See {field[:MAX_WHERE] or 'the request'} in the input schema."),
        )
    if not request.code.strip():
        return request
    if request.from_run:
        reason = "from_run and code exclude one another: with from_run the code is taken from the runs."
        fix = "Leave out code, or leave out from_run and send the code with tests."
        return Rejected(stage="policy", reason=reason, fix=fix)
    request = request.model_copy(update={"code": strip_fence(request.code.replace("\r\n", "\n"))})
    return request.model_copy(update=name_and_description_in_code(request))


def strip_fence(text: str) -> str:
    """The code of the one fenced block, with or without prose around it; any other text as it is.

    Code that only holds fences, in a docstring for instance, is left alone. What begins with a fence is no Python:
    there it goes whatever stands in it, so that the error is that of the code.
    """

    def is_code(part: str) -> bool:
        try:
            return bool(parse_code(part).body)
        except ContractError:
            return False

    opens = _OPENS.search(text)
    if opens is None or is_code(text):
        return text
    begins = not text[: opens.start()].strip()
    found = re.compile(_CLOSES.format(opens[1]), re.MULTILINE | re.DOTALL).match(text, opens.end())
    if found is None or not (is_code(found["code"]) or (begins and opens[1] not in found["code"])):
        return text
    around = text[: opens.start()] + text[found.end() :]
    return text if _CODE.search(around) else found["code"]


def name_and_description_in_code(request: SynthesisRequest) -> dict[str, str]:
    """Name and description from the code where the request leaves them out and the code says them plainly."""
    try:
        functions = public_functions(parse_code(request.code))
    except ContractError:
        return {}
    if len(functions) != 1:
        return {}
    found = {}
    if not request.name:
        found["name"] = functions[0].name
    if not request.description.strip():
        found["description"] = (ast.get_docstring(functions[0]) or "").strip().partition("\n\n")[0].strip()
    return found


def name_problem(name: str) -> Rejected | None:
    """The rejection of a name that no tool may have, with the nearest one that it may."""
    try:
        check_name(name)
    except ContractError as wrong:
        return rejection(wrong.check)
    return None


def grant_problem(request: SynthesisRequest) -> Rejected | None:
    """The rejection of the first right that cannot be granted at all."""
    for host in request.network:
        problem = "" if host == ANY else host_problem(host)
        if problem:
            fix = "Send host names without scheme and path, as in api.example.org or *.example.org."
            return Rejected(stage="policy", reason=f"network: {problem}.", fix=fix)
    for name in request.tools:
        if not re.fullmatch(TOOL_NAME, name) or name in META_TOOLS or name == request.name:
            reason = f"tools: {name[:80]!r} is not a tool that this one can call."
            return Rejected(stage="policy", reason=reason, fix="Name tools of the library.")
    for name in request.secrets:
        if not re.fullmatch(SECRET_NAME, name):
            fix = "Send the secret's name (letters, digits, dots, dashes, underscores), never its value."
            return Rejected(stage="policy", reason="secrets: an entry is not the name of a secret.", fix=fix)
    return None


def grants_of(request: SynthesisRequest) -> Grants:
    """The grants that a request asks for; `grant_problem` has checked its hosts."""
    hosts = [host if host == ANY else canonical_host(host) for host in request.network]
    return Grants(
        network=tuple(dict.fromkeys(hosts)),
        workspace=request.workspace,
        model=request.model,
        tools=tuple(dict.fromkeys(request.tools)),
        secrets=tuple(dict.fromkeys(request.secrets)),
    )


def make_draft(request: SynthesisRequest) -> Draft | Rejected:
    """The draft that a request describes, or what it lacks."""
    problem = None
    if not request.name:
        # none could be taken from the code: it does not parse, or has several public functions
        try:
            public = public_functions(parse_code(request.code))
            problem = rejection(several_public(public).check) if len(public) > 1 else None
        except ContractError as broken:
            problem = rejection(broken.check)
    problem = problem or name_problem(request.name) or grant_problem(request)
    if problem is not None:
        return problem
    grants = grants_of(request)
    if request.breaks and not request.update:
        fix = "Send update=true with it, or leave it out."
        return Rejected(stage="policy", reason="breaks: applies to updates only.", fix=fix)
    if not request.tests:
        reason = "tests: none were sent, so nothing would be proved."
        fix = f"Send at least 3 with different results, one of them an edge or error case. {EXAMPLE_SHAPE}"
        return Rejected(stage="examples", reason=reason, fix=fix)
    examples = request.tests
    if request.recorded is None:  # what a run showed is kept word for word
        # a client waits for a server's first list, and these need most of the gates
        from alita_mcp.verification.code.contract import read_contract
        from alita_mcp.verification.examples.suite import fit_examples

        with suppress(ContractError):
            contract = read_contract(request.code, request.name, request.description)
            fitting = fit_examples(examples, contract.input_schema)
            examples = fitting if len(fitting) == len(examples) else examples
    try:
        return Draft(
            name=request.name,
            description=request.description.strip(),
            code=request.code,
            examples=examples,
            use_when=request.use_when,
            packages=request.packages,
            grants=grants,
            varies=tuple(sorted(set(request.varies))),
            recorded=request.recorded,
        )
    except ValidationError as invalid:
        first = invalid.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        fix = "See this field in the input schema."
        return Rejected(stage="schema", reason=f"{where}: {first['msg']}.", fix=fix)
