"""A version that is to be revised: its name in, its files as they can still be read and its signature out."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass

from alita_mcp.errors import ToolUnavailable
from alita_mcp.library.library import Library
from alita_mcp.synthesis.grants import grants_of
from alita_mcp.synthesis.overruling import Rules
from alita_mcp.synthesis.request import SynthesisRequest
from alita_mcp.synthesis.written import Specification, WrittenCode
from alita_mcp.values import Check, Draft, Example, StoredVersion, ToolContract
from alita_mcp.verification.compare import same_result
from alita_mcp.verification.contract import read_contract
from alita_mcp.verification.function import find_function
from alita_mcp.verification.matrix import Prepared
from alita_mcp.verification.source import parse_code
from alita_mcp.verification.wording import MAX_REQUESTS


@dataclass(frozen=True)
class Predecessor:
    """The version that is revised, what it is to do, and what it does with the request's own examples."""

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
        """What it does otherwise than the request's own examples say."""
        return tuple(check for check in self.own if check is not None and not check.passed)


async def readable(library: Library, name: str) -> StoredVersion | None:
    """The current version; where its files were changed, the newest that is as it was verified. None: there is none."""
    entry = library.entry(name)
    for version in (entry.manifest.version, *sorted(entry.versions, reverse=True)):
        try:
            return await library.read(name, version)
        except ToolUnavailable:
            continue
    return None


def contract_of(version: StoredVersion) -> ToolContract:
    """What a published version's code declares."""
    return read_contract(version.code, version.manifest.name, version.manifest.description)


def signature_in(code: str, name: str) -> str:
    """The `def` line of a tool, behind the classes that it needs."""
    tree = parse_code(code)
    classes = [ast.unparse(node) for node in tree.body if isinstance(node, ast.ClassDef) and _is_record(node)]
    bare = copy.copy(find_function(tree, name))
    bare.body, bare.decorator_list = [ast.Pass()], []
    return "\n".join((*classes, ast.unparse(bare).removesuffix(":\n    pass")))


def specification_of(version: StoredVersion, rules: tuple[str, ...]) -> Specification:
    """What a published version is to do; its signature passed the gates, so it is not read again."""
    manifest = version.manifest
    return Specification.model_construct(
        name=manifest.name,
        description=manifest.description,
        signature=signature_in(version.code, manifest.name),
        rules=rules,
    )


def revised_draft(version: StoredVersion, written: WrittenCode, wish: SynthesisRequest) -> Draft:
    """The next version with all that the request does not change, and with the request's own examples."""
    before, asked = version.draft, grants_of(wish)
    return before.model_copy(
        update={
            "code": written.code,
            "examples": wish.tests,
            "use_when": tuple(dict.fromkeys((*before.use_when, *wish.use_when)))[:MAX_REQUESTS],
            "packages": wish.packages or written.packages or before.packages,
            "grants": before.grants if asked.is_pure else asked,
            "varies": tuple(sorted(set(wish.varies))) or before.varies,
        }
    )


def described_anew(wish: SynthesisRequest, library: Library) -> SynthesisRequest:
    """The request for a tool of which only the catalogue is left: written again from its description."""
    manifest = library.entry(wish.name).manifest
    asked = {} if not grants_of(wish).is_pure else manifest.grants.model_dump()
    description = f"{manifest.description}\n{wish.description}".strip()
    varies = wish.varies or manifest.varies
    return wish.model_copy(update={"description": description[:8_000], "varies": varies, **asked})


def called(version: StoredVersion) -> str:
    """A version's name and number."""
    return f"{version.manifest.name} v{version.manifest.version}"


def held_by(version: StoredVersion, wish: SynthesisRequest) -> list[Example]:
    """The version's examples that the request does not give up."""
    return [old for old in version.examples if not any(is_named(old, each) for each in wish.breaks)]


def is_named(example: Example, arguments: object) -> bool:
    """Whether an example has just these arguments."""
    return same_result(example.arguments, arguments, exact=True)


def _is_record(node: ast.ClassDef) -> bool:
    return any("TypedDict" in ast.unparse(base) for base in node.bases)
