"""All hostile programs, by kind of attack and in one list."""

from __future__ import annotations

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

KINDS: tuple[tuple[Hostile, ...], ...] = (
    RESOURCES, ENDINGS, VALUES, TAMPERING, WORKERS, KEPT_STATE, SCRATCH, ISOLATION, HOST, DOORS,
)  # fmt: skip
HOSTILE: tuple[Hostile, ...] = tuple(program for kind in KINDS for program in kind)
