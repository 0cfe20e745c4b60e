"""Record of the base image in the home: the digest of the first use is the one that runs from then on."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

from alita_mcp.errors import SandboxUnavailable

RECORD = "docker-images.json"
_log = logging.getLogger(__name__)


class BaseImage:
    """The image that the settings name, and what that name stood for when this home first used it."""

    def __init__(self, name: str, home: Path) -> None:
        self.name = name
        self._record = home / RECORD
        self.how_to_accept = f"To use what {name!r} is now, remove {self._record}."

    def read_references(self) -> dict[str, str]:
        """The recorded digests or ids by the names of their images; raises SandboxUnavailable."""
        try:
            known = json.loads(self._record.read_text(encoding="utf-8"))
            return {str(name): str(reference) for name, reference in known.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, AttributeError) as damaged:
            raise SandboxUnavailable(
                f"Cannot read {self._record}, the record of Docker images: {damaged}.",
                hint=self.how_to_accept,
            ) from damaged

    def record_reference(self, reference: str) -> None:
        """Records what the name stands for; a home that cannot be written is no reason to run nothing."""
        known = self.read_references() | {self.name: reference}
        aside = self._record.with_suffix(f".{os.getpid()}.new")
        try:
            self._record.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            aside.write_text(json.dumps(known, indent=1), encoding="utf-8")
            aside.replace(self._record)
        except OSError as failure:
            _log.warning(
                "Cannot record the digest of %s in %s: %s", self.name, self._record, failure.strerror
            )
