"""Approvals of code that asks for more than computing, kept as small files in the library's home.

An approval holds for this very code with these packages and rights, whatever its arguments: for their digest.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from alita_mcp.errors import ToolNotFound, ToolUnavailable
from alita_mcp.file_locks import hold_lock
from alita_mcp.library.clock import now
from alita_mcp.library.disk import Damaged, read_plain_file
from alita_mcp.machine import unusable
from alita_mcp.owners import USER, choose_surplus
from alita_mcp.values import Grants, Value

MAX_WAITING = 100
"""So many wait for a person; one more takes the place of an older one."""
MAX_APPROVED = 1_000
LOCK_TIMEOUT_S = 30.0
UNFINISHED_S = 60
"""Nobody takes longer to write one file."""
_NUMBER = re.compile(r"[0-9a-f]{8}")
_MAX_BYTES = 1 << 20


class AskedCode(Value):
    """Code that asked for rights."""

    code: str
    packages: tuple[str, ...] = ()
    grants: Grants
    client: str = ""
    owner: str = USER
    """Whose code it is; nobody else's is approved with it."""
    asked_at: str = ""
    approved_at: str = ""
    """Empty while it waits for a person."""

    @property
    def digest(self) -> str:
        """`sha256:…` over all that decides what runs and what it may do."""
        parts: list[Any] = [self.code, sorted(self.packages), self.grants.model_dump(mode="json")]
        parts += [] if self.owner == USER else [self.owner]
        text = json.dumps(parts, sort_keys=True, ensure_ascii=True)
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


class CodeApprovals:
    """The files of one home; all of it blocks. Each has a number that says nothing about the digest."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "code_approvals"
        self._lock = home / "library.lock"

    def is_approved(self, asked: AskedCode) -> bool:
        """Whether a person approved this code with these packages and rights."""
        return any(known.approved_at and known.digest == asked.digest for _, known in self._read_all())

    def ask(self, asked: AskedCode) -> str:
        """Keeps code until a person decides; returns its number, the same for the same code.

        Raises:
            LibraryError: the disk refuses.
        """
        known = self._read_all()
        for number, earlier in known:
            if earlier.digest == asked.digest:
                return number
        waiting = [(number, each.owner, 1) for number, each in known if not each.approved_at]
        for number in choose_surplus(waiting, asked.owner, MAX_WAITING - 1):
            (self._folder / f"{number}.json").unlink(missing_ok=True)
        for unfinished in self._folder.glob("*.part"):  # of a process that was killed
            with suppress(FileNotFoundError):
                if unfinished.stat().st_mtime < time.time() - UNFINISHED_S:
                    unfinished.unlink()
        number = secrets.token_hex(4)
        self._write(number, asked.model_copy(update={"asked_at": now()}))
        return number

    def find(self, number: str) -> AskedCode:
        """Code that asked, by its number.

        Raises:
            ToolNotFound: none of that number asked, or it was asked for too long ago.
        """
        found = dict(self._read_all()).get(number)
        if found is None:
            hint = "Call run_code again; its answer says the number."
            raise ToolNotFound(f"No code with the number {number[:20]!r} waits for approval.", hint=hint)
        return found

    def list_waiting(self) -> list[tuple[str, AskedCode]]:
        """Number and code of all that waits for a person, the oldest first."""
        return [(number, asked) for number, asked in self._read_all() if not asked.approved_at]

    def approve(self, number: str, digest: str) -> bool:
        """A person approves what was shown, that digest and no other; False where it is approved already.

        Raises:
            ToolNotFound: there is no such code.
            ToolUnavailable: its digest is another one.
            LibraryError: the disk refuses.
        """
        with hold_lock(self._lock, LOCK_TIMEOUT_S):
            asked = self.find(number)
            if asked.digest != digest:
                raise ToolUnavailable(f"The code {number} does not have the digest {digest[:80]!r}.")
            if not asked.approved_at:
                self._write(number, asked.model_copy(update={"approved_at": now()}))
        return not asked.approved_at

    def revoke(self, number: str, *, if_waiting: bool = False) -> AskedCode:
        """A person takes an approval back, or refuses code that waits; raises as `find`.

        What was approved by somebody else meanwhile is left as it is with `if_waiting`; the result says so.
        """
        with hold_lock(self._lock, LOCK_TIMEOUT_S):
            asked = self.find(number)
            if not (if_waiting and asked.approved_at):
                (self._folder / f"{number}.json").unlink(missing_ok=True)
        return asked

    def _read_all(self) -> list[tuple[str, AskedCode]]:
        """All of them, the oldest first; a file that is none of ours approves nothing."""
        found = []
        for place in sorted(self._folder.glob("*.json")):
            try:
                asked = AskedCode.model_validate_json(read_plain_file(place, _MAX_BYTES))
            except (Damaged, OSError, ValidationError):
                continue
            if _NUMBER.fullmatch(place.stem):
                found.append((place.stem, asked))
        return sorted(found, key=lambda each: each[1].asked_at)[-MAX_APPROVED - MAX_WAITING :]

    def _write(self, number: str, asked: AskedCode) -> None:
        place = self._folder / f"{number}.json"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            unfinished = place.with_suffix(".part")
            unfinished.write_text(asked.model_dump_json(), encoding="utf-8")
            unfinished.replace(place)
        except OSError as error:
            raise unusable(place, error) from error
