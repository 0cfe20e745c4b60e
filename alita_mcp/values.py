"""Frozen values shared by several packages: tools, requests for them, and findings about them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from alita_mcp.owners import UNKNOWN_MAKER, Maker

TOOL_NAME = r"^[a-z][a-z0-9_]{2,39}$"
"""Clients put a prefix before a name; the tightest limit met in the field leaves 40 characters."""
SECRET_NAME = r"[A-Za-z][A-Za-z0-9_.-]{0,63}"  # noqa: S105 - a pattern

META_TOOLS = ("search_capabilities", "synthesize_tool", "run_tool", "inspect_tool", "run_code")
"""The fixed tools, in the order in which they are listed; no published tool may take one of these names."""

Trust = Literal["verified", "provisional", "rejected"]
Stage = Literal[
    "static", "environment", "examples", "determinism", "properties", "mutation", "agreement", "schema", "policy"
]  # fmt: skip
Varying = Literal["clock", "random"]  # what results of a tool may differ by from call to call
ToolName = Annotated[str, Field(pattern=TOOL_NAME)]
Schema = dict[str, Any]


class Value(BaseModel):
    """A frozen value; unknown fields are refused. What models read of one is a field's description: quick to load.

    Its validator is built at its first use, for a client waits for the server's first list of tools.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Source(Value):
    """Where something was read."""

    url: str
    title: str = ""
    retrieved_at: str = ""


class LookedUp(Value):
    """Look-ups made before a version was written."""

    model_config = ConfigDict(extra="ignore")  # older reports hold facts on packages

    sources: tuple[Source, ...] = ()
    """Pages whose passages its writers were shown."""
    notes: tuple[str, ...] = ()
    """What could not be looked up, and why."""


class DroppedTest(Value):
    """A written test that contradicts the majority of the candidates."""

    test: dict[str, Any]
    """As its author wrote it."""
    got: Any = None
    """What the chosen candidate gives instead."""


class Agreement(Value):
    """Agreement of independent candidates and suites about a tool that models wrote."""

    model_config = ConfigDict(extra="ignore")  # reports of version 0.1.0 hold more

    candidates: int
    suites: int
    share: float
    """Of the candidates, those that behave as the chosen one."""
    passed: float
    """Of all tests of the suites, those that the chosen one passes."""
    agreed: bool = False
    """Whether all candidates, two at least, were written blind, behave alike and pass every test."""
    kept: tuple[int, ...] = ()
    """Numbers of the tests that the chosen one passes; they are examples of the version."""
    dropped: tuple[int, ...] = ()
    """Numbers of the tests that contradict the majority and were left out."""
    contradicting: tuple[DroppedTest, ...] = ()
    """The first of the dropped ones."""
    repairs: int = 0
    """How often the chosen one was repaired after a failure."""
    blind: tuple[str, ...] = ()
    """Marks of those examples of the version that models wrote; the others are the caller's own."""


class Survivor(Value):
    """A mutant of a tool's code that no example noticed."""

    line: int
    was: str
    now: str
    shown_by: dict[str, Any] | None = None
    """Arguments with which it gives another result: an example that would notice it."""


class MutationScore(Value):
    """Mutation score: how many small mistakes in a tool's code its examples notice."""

    killed: int
    total: int
    survivors: tuple[Survivor, ...] = ()
    equivalent: int = 0
    """Mutants that gave no other result on any of so many inputs; they do not count."""
    inputs: int = 0


class Example(Value):
    """One worked call: arguments and one of the expected result, an error's class name, or a check."""

    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    expected: JsonValue = Field(
        default=None,
        description="The result, compared as JSON; floats with a relative tolerance of 1e-9 unless `exact`.",
    )
    raises: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z_][A-Za-z0-9_.]{0,99}$",
        description="Name of the exception class that the call must raise.",
    )
    check: str | None = Field(
        default=None, min_length=1, max_length=2_000,
        description="A Python expression over `result` and `arguments` (and `now`, `seed` of a tool that varies), "
        "with `math`, that must be true.",
    )  # fmt: skip
    exact: bool = False

    @model_validator(mode="after")
    def _says_one_outcome(self) -> Example:
        if len(self.outcome_fields) != 1:
            raise ValueError("an example needs exactly one of 'expected', 'raises' or 'check'")
        return self

    @property
    def outcome_fields(self) -> set[str]:
        """Which of `expected`, `raises`, `check` the author gave (an expected null counts)."""
        given = self.model_fields_set & {"expected", "raises", "check"}
        return {field for field in given if field == "expected" or getattr(self, field) is not None}

    def as_json(self) -> dict[str, Any]:
        """The example as its author wrote it: only the fields that were given."""
        return self.model_dump(mode="json", exclude_unset=True)


class Grants(Value):
    """Rights that a tool requests beyond pure computation; none holds before a person approved it."""

    network: tuple[str, ...] = ()
    """Host names, as in `api.example.org` or `*.example.org`."""
    workspace: Literal["none", "read", "write"] = "none"
    model: bool = False
    tools: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()

    @property
    def is_pure(self) -> bool:
        """True when nothing is asked for."""
        return not (self.network or self.workspace != "none" or self.model or self.tools or self.secrets)


class Limits(Value):
    """Limits of one call."""

    wall_seconds: float = Field(default=30.0, gt=0, le=600)
    cpu_seconds: float = Field(default=30.0, gt=0, le=600)
    memory_bytes: int = Field(default=256 << 20, ge=16 << 20)
    processes: int = Field(default=64, ge=1)
    scratch_bytes: int = Field(default=64 << 20, ge=0)
    output_bytes: int = Field(default=64 << 10, ge=0)
    """How much of stdout and of stderr is kept; sixteen times as much in all ends the call."""
    result_bytes: int = Field(default=1 << 20, ge=1)
    json_depth: int = Field(default=64, ge=1, le=64)
    """How deep arrays and objects of the result may be nested."""
    open_files: int = Field(default=256, ge=16, le=1024)
    scratch_files: int = Field(default=4096, ge=16)
    """How many files and folders the scratch directory holds."""
    broker_calls: int = Field(default=200, ge=0)
    """How often one call may ask a service of `alita_tool` and open a connection."""
    network_bytes: int = Field(default=32 << 20, ge=0)
    """How many bytes one call may send and receive over the network, together."""


class Recorded(Value):
    """Marks of the runs of code that a version was made of, and of those of its examples that nobody has confirmed."""

    runs: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()


class Draft(Value):
    """A proposed version, not accepted."""

    name: ToolName
    description: str
    code: str
    examples: tuple[Example, ...]
    use_when: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    """Requirements as in `numpy>=2`."""
    grants: Grants = Grants()
    limits: Limits = Limits()
    varies: tuple[Varying, ...] = ()
    recorded: Recorded | None = None


class ToolContract(Value):
    """Contract of a tool, read from its code without running it: function, schemas, errors and imports."""

    function: str
    summary: str
    """First line of the docstring, or of the description when there is none."""
    input_schema: Schema
    output_schema: Schema
    """Root `type: object`; other results are wrapped as `{"result": …}`."""
    wraps_result: bool
    is_async: bool
    raises: tuple[str, ...] = ()
    """Exception classes named in the docstring's `Raises:`."""
    imports: tuple[str, ...] = ()
    """Top-level modules that the code imports."""


class Lock(Value):
    """Packages resolved for one sandbox's Python: exact versions with hashes, wheels only."""

    requirements: tuple[str, ...] = ()
    """Lines as pip reads them: `name==1.2.3 --hash=sha256:…`, sorted."""
    python: str = ""
    """Python tag and platform it was resolved for, as in `cp311-linux_x86_64`."""

    @property
    def text(self) -> str:
        """The lock as `requirements.lock` holds it."""
        return "".join(f"{line}\n" for line in self.requirements)


class Check(Value):
    """One finding of one gate."""

    stage: Stage
    passed: bool
    hard: bool = True
    """A hard failure rejects the draft; a soft one only lowers the trust."""
    message: str = ""
    fix: str = ""
    """What to change, in words that a model can act on."""
    case: dict[str, Any] | None = None
    """The arguments of the call that showed it."""
    expected: Any = None
    got: Any = None
    trace: tuple[str, ...] = ()
    """At most ten lines."""
    seconds: float = 0.0


class Usage(Value):
    """What one piece of work asked of language models."""

    model_config = ConfigDict(extra="ignore")  # older reports hold more

    calls: int = 0
    """Answers that a model was asked for, failed ones included."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0
    """By the price list that ships with litellm; None where the price of at least one answer is not known."""
    seconds: float = 0.0
    """Spent waiting for models; calls that ran at once are counted each."""

    @property
    def tokens(self) -> int:
        """Read and written."""
        return self.prompt_tokens + self.completion_tokens


class WrittenFrom(Value):
    """The planner's specification of a request, from which a version was written."""

    request: str
    signature: str
    rules: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    """Of the rules those that the request does not say, each `name: what holds`."""


class VerificationReport(Value):
    """Results of the verification of a version, and its sandbox."""

    trust: Trust
    checks: tuple[Check, ...]
    sandbox: str
    """Kind of the sandbox: `docker`, `bubblewrap`, `wasm`, …"""
    examples_passed: int
    examples_total: int
    deterministic: bool
    seeds: tuple[int, ...] = ()
    properties: int = 0
    """How many inputs generated from the input schema were tried."""
    properties_seed: int | None = None
    """What they were drawn with: the same seed, schema and examples give the same inputs."""
    mutation: MutationScore | None = None
    environment: str | None = None
    """Digest of the built environment, when packages were asked for."""
    seconds: float = 0.0
    seconds_by_gate: dict[str, float] = Field(default_factory=dict)
    created_at: str
    """ISO 8601, UTC."""
    software: dict[str, str] = Field(default_factory=dict)
    """Versions of the programs that took part: alita, python, sandbox."""
    agreement: Agreement | None = None
    """For a tool that models wrote: how far their candidates and tests agree."""
    usage: Usage | None = None
    """For a tool that models wrote: what they cost."""
    written_from: WrittenFrom | None = None
    """For a tool that models wrote: what they were told to write."""
    recorded: Recorded | None = None
    """For a tool that was made of runs of code: which, and what nobody has confirmed."""
    looked_up: LookedUp | None = None
    """For a tool that models wrote: what was looked up before they did."""

    @property
    def failure(self) -> Check | None:
        """The hard check that ended the run, if one did."""
        return next((check for check in self.checks if check.hard and not check.passed), None)


class Manifest(Value):
    """Manifest of a version: the fields needed to list, search and call it."""

    name: ToolName
    version: int = Field(ge=1)
    description: str
    summary: str
    use_when: tuple[str, ...] = ()
    input_schema: Schema
    output_schema: Schema
    wraps_result: bool
    packages: tuple[str, ...] = ()
    grants: Grants = Grants()
    limits: Limits = Limits()
    varies: tuple[Varying, ...] = Field(default=(), exclude_if=lambda varies: not varies)
    trust: Trust
    deterministic: bool
    created_at: str
    digest: str
    """`sha256:…` over everything that decides what runs; see `library.files.digest_of`."""


class AcceptedVersion(Value):
    """A draft that passed its gates, with all that the library keeps of it but the version number."""

    draft: Draft
    contract: ToolContract
    lock: Lock
    report: VerificationReport
    made_by: Maker = UNKNOWN_MAKER
    """Who asked for it."""


class StoredVersion(Value):
    """One version as read back from disk, its digest checked."""

    manifest: Manifest
    code: str
    lock: Lock
    examples: tuple[Example, ...]
    report: VerificationReport

    @property
    def draft(self) -> Draft:
        """The draft this version was accepted from, for verifying it again."""
        shared = Draft.model_fields.keys() & Manifest.model_fields.keys()
        told: dict[str, Any] = {field: getattr(self.manifest, field) for field in shared}
        return Draft(code=self.code, examples=self.examples, recorded=self.report.recorded, **told)
