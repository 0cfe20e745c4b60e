"""Record of the base image in the home: the digest of the first use is the one that runs from then on."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any

from alita_mcp.errors import SandboxUnavailable

RECORD = "docker-images.json"
_log = logging.getLogger(__name__)


class BaseImage:
    """The image that the settings name, and what that name stood for when this home first used it."""

    def __init__(self, name: str, home: Path) -> None:
        self.name = name
        self.record = home / RECORD

    def read_reference(self) -> str:
        """The recorded digest or id; empty before the first use.

        Raises:
            SandboxUnavailable: the record cannot be read.
        """
        return self._read().get(self.name, "")

    def record_reference(self, reference: str) -> None:
        """Records what the name stands for; a home that cannot be written is no reason to run nothing."""
        known, aside = self._read() | {self.name: reference}, self.record.with_suffix(f".{os.getpid()}.new")
        try:
            self.record.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            aside.write_text(json.dumps(known, indent=1), encoding="utf-8")
            aside.replace(self.record)
        except OSError as failure:
            _log.warning("Cannot record the digest of %s in %s: %s", self.name, self.record, failure.strerror)

    def _read(self) -> dict[str, str]:
        try:
            known = json.loads(self.record.read_text(encoding="utf-8"))
            return {str(name): str(reference) for name, reference in known.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, AttributeError) as damaged:
            raise SandboxUnavailable(
                f"Cannot read {self.record}, the record of Docker images: {damaged}.",
                hint=self.how_to_accept(),
            ) from damaged

    def how_to_accept(self) -> str:
        """How a person has the image recorded that the name stands for at present."""
        return f"To use what {self.name!r} is now, remove {self.record}."


def reference_of(found: dict[str, Any]) -> str:
    """The digest of an inspected image in its registry; the id of one that comes from no registry."""
    return next(iter(found.get("RepoDigests") or ()), "") or str(found.get("Id", ""))


def is_id(reference: str) -> bool:
    """Whether a reference is an id, which no registry knows."""
    return reference.startswith("sha256:")
