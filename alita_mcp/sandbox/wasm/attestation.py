"""Attestation of a worker process before it gets any code, and the check of it.

It is the word of a process of ours in which nothing of a tool has run yet. It proves what the system tells the
process about itself; it cannot prove that the engine has no flaw, nor that the system tells the truth.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata

from pydantic import ValidationError

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.wire.strict_json import NotJson, decode_strict
from alita_mcp.values import Value

_CAPABILITIES = ("CapInh", "CapPrm", "CapEff", "CapAmb")
"""Not those that a program could get that is started from here: none can be started, and it would get none."""
_VARIABLES = frozenset({"LC_CTYPE", "SYSTEMROOT", "__CF_USER_TEXT_ENCODING"})
"""What Python itself, Windows and macOS put there."""
_PIPES = {0, 1, 2}


class LinuxFacts(Value):
    """Facts that Linux tells a process about itself."""

    status: dict[str, str]
    """Lines of `/proc/self/status`, read after the last right was dropped."""
    own_network: bool
    interfaces: tuple[str, ...]
    descriptors: tuple[int, ...]
    dumpable: int
    core_bytes: int


class WorkerAttestation(Value):
    """Attestation of a worker after it dropped its rights."""

    engine: str
    """Version of wasmtime."""
    compiled: str
    """Name of the file that it loaded: a digest over component, engine and settings."""
    system: str
    variables: tuple[str, ...]
    linux: LinuxFacts | None = None
    profile: bool = False
    """Whether macOS took the profile."""


def check_attestation(payload: bytes, compiled: str) -> WorkerAttestation:
    """Checks the attestation in the HELLO frame of a worker that was to load the file of that name.

    Raises:
        SandboxError: it is none, or the worker is weaker than required.
    """
    try:
        found = WorkerAttestation.model_validate(decode_strict(payload))
    except (NotJson, ValidationError) as problem:
        raise SandboxError(f"The worker sent no valid attestation: {problem}") from problem
    weak: list[str] = []
    installed = metadata.version("wasmtime")
    if found.engine != installed:
        weak.append(f"it runs wasmtime {found.engine!r} where {installed} is installed")
    if found.compiled != compiled:
        weak.append(f"it loaded {found.compiled!r} and not {compiled!r}")
    if strange := sorted(set(found.variables) - _VARIABLES):
        weak.append(f"it inherited variables ({', '.join(strange)})")
    if found.system == "linux":
        weak += _weaknesses_on_linux(found.linux)
    if weak:
        raise SandboxError(f"The worker of the embedded sandbox is weaker than required: {'; '.join(weak)}.")
    return found


def describe_confinement(found: WorkerAttestation) -> str:
    """One line for people: which protections besides the engine are in force, and which are not."""
    if found.linux is not None:
        network = "no network" if _has_no_network(found.linux) else "sockets refused, no network of its own"
        user = found.linux.status["Uid"].split()[:1]
        return f"wasmtime {found.engine}; seccomp, no new privileges, no capabilities, {network}, user {''.join(user)}"
    if found.system == "darwin" and found.profile:
        return f"wasmtime {found.engine}; a sandbox profile of macOS"
    return f"wasmtime {found.engine}; a process of its own: nothing else confines it on {found.system}"


def _weaknesses_on_linux(found: LinuxFacts | None) -> Iterator[str]:
    if found is None:
        yield "it dropped nothing"
        return
    status = found.status
    if held := [name for name in _CAPABILITIES if set(status.get(name, "?")) != {"0"}]:
        yield f"it holds capabilities ({', '.join(held)})"
    for name, wanted, words in (
        ("Seccomp", "2", "it has no seccomp filter"),
        ("NoNewPrivs", "1", "it can gain new privileges"),
        ("Threads", "1", "it had threads before it dropped its rights"),
    ):
        if status.get(name) != wanted:
            yield words
    if strange := sorted(set(found.descriptors) - _PIPES):
        yield f"it holds descriptors ({', '.join(map(str, strange))})"
    if found.dumpable or found.core_bytes:
        yield "its memory may be dumped"
    if found.own_network and not _has_no_network(found):
        yield f"it has network interfaces ({', '.join(found.interfaces)})"


def _has_no_network(found: LinuxFacts) -> bool:
    return found.own_network and set(found.interfaces) <= {"lo"}
