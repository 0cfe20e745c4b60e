"""Attestation of a sandbox: the supervisor's findings about its confinement, and the check of them."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator

from alita_mcp.values import Value

_CAPABILITIES = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
_SLACK = 1 << 20
"""File systems and cgroups round limits to pages."""

Limit = Annotated[int | None, BeforeValidator(lambda text: int(text) if str(text).isdigit() else None)]
"""A cgroup's limit; None where it is `max` or cannot be seen."""


class Attestation(Value):
    """Supervisor's findings, taken before it hardened itself."""

    pid: int
    status: dict[str, str]
    no_new_privileges: bool
    interfaces: tuple[str, ...]
    root_read_only: bool
    scratch_bytes: int
    scratch_files: int
    memory_limit: Limit
    process_limit: Limit
    core_limit: int
    python_tag: str


class Demands(Value):
    """Required confinement; None: it cannot be seen from inside, the back end checks it from outside."""

    memory_bytes: int | None
    processes: int | None
    scratch_bytes: int
    scratch_files: int | None
    engine_filter: bool
    """Whether the engine itself must have put a seccomp filter in place."""
    ambient_set: bool = True
    """Whether the kernel must show its set of ambient capabilities; False where the runtime's kernel has none."""


def weaknesses(found: Attestation, demanded: Demands) -> tuple[str, ...]:
    """Each way in which the sandbox is weaker than required; empty: it may run code."""

    def is_within(limit: int | None, demand: int | None, slack: int = _SLACK) -> bool:
        return demand is None or (limit is not None and 0 < limit <= demand + slack)

    status = found.status
    shown = [name for name in _CAPABILITIES if name in status or name != "CapAmb" or demanded.ambient_set]
    held = [name for name in shown if set(status.get(name, "?")) != {"0"}]
    strange = set(found.interfaces) - {"lo"}
    is_root = any("0" in status.get(name, "0").split() for name in ("Uid", "Gid"))
    claims = (
        (found.pid == 1, f"the supervisor has pid {found.pid}, not 1"),
        (not is_root, f"it runs as root (Uid {status.get('Uid')}, Gid {status.get('Gid')})"),
        (not held, f"it holds capabilities ({', '.join(held)})"),
        (found.no_new_privileges, "it can gain new privileges"),
        (not demanded.engine_filter or status.get("Seccomp") == "2", "the engine applied no seccomp filter"),
        (not strange, f"it has network interfaces ({', '.join(sorted(strange))})"),
        (found.root_read_only, "its root file system is writable"),
        (found.core_limit in {0, 1} or not demanded.engine_filter, "it can dump core"),
        (is_within(found.scratch_bytes, demanded.scratch_bytes), f"its scratch holds {found.scratch_bytes} bytes"),
        (is_within(found.scratch_files, demanded.scratch_files), f"its scratch holds {found.scratch_files} files"),
        (is_within(found.memory_limit, demanded.memory_bytes), f"its memory limit is {found.memory_limit}"),
        (is_within(found.process_limit, demanded.processes, 0), f"its process limit is {found.process_limit}"),
    )  # fmt: skip
    return tuple(weakness for holds, weakness in claims if not holds)
