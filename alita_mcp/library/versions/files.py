"""Files of versions: five in a folder for each version, sealed by a digest that is checked when they are read."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from alita_mcp.errors import LibraryError, ToolNotFound, ToolQuarantined, ToolUnavailable
from alita_mcp.library.clock import now
from alita_mcp.library.decisions import refuse_link
from alita_mcp.library.disk import (
    MAX_FILE_BYTES,
    Damaged,
    OnStep,
    no_step,
    read_folder,
    read_plain_file,
    sync_folder,
    write_folder,
)
from alita_mcp.library.trust.trust import contradiction
from alita_mcp.library.versions.testfile import render_tests
from alita_mcp.machine import unusable
from alita_mcp.values import (
    TOOL_NAME,
    AcceptedVersion,
    Example,
    Limits,
    Lock,
    Manifest,
    StoredVersion,
    VerificationReport,
)

FORMAT = 1
"""Of `manifest.json`; grows when an older alita could not read what a newer one writes."""
SEALED_FILES = ("tool.py", "test_tool.py", "report.json", "requirements.lock")
"""Their hashes stand in `manifest.json`."""
VERSION_FILES = (*SEALED_FILES, "manifest.json")


class UnknownManifest(ToolUnavailable):
    """A newer alita wrote the version; it is left as it is."""


Folder = Mapping[str, bytes]
"""The files of one version, by name."""


def digest_of(manifest: Manifest, code: str, lock: Lock, examples: Sequence[Example]) -> str:
    """`sha256:…` over everything that decides what runs and what was proved; the rest of the manifest is left out."""
    later = {"json_depth", "open_files", "scratch_files", "broker_calls", "network_bytes"}
    # limits that came later are in it only where a tool sets them, so that older digests hold
    unset = {name for name in later if getattr(manifest.limits, name) == Limits.model_fields[name].default}
    decisive = {
        "name": manifest.name,
        "description": manifest.description,
        "input_schema": manifest.input_schema,
        "output_schema": manifest.output_schema,
        "wraps_result": manifest.wraps_result,
        "code": code,
        "lock": {"text": lock.text, "python": lock.python},
        "packages": list(manifest.packages),
        "grants": manifest.grants.model_dump(mode="json"),
        "limits": manifest.limits.model_dump(mode="json", exclude=unset),
        "examples": [example.as_json() for example in examples],
        **({"varies": sorted(manifest.varies)} if manifest.varies else {}),
    }
    return _sha256(json.dumps(decisive, sort_keys=True, separators=(",", ":"), allow_nan=False).encode())


def manifest_of(accepted: AcceptedVersion, version: int, created_at: str = "") -> Manifest:
    """The public face of a version about to be published; `created_at`: of one that is there already."""
    draft, contract = accepted.draft, accepted.contract
    open_digest = Manifest(
        name=draft.name,
        version=version,
        description=draft.description,
        summary=contract.summary,
        use_when=draft.use_when,
        input_schema=contract.input_schema,
        output_schema=contract.output_schema,
        wraps_result=contract.wraps_result,
        packages=draft.packages,
        grants=draft.grants,
        limits=draft.limits,
        varies=draft.varies,
        trust=accepted.report.trust,
        deterministic=accepted.report.deterministic,
        created_at=created_at or now(),
        digest="",
    )
    digest = digest_of(open_digest, draft.code, accepted.lock, draft.examples)
    return open_digest.model_copy(update={"digest": digest})


def pack(accepted: AcceptedVersion, version: int, created_at: str = "") -> dict[str, bytes]:
    """The files of an accepted version; `created_at`: of one that is there already.

    Raises:
        LibraryError: something in it cannot be written so that it reads back the same.
    """
    draft = accepted.draft
    try:
        manifest = manifest_of(accepted, version, created_at)
        files = {
            "tool.py": draft.code.encode(),
            "test_tool.py": render_tests(draft.name, draft.code, draft.examples, draft.varies).encode(),
            "report.json": _json(accepted.report.model_dump(mode="json")),
            "requirements.lock": accepted.lock.text.encode(),
        }
        files["manifest.json"] = _json(
            {
                "format": FORMAT,
                "manifest": manifest.model_dump(mode="json"),
                "examples": [example.as_json() for example in draft.examples],
                "python": accepted.lock.python,
                "files": {name: _sha256(files[name]) for name in SEALED_FILES},
            }
        )
        kept = unpack(files, draft.name, version)
    except (ValueError, ToolQuarantined) as unfit:
        raise LibraryError(
            f"{draft.name!r} cannot be kept: {unfit}", hint="Change the tool or its examples."
        ) from unfit
    if large := next((name for name, content in files.items() if len(content) > MAX_FILE_BYTES), None):
        raise LibraryError(f"{large} is larger than {MAX_FILE_BYTES >> 20} MB.", hint="Make it smaller.")
    if (kept.manifest, kept.draft, kept.lock) != (manifest, draft, accepted.lock):
        raise LibraryError(
            f"{draft.name!r} would not read back as it was accepted.", hint="Use plain JSON values."
        )
    return files


def unpack(files: Folder, name: str, version: int, seal: str | None = None) -> StoredVersion:
    """A version from its files; `seal` is the hash of `manifest.json` as it was published.

    Raises:
        ToolQuarantined: a file is missing, unreadable or not what was verified; the message names it.
        UnknownManifest: it has fields that this alita does not know.
    """
    missing = next((file for file in VERSION_FILES if file not in files), None)
    if missing:
        raise quarantine_error(name, version, f"{missing} is missing")
    if seal is not None and seal_of(files) != seal:
        raise quarantine_error(name, version, "manifest.json differs from what was verified")
    try:
        return _parse(files, name, version)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as broken:
        found = {each["type"] for each in broken.errors()} if isinstance(broken, ValidationError) else set()
        if found == {"extra_forbidden"}:
            raise _unknown_manifest_error(name, version, "fields that this one does not know") from broken
        kind = "does not fit" if found else "cannot be read"
        raise quarantine_error(name, version, f"manifest.json {kind}") from broken


def _unknown_manifest_error(name: str, version: int, what: str) -> UnknownManifest:
    return UnknownManifest(
        f"{name} v{version} was written by a newer alita ({what}).",
        hint="Upgrade alita-mcp-server. Its files stay as they are.",
    )


def _parse(files: Folder, name: str, version: int) -> StoredVersion:
    document = json.loads(files["manifest.json"])
    changed = next((file for file in SEALED_FILES if document["files"][file] != _sha256(files[file])), None)
    if changed:
        raise quarantine_error(name, version, f"{changed} differs from what was verified")
    stored = StoredVersion(
        manifest=Manifest.model_validate(document["manifest"]),
        code=files["tool.py"].decode(),
        lock=Lock(
            requirements=tuple(files["requirements.lock"].decode().splitlines()), python=document["python"]
        ),
        examples=tuple(Example.model_validate(example) for example in document["examples"]),
        report=VerificationReport.model_validate_json(files["report.json"]),
    )
    manifest = stored.manifest
    if (manifest.name, manifest.version) != (name, version):
        raise quarantine_error(name, version, "manifest.json is that of another version")
    if manifest.digest != digest_of(manifest, stored.code, stored.lock, stored.examples):
        raise quarantine_error(name, version, "manifest.json does not agree with its digest")
    untrue = contradiction(manifest, stored.report)
    if untrue:
        raise quarantine_error(name, version, untrue)
    return stored


def canonical_example(example: Example) -> str:
    """An example as text that is the same for the same example only: `1`, `1.0` and `true` are three."""
    return json.dumps(example.as_json(), sort_keys=True)


def mark_of(example: Example) -> str:
    """Digest that a report identifies an example by."""
    return hashlib.sha256(canonical_example(example).encode()).hexdigest()[:16]


def seal_of(files: Folder) -> str:
    """The hash of `manifest.json`, which holds the hashes of the other files; the catalogue keeps it."""
    return _sha256(files["manifest.json"])


def quarantine_error(name: str, version: int, what: str) -> ToolQuarantined:
    """The error for a version that is not what was verified."""
    return ToolQuarantined(
        f"{name} v{version} is quarantined and will not run: {what}.",
        hint=f"Synthesize it again with update=true; a person can choose another version with "
        f"`alita tool rollback {name} VERSION`, or delete it with `alita tool delete {name}`.",
    )


def read_version_folder(folder: Path, name: str, version: int) -> dict[str, bytes]:
    """The files of a folder; `unpack` says whether they are what was verified.

    Raises:
        ToolQuarantined: a file is missing, added or a link.
        UnknownManifest: its manifest has a newer format, with which other files may belong to a version.
        LibraryError: the folder cannot be read.
    """
    with suppress(Damaged, OSError, ValueError, TypeError, KeyError, RecursionError):
        found = json.loads(read_plain_file(folder / "manifest.json"))["format"]
        if found > FORMAT:
            raise _unknown_manifest_error(name, version, f"manifest format {found}, this one reads {FORMAT}")
    try:
        return read_folder(folder, VERSION_FILES)
    except Damaged as damaged:
        raise quarantine_error(name, version, damaged.message) from damaged


def versions_under(root: Path) -> list[tuple[str, int]]:
    """Name and version of every version folder, in order; links are not followed."""
    found = []
    for place in root.glob("*/v*"):
        number = place.name[1:]
        if place.is_symlink() or place.parent.is_symlink():
            continue
        if re.fullmatch(TOOL_NAME, place.parent.name) and re.fullmatch(r"[1-9][0-9]{0,8}", number):
            found.append((place.parent.name, int(number)))
    return sorted(found)


class ToolFiles:
    """The folder `generated_tools` of one library: `<name>/v<k>/`, and what is being written aside."""

    def __init__(self, home: Path, owner: str, on_step: OnStep = no_step) -> None:
        self.root = home / "generated_tools"
        self.set_aside_root = home / "set-aside"
        self._owner = owner
        self._on_step = on_step

    def folder(self, name: str, version: int) -> Path:
        """Where a version lives."""
        if not re.fullmatch(TOOL_NAME, name) or version < 1:
            raise ToolNotFound(f"{name!r} v{version} is no name of a tool's version.")
        return self.root / name / f"v{version}"

    def aside(self) -> Path:
        """A place of this process for what is not, or no longer, a version; swept after the process died."""
        return self.root / f".staging-{self._owner}-{secrets.token_hex(4)}"

    def folders_aside(self, owner: str) -> list[Path]:
        """Folders that a process has put aside."""
        return sorted(self.root.glob(f".staging-{owner}-*")) if owner.isalnum() else []

    def store(self, name: str, version: int, files: Folder) -> None:
        """Writes a version aside and renames it into place; all of it is on the disk afterwards."""
        place = self.folder(name, version)
        staging = self.aside()
        try:
            refuse_link(place.parent)
            if os.path.lexists(place):
                self.set_aside(name, version)
            write_folder(staging, files, self._on_step)
            place.parent.mkdir(exist_ok=True)
            staging.rename(place)
            self._on_step("renamed")
            sync_folder(place.parent)
            sync_folder(self.root)
            self._on_step("in place")
        except OSError as error:
            raise unusable(place, error) from error
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def read_version(self, name: str, version: int, seal: str) -> StoredVersion:
        """A version, proved unchanged; raises as `read_version_folder` and `unpack`."""
        if not self.root.is_dir():
            raise LibraryError(
                f"{self.root} is missing.", hint="Bring it back, or set ALITA_HOME to the library."
            )
        return unpack(read_version_folder(self.folder(name, version), name, version), name, version, seal)

    def discard(self, name: str, version: int) -> None:
        """Removes a version that no catalogue row stands for; through a link nothing."""
        place = self.folder(name, version)
        if place.parent.is_symlink():
            return
        with suppress(OSError):
            place.rename(gone := self.aside())  # in one step: half of it would be taken for somebody else's
            shutil.rmtree(gone, ignore_errors=True)
        with suppress(OSError):  # other versions keep the folder
            place.parent.rmdir()

    def set_aside(self, name: str, version: int) -> Path:
        """Moves an unpublished version out of the way, losing nothing; returns where it is now.

        Raises:
            UnknownManifest: a newer alita published it.
            OSError: the disk refuses.
        """
        refuge = self.set_aside_root / f"{name}-v{version}-{secrets.token_hex(4)}"
        place = self.folder(name, version)
        with suppress(ToolQuarantined, LibraryError):  # what is damaged can be moved
            unpack(read_version_folder(place, name, version), name, version)
        refuge.parent.mkdir(parents=True, exist_ok=True)
        place.rename(refuge)
        with suppress(OSError):
            place.parent.rmdir()
        return refuge

    def sweep_staging(self, alive: Callable[[str], bool]) -> None:
        """Removes what processes that are gone were writing aside."""
        for place in self.root.glob(".staging-*"):
            owner = place.name.removeprefix(".staging-").rpartition("-")[0]
            if not alive(owner):
                shutil.rmtree(place, ignore_errors=True)


def _json(document: Any) -> bytes:
    return json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n"


def _sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
