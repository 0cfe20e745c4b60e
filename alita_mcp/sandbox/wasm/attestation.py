"""What a worker process says about itself before any code is entrusted to it, and the judgement on that."""

from __future__ import annotations

from pydantic import ConfigDict, ValidationError

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.strict_json import NotJson, decode_strict
from alita_mcp.values import Value


class WorkerAttestation(Value):
    """The worker's findings about itself, once it dropped what it could."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    engine: str
    """Version of wasmtime."""
    system: str
    variables: tuple[str, ...]


def judge(payload: bytes) -> WorkerAttestation:
    """The attestation in a HELLO frame.

    Raises:
        SandboxError: it is none, or the worker is weaker than it must be.
    """
    try:
        return WorkerAttestation.model_validate(decode_strict(payload))
    except (NotJson, ValidationError) as problem:
        raise SandboxError(f"The worker attested nothing that can be read: {problem}") from problem
