"""Validation of requirements, lock lines and digests of environments."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from packaging.requirements import InvalidRequirement, Requirement

from alita_mcp.errors import PackagesRejected
from alita_mcp.values import Lock

MAX_PACKAGES = 30
MAX_REQUIREMENT = 200
MAX_LOCKED = 300
MAX_HASHES = 32
"""Wheels of one version that fit one Python."""
_LOCK_LINE = re.compile(
    r"([a-z0-9](?:[a-z0-9-]*[a-z0-9])?)==([A-Za-z0-9.!+_-]{1,80})"
    rf"(?: --hash=sha256:[0-9a-f]{{64}}){{1,{MAX_HASHES}}}"
)


def read_requirements(packages: Sequence[str]) -> list[str]:
    """The requirements in their canonical spelling.

    Raises:
        PackagesRejected: one is no plain requirement; the message names it.
    """
    if len(packages) > MAX_PACKAGES:
        raise PackagesRejected(
            f"{len(packages)} packages are more than the {MAX_PACKAGES} that a tool may have."
        )
    hint = "Write a name with an optional version range, as in 'numpy>=2,<3'."
    requirements: list[str] = []
    for text in packages:
        if len(text) > MAX_REQUIREMENT:
            raise PackagesRejected(f"{text[:40]!r}… is longer than {MAX_REQUIREMENT} characters.", hint=hint)
        try:
            requirement = Requirement(text)
        except InvalidRequirement as invalid:
            raise PackagesRejected(f"{text!r} is not a package requirement.", hint=hint) from invalid
        if requirement.url:
            raise PackagesRejected(
                f"{text!r} names a URL; only packages from the index are allowed.", hint=hint
            )
        requirements.append(str(requirement))
    return requirements


def read_lock(lock: Lock) -> list[str]:
    """Names of the packages of a lock.

    Raises:
        PackagesRejected: a line is not what `resolve` writes.
    """
    names: list[str] = []
    for line in lock.requirements:
        found = _LOCK_LINE.fullmatch(line)
        if not found or found[1] in names or len(names) >= MAX_LOCKED:
            raise PackagesRejected(f"{line[:100]!r} is not a valid lock line.")
        names.append(found[1])
    return names


def environment_digest(lock: Lock, kind: str, home_id: str) -> str:
    """Digest of an environment, which names its files: equal locks for one Python and kind of sandbox share one."""
    return hashlib.sha256(f"{lock.text}{lock.python}\n{kind}\n{home_id}\n".encode()).hexdigest()
