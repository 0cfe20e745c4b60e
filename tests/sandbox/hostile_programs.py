"""All hostile programs, by kind of attack and in one list."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from alita_mcp.errors import SandboxError
from tests.sandbox.hostile import Hostile
from tests.sandbox.hostile_doors import DOORS
from tests.sandbox.hostile_endings import ENDINGS
from tests.sandbox.hostile_host import HOST
from tests.sandbox.hostile_isolation import ISOLATION
from tests.sandbox.hostile_kept_state import KEPT_STATE
from tests.sandbox.hostile_resources import RESOURCES
from tests.sandbox.hostile_scratch import SCRATCH
from tests.sandbox.hostile_tampering import TAMPERING
from tests.sandbox.hostile_values import VALUES
from tests.sandbox.hostile_workers import WORKERS

KINDS: dict[str, tuple[Hostile, ...]] = {
    "resources": RESOURCES, "endings": ENDINGS, "values": VALUES, "tampering": TAMPERING, "workers": WORKERS,
    "kept state": KEPT_STATE, "scratch": SCRATCH, "isolation": ISOLATION, "host": HOST, "doors": DOORS,
}  # fmt: skip
HOSTILE: tuple[Hostile, ...] = tuple(program for kind in KINDS.values() for program in kind)
_AT_ONCE = 20
BATCHES: dict[str, tuple[Hostile, ...]] = {
    f"{name} {first}": kind[first : first + _AT_ONCE]
    for name, kind in KINDS.items()
    for first in range(0, len(kind), _AT_ONCE)
}
"""All programs, as many in a test as end within a minute or so on the slowest engine."""

FINDINGS = {
    "a bubblewrap that is started as root lets a tool write what the host's kernel runs": "core_pattern_opened",
    "AF_VSOCK is in no network namespace": "vsock_of_every_kind",
    "prlimit64 of the supervisor is allowed by the kernel": "others_limited",
    "random numbers after a fork are those of the parent": "random_is_the_same",
    "numpy does not seed itself again after a fork": "numpy_draws_the_same",
    "a handler that dumps are piped to obeys no limit of 0": "core_dumped",
    "the supervisor's descriptors are in /proc": "supervisor_opened",
    "a scratch folder without a size is the machine's memory": "scratch_fill",
}
"""What sandboxes fell to before, and the program that pins it."""

SAMPLE: frozenset[str] = frozenset({kind[0].name for kind in KINDS.values()} | set(FINDINGS.values()))
"""Names of the programs for engines on which each of them is slow: one of every kind, and all old findings."""


def offenders(programs: Iterable[Hostile], attack: Callable[[Hostile], None]) -> dict[str, str]:
    """Programs that did not end as they must, each with what was seen."""
    found = {}
    for program in programs:
        try:
            attack(program)
        except (AssertionError, SandboxError, TimeoutError) as problem:
            found[program.name] = f"{type(problem).__name__}: {problem}"
    return found
