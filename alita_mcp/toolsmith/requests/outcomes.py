"""Outcomes of `synthesize_tool`: one frozen value per status, with the field names that clients see."""

from __future__ import annotations

from typing import Any, Literal

from alita_mcp.values import Check, Stage, Value


class Broken(Value):
    """Example of the replaced version that no longer holds, as the request said."""

    arguments: dict[str, Any]
    expected: Any = None
    got: Any = None


class Published(Value):
    """What the outcomes of a published version share."""

    status: str
    tool: str
    version: int
    trust: str = ""
    to_raise_trust: str = ""
    """What evidence would make it `verified`; empty when it is."""
    rests_on: str = ""
    """What made it `verified`; empty when it is not, or when the caller's own tests did."""
    breaks: tuple[Broken, ...] = ()
    """Examples of the version before that no longer hold."""
    kept: str = ""
    """Why it is not the current version; empty when it is."""
    assumed: tuple[str, ...] = ()
    """Rules that the request does not say and its writer had to invent, at most five, each `name: what holds`."""


class Created(Published):
    """Outcome: the tool is published."""

    status: Literal["created"] = "created"
    tests: str
    """Examples that passed of those given, as in `3/3`."""
    permissions: tuple[str, ...] = ()
    """What it asked for and was granted, each right in a few words."""
    report: str
    """URI of the verification report."""


class NeedsApproval(Published):
    """Outcome: the tool passed its gates; it is not callable until a person grants what it asks for."""

    status: Literal["needs_approval"] = "needs_approval"
    grants: tuple[str, ...]
    """What it asks for, each right in a few words."""
    how: str
    """What a person does to approve it; for a provisional tool, what evidence it needs first."""
    asked: str = ""
    """Result of asking the person at this client; empty where no question was put there."""


class Exists(Value):
    """Outcome: a tool already does this, or holds this name; no new version was published.

    The fields after `why` are there when the same tool was handed in again, perhaps with more examples.
    """

    status: Literal["exists"] = "exists"
    tool: str
    version: int
    why: str
    trust_before: str = ""
    trust: str = ""
    """As it is now, raised by the examples or not."""
    tests: str = ""
    to_raise_trust: str = ""
    report: str = ""


class Rejected(Value):
    """Outcome: the draft failed a gate; nothing was published."""

    status: Literal["rejected"] = "rejected"
    stage: Stage
    reason: str
    case: dict[str, Any] | None = None
    expected: Any = None
    got: Any = None
    trace: tuple[str, ...] = ()
    fix: str
    breaks: tuple[dict[str, Any], ...] = ()
    """Arguments of the examples of the replaced version that would no longer hold, the first of them."""


class Working(Value):
    """Outcome so far: the job continues after this call."""

    status: Literal["working"] = "working"
    job_id: str
    elapsed_s: float
    stage: str
    next: str = "call synthesize_tool with this job_id"


class NeedsCode(Value):
    """Outcome: no model is configured, so the connected agent writes the code from this template."""

    status: Literal["needs_code"] = "needs_code"
    template: dict[str, Any]
    """Arguments for the next call, to be filled in."""
    rules: tuple[str, ...]
    sandbox: tuple[str, ...] = ()
    """What code can do in the sandbox here, and what to write instead of what it cannot."""
    similar: tuple[str, ...] = ()


Outcome = Created | Exists | Rejected | Working | NeedsApproval | NeedsCode


def rejection(check: Check) -> Rejected:
    """Returns the outcome for the hard check that ended a verification."""
    return Rejected(
        stage=check.stage,
        reason=check.message,
        case=check.case,
        expected=check.expected,
        got=check.got,
        trace=check.trace[:10],
        fix=check.fix,
    )
