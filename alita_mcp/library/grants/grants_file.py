"""Grants file: JSON in which a person grants rights to tools by name, read again when it changes.

A file that does not fit is refused as a whole when the server starts. One that is spoiled later grants nothing until
it is mended; what the catalogue approved stays in force.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, model_validator

from alita_mcp.errors import LibraryError, UsageError
from alita_mcp.library.disk import without_waiting
from alita_mcp.library.grants.exposure import exposure
from alita_mcp.library.grants.hosts import MAX_HOSTS, canonical_host, host_problem
from alita_mcp.values import TOOL_NAME, Grants, Manifest

MAX_BYTES = 1 << 20
SECRET_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_HINT = 'Write {"tool_name": {"network": ["api.example.org"], "workspace": "read"}}; see docs/grants.md.'
_log = logging.getLogger(__name__)
Bind = Callable[[str, str], str]
"""A name and its line in, the digest that was current when the line was read first out; empty: there was none."""


class FiledGrants(Grants):
    """Grants of one line of the file."""

    digest: str | None = Field(default=None, pattern=r"^sha256:[0-9a-f]{64}$")
    """The one version that it is for; None: the one that is current when the line is first read."""
    any_version: bool = False
    """Whether it is for every version that asks for no more, those of later code too."""

    @model_validator(mode="after")
    def _says_one(self) -> FiledGrants:
        if self.any_version and self.digest is not None:
            raise ValueError("a line is for one digest or for any_version, not for both")
        return self


class GrantsFile:
    """Grants of one file, as they stand on the disk."""

    def __init__(self, path: Path | None) -> None:
        """Reads the file.

        Raises:
            UsageError: it is missing or does not fit; the message names file, tool and field.
        """
        self.path = path
        self.problem = ""
        """Why a file that was fine grants nothing now."""
        self.changes = 0
        """How often what it grants changed since it was read first."""
        self._mark = _mark_of(path)
        self._bind: Bind | None = None
        self._granted = read_grants_file(path) if path else {}

    def bind_with(self, bind: Bind) -> None:
        """Binds the lines that name no version, these and later ones; before this they grant nothing.

        Raises:
            LibraryError: what they are bound to cannot be read or kept.
        """
        self._bind = bind
        self._granted = self._bind_lines(self._granted)

    def grants_for(self, manifest: Manifest) -> Grants | None:
        """Grants of the file to this version; None when it does not name it."""
        filed = self._granted.get(manifest.name)
        if filed is None or not (filed.any_version or filed.digest == manifest.digest):
            return None
        return Grants.model_validate(filed.model_dump(include=set(Grants.model_fields)))

    def is_bound(self, manifest: Manifest) -> bool:
        """Whether a line is for this version and no other."""
        filed = self._granted.get(manifest.name)
        return filed is not None and filed.digest == manifest.digest

    def names(self) -> Iterable[str]:
        """The tools that it names."""
        return self._granted.keys()

    def mark_on_disk(self) -> tuple[int, ...]:
        """Stamp that differs after every change of the file; empty while there is none."""
        return _mark_of(self.path)

    def refresh(self) -> None:
        """Reads the file again if it was touched since."""
        mark = _mark_of(self.path)
        if self.path is None or mark == self._mark:
            return
        self._mark, before = mark, self._granted
        try:
            self._granted, self.problem = self._bind_lines(read_grants_file(self.path)), ""
        except (UsageError, LibraryError) as spoiled:
            self._granted, self.problem = {}, spoiled.message
            if isinstance(spoiled, LibraryError):
                self._mark = ()  # the file is fine: it is read again at the next look
            _log.warning("%s Until it is mended it grants nothing.", spoiled.message)
        self.changes += self._granted != before

    def _bind_lines(self, lines: Mapping[str, FiledGrants]) -> Mapping[str, FiledGrants]:
        """The lines, each that names no version bound to the one that was current when it was read first."""
        if self._bind is None:
            return lines
        bound = {}
        for name, line in lines.items():
            current = self._bind(name, line.model_dump_json())
            is_open = not line.any_version and line.digest is None
            bound[name] = line.model_copy(update={"digest": current}) if is_open else line
        return bound


def read_grants_file(path: Path) -> Mapping[str, FiledGrants]:
    """Grants by tool.

    Raises:
        UsageError: the file is missing, too large, not JSON, does not fit, or others may write it; the message names
            file, tool and field.
    """
    document = _document(path)
    if not isinstance(document, dict):
        raise _refusal(path, f"it holds {type(document).__name__}, not an object of tools")
    return {name: _entry(path, name, given) for name, given in document.items()}


def read_grants(fields: Mapping[str, Any]) -> Grants:
    """Grants as a person wrote them outside the file, hosts in the form in which they are kept.

    Raises:
        UsageError: one of them cannot be granted; the message names it.
    """
    filed = FiledGrants.model_validate(fields)
    for field, value, wrong in _strange(filed):
        raise UsageError(f"{field} {value[:100]!r} cannot be granted: {wrong}.")
    granted = filed.model_copy(update={"network": tuple(map(canonical_host, filed.network))})
    return Grants.model_validate(granted.model_dump(include=set(Grants.model_fields)))


def _entry(path: Path, name: str, given: Any) -> FiledGrants:
    if name == "*":
        raise _refusal(path, "the tool '*' would grant to everybody: name each tool")
    if not re.fullmatch(TOOL_NAME, name):
        raise _refusal(path, f"{name[:80]!r} is no tool's name")
    try:
        filed = FiledGrants.model_validate_json(json.dumps(given), strict=True)
    except ValidationError as invalid:
        problem = invalid.errors(include_url=False, include_context=False)[0]
        field = ".".join(map(str, problem["loc"])) or "the grants"
        raise _refusal(path, f"tool {name!r}, field {field!r}: {problem['msg']}") from invalid
    for field, value, wrong in _strange(filed):
        raise _refusal(path, f"tool {name!r}, field {field!r}, {value[:100]!r}: {wrong}")
    return filed.model_copy(update={"network": tuple(map(canonical_host, filed.network))})


def _strange(filed: FiledGrants) -> list[tuple[str, str, str]]:
    """Field, value and what is wrong with it, for all that the value's shape does not show."""
    found = [("network", host, host_problem(host)) for host in filed.network]
    if len(filed.network) > MAX_HOSTS:
        found.append(("network", str(len(filed.network)), f"at most {MAX_HOSTS} hosts can be granted"))
    found = [each for each in found if each[2]]
    tools = [name for name in filed.tools if not re.fullmatch(TOOL_NAME, name)]
    found += [("tools", name, "this is no tool's name") for name in tools]
    secrets = [name for name in filed.secrets if not SECRET_NAME.fullmatch(name)]
    return found + [("secrets", name, "this is no secret's name") for name in secrets]


def _document(path: Path) -> Any:
    try:
        with open(path, "rb", opener=without_waiting) as file:
            found = os.fstat(file.fileno())
            content = file.read(MAX_BYTES + 1)
        wrong = exposure(path, found)
        if wrong is not None:
            raise _refusal(path, wrong.what, f"Run: {wrong.command}")
        if len(content) > MAX_BYTES:
            raise _refusal(path, f"it is larger than {MAX_BYTES >> 20} MB")
        return json.loads(content.decode("utf-8-sig"), object_pairs_hook=_without_repeats)
    except OSError as missing:
        raise _refusal(path, missing.strerror or str(missing)) from missing
    except (ValueError, RecursionError) as strange:
        raise _refusal(path, f"it is not JSON: {strange}") from strange


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; a key that stands twice would silently lose what a person wrote first."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice[:80]!r} stands twice in one object")
    return found


def _refusal(path: Path, what: str, hint: str = _HINT) -> UsageError:
    return UsageError(f"The grants file {path} cannot be used: {what}.", hint=hint)


def _mark_of(path: Path | None) -> tuple[int, ...]:
    try:
        found = path.stat() if path else None
    except OSError:
        return ()
    return (found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode, found.st_uid) if found else ()
