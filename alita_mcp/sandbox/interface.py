"""Interface of sandboxes: a job gives a result. Back ends implement `Sandbox`, brokers and egress policies its helpers.

A failing tool is a value (`RunResult`); a failing sandbox is an exception (`SandboxError`). Never mix them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, Protocol

from anyio.abc import ByteStream
from pydantic import Field

from alita_mcp.sandbox.abilities import Abilities
from alita_mcp.values import Grants, Limits, Lock, Value

RunStatus = Literal[
    "ok", "error", "load_failed", "bad_result", "timeout", "memory", "output_flood", "crashed"
]
Progress = Callable[[str], Awaitable[None]]
"""Told one short line at a time about long work, such as building an environment."""
MAX_TARGET = 200


class Environment(Value):
    """Packages built once for one lock; only the back end that made it knows its location."""

    digest: str
    location: str
    """Opaque to everyone but its back end: a folder, a volume."""


class EgressPolicy(Protocol):
    """Egress policy: decides where the connections of a sandbox may go; the sandbox itself has no network."""

    async def open(self, host: str, port: int) -> ByteStream:
        """A connection to a host that may be reached.

        Raises:
            EgressRefused: it may not be reached, or did not answer.
        """


class EgressRefused(Exception):
    """Refusal of a connection; `status` is the HTTP status that the tool's client sees."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class Broker(Protocol):
    """Broker of one call: serves what it asks for beyond computing, under the grants of its version."""

    @property
    def egress_policy(self) -> EgressPolicy | None:
        """Egress policy of its connections; None: no network."""

    async def answer(self, service: str, words: dict[str, Any]) -> Any:
        """The JSON value that a request of `alita_tool` gives: `complete`, `call_tool`, `secret`, `workspace.read`.

        Raises:
            PermissionError: the grant is missing; the message names it.
            OSError, ValueError, TimeoutError, RuntimeError: raised in the tool under the same name.
        """


class BrokerEvent(Value):
    """Journal record of one request to the broker or one connection; no bodies, paths of URLs or values of secrets."""

    door: str
    """`network`, `complete`, `call_tool`, `secret`, `workspace`."""
    target: str = Field(default="", max_length=MAX_TARGET)
    """`host:port`, a tool's or a secret's name, a path below the workspace."""
    status: str
    """`ok`, `refused`, or `failed`."""
    bytes_out: int = 0
    """Bytes that left the sandbox."""
    bytes_in: int = 0
    seconds: float = 0.0


class Job(Value):
    """Call of one function, in a process of its own."""

    code: str
    function: str
    arguments: dict[str, Any]
    environment: Environment | None = None
    limits: Limits = Limits()
    hash_seed: int | None = Field(default=None, ge=0, le=4_294_967_295)
    """PYTHONHASHSEED inside; None: an unpredictable one, see `calls.hash_seed`."""
    clock_offset_s: int = 0
    """Moves the wall clock that the code reads; used to show that results do not depend on it."""
    moment: int | None = None
    """Where the wall clock stands when a rehearsed call begins, in seconds of the epoch: it counts whole ones."""
    random_seed: int | None = Field(default=None, ge=0, le=4_294_967_295)
    """Seed of a rehearsed call's random numbers; None: unpredictable."""
    grants: Grants = Grants()
    """What the version was granted; the broker that comes with the job answers for it."""
    fresh: bool = False
    """Whether the call needs a worker that nothing ran in before and nothing will run in after."""
    depth: int = Field(default=0, ge=0)
    """How many calls led to this one; each of them waits in its own worker until this one ends."""


class RunResult(Value):
    """Result of one call.

    `ok`: `value` is strict JSON. `error`: the code raised `error_type`. `load_failed`: the module did not
    import. `bad_result`: the result is not JSON, too deep or too large. `timeout`, `memory`, `output_flood`:
    a limit was hit, named with its value in `message`. `crashed`: the process died without a result.
    """

    status: RunStatus
    value: Any = None
    error_type: str = ""
    error_kinds: tuple[str, ...] = ()
    """Names of the error's class and of those it derives from, with modules (`builtins.ValueError`), nearest first.

    Empty where no class was seen."""
    message: str = ""
    trace: tuple[str, ...] = ()
    """At most ten lines of the tool's own frames, without host paths."""
    stdout: str = ""
    """Where more was printed than `Limits.output_bytes`, its end says how much more."""
    stderr: str = ""
    wall_seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """True when the call gave a value."""
        return self.status == "ok"


class Probe(Value):
    """Claim that a back end proved or failed to prove about itself, here and now."""

    name: str
    """`starts`, or a claim such as `reads no file of the host`."""
    passed: bool
    detail: str = ""


class ProbeReport(Value):
    """Report of a back end's probes: what `doctor` prints and `auto` decides by."""

    kind: str
    probes: tuple[Probe, ...]
    hint: str = ""
    """The command that would make it work, when it does not; otherwise what a person should know."""

    @property
    def isolates(self) -> bool:
        """True when there were probes and all passed."""
        return bool(self.probes) and all(probe.passed for probe in self.probes)


class Sandbox(Protocol):
    """Isolated place that runs code.

    Implementers: code and arguments come from strangers. No network, no host files, no environment variables
    of the host; limits as asked or an error, never silently weaker. A call leaves no process and no file
    behind, also when the awaiting task is cancelled, which must kill the call at once. Never a bare process.
    """

    @property
    def kind(self) -> str:
        """`docker`, `bubblewrap`, `wasm` or another back end's own word."""

    async def probe(self) -> ProbeReport:
        """Tries to break out in each way that a tool must not; a back end that does not work is no error."""

    async def abilities(self) -> Abilities:
        """What code can do here and what it lacks compared with CPython; the authors of tools read it.

        Everything that is refused in `run` for want of a feature, and can be seen in the code, stands in `lacks`.

        Raises:
            SandboxError: the sandbox failed.
        """

    async def resolve(self, packages: tuple[str, ...], progress: Progress) -> Lock:
        """Exact versions and hashes of wheels for this sandbox's Python.

        Raises:
            PackagesRejected: a package does not exist, has no wheel, or conflicts; the message says which.
            SandboxRefused: this back end runs no packages.
            SandboxError: the sandbox or the index failed.
        """

    async def prepare(self, lock: Lock, progress: Progress) -> Environment:
        """The environment for a lock, built at most once per digest; errors as `resolve`."""

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        """Runs one call; without a broker every request of `alita_tool` is refused with the name of the missing grant.

        Raises:
            SandboxRefused: the job needs what this back end does not offer.
            SandboxBusy: too many calls wait already.
            SandboxError: the sandbox failed to start or broke its protocol.
        """

    async def tend(self) -> None:
        """Maintains what is kept between calls (idle workers, unused environments) until cancelled."""

    async def aclose(self) -> None:
        """Ends everything that this object started; safe to call twice."""
