"""Published version that is to be revised: its signature, its specification and the draft of the next one."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError

from alita_mcp.toolsmith.requests.grants import grants_of
from alita_mcp.toolsmith.requests.request import SynthesisRequest
from alita_mcp.toolsmith.specification.assumptions import MAX_RULES, name_of
from alita_mcp.toolsmith.specification.values import Specification, WrittenCode
from alita_mcp.toolsmith.updating import is_named
from alita_mcp.values import Check, Draft, Example, StoredVersion, ToolContract
from alita_mcp.verification.agreement.matrix import Prepared
from alita_mcp.verification.code.interface import signature_in
from alita_mcp.verification.static.wording import MAX_REQUESTS


@dataclass(frozen=True)
class Predecessor:
    """Version to be revised, and what it does with the request's own examples."""

    version: StoredVersion
    contract: ToolContract
    prepared: Prepared
    own: tuple[Check | None, ...]

    @property
    def called(self) -> str:
        """Its name and number."""
        return f"{self.version.manifest.name} v{self.version.manifest.version}"

    @property
    def signature(self) -> str:
        """The `def` line behind what it names."""
        return signature_in(self.version.code, self.version.manifest.name)

    @property
    def wrong(self) -> tuple[Check, ...]:
        """Failed checks of the request's own examples."""
        return tuple(check for check in self.own if check is not None and not check.passed)

    @property
    def request(self) -> str:
        """What was asked for when it was written."""
        before = self.version.report.written_from
        return before.request if before else self.version.manifest.description

    def rules(self, changed: tuple[str, ...] = ()) -> tuple[str, ...]:
        """The rules that it was written by; a changed one takes the place of that of its name."""
        before = self.version.report.written_from
        new = {name_of(line): line for line in changed if line}
        kept = [line for line in (before.rules if before else ()) if name_of(line) not in new]
        return (*kept, *new.values())[-MAX_RULES:]

    def specification(self) -> Specification | None:
        """The specification; None where its signature is too long, or means nothing without the other code."""
        manifest = self.version.manifest
        try:
            return Specification(
                name=manifest.name,
                description=manifest.description,
                signature=self.signature,
                rules=self.rules(),
            )
        except ValidationError:
            return None

    def examples_held(self, request: SynthesisRequest) -> list[Example]:
        """The examples that a request does not give up."""
        return [old for old in self.version.examples if not is_named(old, *request.breaks)]


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
