"""Attestation of a worker process before it gets any code, and the check of it.

It is the word of a process of ours in which nothing of a tool has run yet. It proves what the system tells the
process about itself; it cannot prove that the engine has no flaw, nor that the system tells the truth.
"""

from __future__ import annotations

from importlib import metadata

from pydantic import ValidationError

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.wire.strict_json import NotJson, decode_strict
from alita_mcp.values import Value

_CAPABILITIES = ("CapInh", "CapPrm", "CapEff", "CapAmb")
"""Not those that a program could get that is started from here: none can be started, and it would get none."""
_VARIABLES = {"LC_CTYPE", "SYSTEMROOT", "__CF_USER_TEXT_ENCODING"}
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
    installed, strange = metadata.version("wasmtime"), sorted(set(found.variables) - _VARIABLES)
    claims = [
        (found.engine == installed, f"it runs wasmtime {found.engine!r} where {installed} is installed"),
        (found.compiled == compiled, f"it loaded {found.compiled!r} and not {compiled!r}"),
        (not strange, f"it inherited variables ({', '.join(strange)})"),
        (found.system != "linux" or found.linux is not None, "it dropped nothing"),
    ]
    if (linux := found.linux) is not None:
        status = linux.status
        held = [name for name in _CAPABILITIES if set(status.get(name, "?")) != {"0"}]
        opened = sorted(set(linux.descriptors) - _PIPES)
        outside = sorted(set(linux.interfaces) - {"lo"})
        claims += [
            (not held, f"it holds capabilities ({', '.join(held)})"),
            (status.get("Seccomp") == "2", "it has no seccomp filter"),
            (status.get("NoNewPrivs") == "1", "it can gain new privileges"),
            (status.get("Threads") == "1", "it had threads before it dropped its rights"),
            (not opened, f"it holds descriptors ({', '.join(map(str, opened))})"),
            (not linux.dumpable and not linux.core_bytes, "its memory may be dumped"),
            (not linux.own_network or not outside, f"it has network interfaces ({', '.join(outside)})"),
        ]
    if weak := [weakness for holds, weakness in claims if not holds]:
        raise SandboxError(f"The worker of the embedded sandbox is weaker than required: {'; '.join(weak)}.")
    return found
