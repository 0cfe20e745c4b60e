"""Published version that is to be revised: its readable files, signature and specification."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass

from pydantic import ValidationError

from alita_mcp.errors import ToolUnavailable
from alita_mcp.library.library import Library
from alita_mcp.synthesis.requests.grants import grants_of
from alita_mcp.synthesis.requests.request import SynthesisRequest
from alita_mcp.synthesis.revision.overruling import Rules
from alita_mcp.synthesis.specification.values import Specification, WrittenCode
from alita_mcp.synthesis.updating import is_named
from alita_mcp.values import Check, Draft, Example, StoredVersion, ToolContract
from alita_mcp.verification.agreement.matrix import Prepared
from alita_mcp.verification.code.contract import read_contract
from alita_mcp.verification.code.function import find_function
from alita_mcp.verification.code.source import parse_code
from alita_mcp.verification.static.wording import MAX_REQUESTS


@dataclass(frozen=True)
class Predecessor:
    """Version to be revised, with its rules and what it does with the request's own examples."""

    version: StoredVersion
    contract: ToolContract
    prepared: Prepared
    rules: Rules
    own: tuple[Check | None, ...]

    @property
    def called(self) -> str:
        """Its name and number."""
        return called(self.version)

    @property
    def wrong(self) -> tuple[Check, ...]:
        """Failed checks of the request's own examples."""
        return tuple(check for check in self.own if check is not None and not check.passed)


async def readable(library: Library, name: str) -> StoredVersion | None:
    """Returns the current version, or the newest undamaged one; None where there is none."""
    entry = library.entry(name)
    for version in (entry.manifest.version, *sorted(entry.versions, reverse=True)):
        try:
            return await library.read(name, version)
        except ToolUnavailable:
            continue
    return None


def contract_of(version: StoredVersion) -> ToolContract:
    """Returns the contract that a published version's code declares."""
    return read_contract(version.code, version.manifest.name, version.manifest.description)


def signature_in(code: str, name: str) -> str:
    """The `def` line of a tool, behind the imports, aliases and classes that its annotations name."""
    tree = parse_code(code)
    bare = copy.copy(find_function(tree, name))
    bare.body, bare.decorator_list = [ast.Pass()], []
    named, used = _names_in(bare), list[ast.stmt]()
    for node in reversed(tree.body):  # what is named stands before what names it
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and named & _defined_by(node):
            named |= _names_in(node)
            used.insert(0, node)
    return "\n".join((*map(ast.unparse, used), ast.unparse(bare).removesuffix(":\n    pass")))


def specification_of(version: StoredVersion, rules: tuple[str, ...]) -> Specification | None:
    """Returns a published version's specification; None where its signature means nothing without the other code."""
    manifest = version.manifest
    try:
        return Specification(
            name=manifest.name,
            description=manifest.description,
            signature=signature_in(version.code, manifest.name),
            rules=rules,
        )
    except ValidationError:
        return None


def revised_draft(version: StoredVersion, written: WrittenCode, request: SynthesisRequest) -> Draft:
    """Makes the next version's draft: the request's own examples, and all that the request does not change."""
    before, asked = version.draft, grants_of(request)
    return before.model_copy(
        update={
            "code": written.code,
            "examples": request.tests,
            "use_when": tuple(dict.fromkeys((*before.use_when, *request.use_when)))[:MAX_REQUESTS],
            "packages": request.packages or written.packages or before.packages,
            "grants": before.grants if asked.is_pure else asked,
            "varies": tuple(sorted(set(request.varies))) or before.varies,
        }
    )


def described_anew(request: SynthesisRequest, library: Library) -> SynthesisRequest:
    """Makes a request that writes a tool again from its catalogue entry, where its files are lost."""
    manifest = library.entry(request.name).manifest
    asked = {} if not grants_of(request).is_pure else manifest.grants.model_dump()
    description = f"{manifest.description}\n{request.description}".strip()
    varies = request.varies or manifest.varies
    return request.model_copy(update={"description": description[:8_000], "varies": varies, **asked})


def called(version: StoredVersion) -> str:
    """Returns a version's name and number in words."""
    return f"{version.manifest.name} v{version.manifest.version}"


def held_by(version: StoredVersion, request: SynthesisRequest) -> list[Example]:
    """Returns the version's examples that the request does not give up."""
    return [old for old in version.examples if not is_named(old, *request.breaks)]


def _names_in(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _defined_by(node: ast.stmt) -> set[str]:
    match node:
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return {(each.asname or each.name).partition(".")[0] for each in names}
        case ast.ClassDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
            return {name}
        case ast.AnnAssign(target=ast.Name(id=name)):
            return {name}
    return set()
