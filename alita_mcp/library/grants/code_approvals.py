"""Approvals of code that asks for more than computing, kept as small files.

An approval holds for this very code with these packages and rights, whatever its arguments: for their digest.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from contextlib import suppress
from typing import Any

from pydantic import ValidationError

from alita_mcp.errors import ToolNotFound, ToolUnavailable
from alita_mcp.library.bounded_folder import StoredFile
from alita_mcp.library.clock import now
from alita_mcp.library.storage import Storage
from alita_mcp.owners import USER, choose_surplus
from alita_mcp.values import Grants, Value

MAX_WAITING = 100
"""So many wait for a person; one more takes the place of an older one."""
MAX_APPROVED = 1_000
_NUMBER = re.compile(r"[0-9a-f]{8}")
_MAX_BYTES = 64 << 20


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
    """The code that asked in one library; all of it blocks. Each has a number that says nothing about the digest."""

    def __init__(self, storage: Storage) -> None:
        self._files = storage.files("code_approvals", MAX_APPROVED + MAX_WAITING, _MAX_BYTES)

    def is_approved(self, asked: AskedCode) -> bool:
        """Whether a person approved this code with these packages and rights."""
        return any(known.approved_at and known.digest == asked.digest for known in self._read_all().values())

    def ask(self, asked: AskedCode) -> str:
        """Keeps code until a person decides; returns its number, the same for the same code.

        Raises:
            LibraryError: the disk or the database refuses.
        """
        known = self._read_all()
        for file, earlier in known.items():
            if earlier.digest == asked.digest:
                return _number(file)
        waiting = [(file, each.owner, 1) for file, each in known.items() if not each.approved_at]
        for file in choose_surplus(waiting, asked.owner, MAX_WAITING - 1):
            self._files.replace_file(file, None)
        number = secrets.token_hex(4)
        self._files.write_file(f"{number}.json", _encode(asked, asked_at=now()), asked.owner)
        return number

    def find(self, number: str) -> AskedCode:
        """Code that asked, by its number.

        Raises:
            ToolNotFound: none of that number asked, or it was asked for too long ago.
        """
        return self._find(number)[1]

    def list_waiting(self) -> list[tuple[str, AskedCode]]:
        """Number and code of all that waits for a person, the oldest first."""
        return [(_number(file), asked) for file, asked in self._read_all().items() if not asked.approved_at]

    def approve(self, number: str, digest: str) -> bool:
        """A person approves what was shown, that digest and no other; False where it is approved already.

        Raises:
            ToolNotFound: there is no such code.
            ToolUnavailable: its digest is another one.
            LibraryError: the disk or the database refuses.
        """
        file, asked = self._find(number)
        if asked.digest != digest:
            raise ToolUnavailable(f"The code {number} does not have the digest {digest[:80]!r}.")
        if asked.approved_at:
            return False
        is_ours = self._files.replace_file(file, _encode(asked, approved_at=now()))
        return is_ours or self.approve(number, digest)  # somebody else decided meanwhile

    def revoke(self, number: str, *, if_waiting: bool = False) -> AskedCode:
        """A person takes an approval back, or refuses code that waits; raises as `find`.

        What was approved by somebody else meanwhile is left as it is with `if_waiting`; the result says so.
        """
        file, asked = self._find(number)
        if (if_waiting and asked.approved_at) or self._files.replace_file(file, None):
            return asked
        return self.revoke(number, if_waiting=if_waiting)  # somebody else decided meanwhile

    def _find(self, number: str) -> tuple[StoredFile, AskedCode]:
        for file, asked in self._read_all().items():
            if _number(file) == number:
                return file, asked
        hint = "Call run_code again; its answer says the number."
        raise ToolNotFound(f"No code with the number {number[:20]!r} waits for approval.", hint=hint)

    def _read_all(self) -> dict[StoredFile, AskedCode]:
        """All of them, the oldest first; a file that is none of ours approves nothing."""
        found = {}
        for file in self._files.newest("*.json", None, MAX_APPROVED + MAX_WAITING):
            with suppress(ValidationError):
                asked = AskedCode.model_validate_json(file.content)
                if _NUMBER.fullmatch(_number(file)):
                    found[file] = asked
        return dict(sorted(found.items(), key=lambda each: each[1].asked_at))


def _number(file: StoredFile) -> str:
    return file.name.removesuffix(".json")


def _encode(asked: AskedCode, **update: str) -> bytes:
    return asked.model_copy(update=update).model_dump_json().encode()
