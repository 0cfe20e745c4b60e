"""Drafts from requests that carry code, or the rejection that names what is missing."""

from __future__ import annotations

import re

from pydantic import ValidationError

from alita_mcp.toolsmith.requests.grants import grants_of, unfit_grants
from alita_mcp.toolsmith.requests.outcomes import Rejected, rejection
from alita_mcp.toolsmith.requests.request import EXAMPLE_SHAPE, SynthesisRequest
from alita_mcp.values import META_TOOLS, TOOL_NAME, Draft
from alita_mcp.verification.code.function import public_functions, several_public
from alita_mcp.verification.code.source import parse_code
from alita_mcp.verification.findings import ContractError

NO_TESTS = Rejected(
    stage="examples",
    reason="tests: there are none, so nothing would be proved.",
    fix="Give at least 3 with different results, one an edge or error case. " + EXAMPLE_SHAPE,
)


def draft_of(request: SynthesisRequest, *, has_testers: bool = False) -> Draft | Rejected:
    """Makes the draft that a request describes, or says what it lacks; without testers the request needs tests."""
    lack = _lack_of(request, has_testers=has_testers)
    if lack is not None:
        return lack
    try:
        return Draft(
            name=request.name,
            description=request.description.strip(),
            code=request.code,
            examples=request.tests,
            use_when=request.use_when,
            packages=request.packages,
            grants=grants_of(request),
            varies=tuple(sorted(set(request.varies))),
            recorded=request.recorded,
        )
    except ValidationError as invalid:
        problem = invalid.errors(include_url=False, include_context=False)[0]
        return Rejected(
            stage="schema",
            reason=f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}.",
            fix="Send the field as the input schema says.",
        )


def unfit_name(name: str) -> Rejected | None:
    """The rejection of a name that no tool may have."""
    if not re.fullmatch(TOOL_NAME, name):
        return Rejected(
            stage="schema",
            reason=f"name: {name[:80]!r} is not a tool name.",
            fix="3 to 40 lower-case letters, digits and underscores, beginning with a letter: csv_to_json.",
        )
    if name in META_TOOLS:
        taken = f"name: {name!r} is one of the server's own tools."
        return Rejected(stage="schema", reason=taken, fix="Choose another name.")
    return None


def _why_unnamed(code: str) -> Rejected | None:
    """Why no name could be taken from the code: it does not parse, or has several public functions."""
    try:
        public = public_functions(parse_code(code))
    except ContractError as broken:
        return rejection(broken.check)
    return rejection(several_public(public).check) if len(public) > 1 else None


def _lack_of(request: SynthesisRequest, *, has_testers: bool) -> Rejected | None:
    refused = None if request.name else _why_unnamed(request.code)
    refused = refused or unfit_name(request.name) or unfit_grants(request)
    if refused is not None:
        return refused
    if request.breaks and not request.update:
        fix = "Send update=true with it, or leave it out."
        return Rejected(stage="policy", reason="breaks: there is no version to update.", fix=fix)
    if not request.tests and not (has_testers and grants_of(request).is_pure):
        return NO_TESTS
    return None
