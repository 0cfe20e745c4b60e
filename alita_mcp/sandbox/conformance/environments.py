"""Conformance claims about packages: a locked package can be imported by its version and by no other."""

from __future__ import annotations

from alita_mcp.errors import PackagesRejected, SandboxError, SandboxRefused
from alita_mcp.sandbox.conformance.claims import Broken, Claim, Subject, Untried, chapter, said
from alita_mcp.sandbox.interface import Environment
from alita_mcp.values import Lock

_PACKAGE, _MODULE = "iniconfig", "iniconfig"
"""Small, pure Python, without dependencies."""
_MISSING = "alita-mcp-no-such-package-0f3a9c"
_IMPORTS = f"import {_MODULE}\ndef f():\n    return {_MODULE}.__name__\n"


async def _silent(_line: str) -> None:
    return None


async def _locked(subject: Subject) -> Lock:
    try:
        return await subject.sandbox.resolve((_PACKAGE,), _silent)
    except SandboxRefused:
        raise
    except (SandboxError, PackagesRejected) as problem:
        raise Untried(
            f"{_PACKAGE} could not be resolved: {' '.join(str(problem).split())[:200]}"
        ) from problem


async def _prepared(subject: Subject, lock: Lock) -> Environment:
    try:
        return await subject.sandbox.prepare(lock, _silent)
    except SandboxRefused:
        raise
    except (SandboxError, PackagesRejected) as problem:
        raise Broken(f"a lock that was resolved cannot be prepared: {str(problem)[:200]}") from problem


async def _locks_with_hashes(subject: Subject) -> None:
    lock = await _locked(subject)
    loose = [line for line in lock.requirements if "==" not in line or "--hash=sha256:" not in line]
    if loose or not lock.requirements:
        raise Broken(f"the lock has lines without a version or a hash: {loose or lock.requirements}")


async def _is_importable(subject: Subject) -> None:
    environment = await _prepared(subject, await _locked(subject))
    if await subject.value(_IMPORTS, environment=environment) != _MODULE:
        raise Broken("the package was imported as something else")


async def _is_nobody_elses(subject: Subject) -> None:
    await _prepared(subject, await _locked(subject))
    result = await subject.run(_IMPORTS)
    if result.ok:
        raise Broken("a tool that asked for no packages could import one")


async def _is_built_once(subject: Subject) -> None:
    lock = await _locked(subject)
    first, again = await _prepared(subject, lock), await _prepared(subject, lock)
    if first != again:
        raise Broken(f"one lock gave two environments, {first.digest} and {again.digest}")


async def _rejects_what_is_not_there(subject: Subject) -> None:
    await _locked(subject)  # so that an index that does not answer is not taken for a rejection
    try:
        await subject.sandbox.resolve((_MISSING,), _silent)
    except PackagesRejected as rejected:
        if _MISSING not in str(rejected):
            raise Broken(f"the rejection does not name the package: {rejected}") from rejected
    except SandboxRefused:
        raise
    except SandboxError as problem:
        raise Broken(f"it failed instead of rejecting: {said(problem)}") from problem
    else:
        raise Broken("a package that does not exist was resolved")


ENVIRONMENTS = chapter(
    "environments",
    Claim("", "locks versions with hashes", _locks_with_hashes),
    Claim("", "makes a locked package importable", _is_importable),
    Claim("", "keeps packages from tools that did not lock them", _is_nobody_elses),
    Claim("", "builds one environment for one lock", _is_built_once),
    Claim("", "rejects a package that does not exist, by name", _rejects_what_is_not_there),
)
