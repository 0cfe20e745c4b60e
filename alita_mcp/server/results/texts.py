"""Text of the fixed tools' results: what stands in `structuredContent`, said to a reader."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from alita_mcp.library.trust.evidence import evidence_rows
from alita_mcp.server.results.building import MAX_TEXT, as_json, listed, printable
from alita_mcp.server.results.rejections import rejection_text
from alita_mcp.server.results.visibility import said_of
from alita_mcp.texts import clipped
from alita_mcp.toolsmith.requests.template import format_template
from alita_mcp.values import VerificationReport
from alita_mcp.verification.comparison import difference

Structured = Mapping[str, Any]
ASSUMED = 160
"""So many characters say in a text what was assumed; the structured result holds all of it."""
LEAST = 200
"""So many characters say what waits for approval, however long the command is."""


def search_text(found: Structured) -> str:
    """One line a hit; the schemas too where they were asked for."""
    lines = [f"Fit: {found['fit']} ({found['total']} tools in the library). Next: {found['next']}."]
    for hit in found["results"]:
        lines.append(
            f"- {hit['signature']}: {hit['summary']} [{hit['name']} v{hit['version']}, {hit['trust']}, "
            f"{hit['score']:.2f}, call: {hit['call']}{': ' + hit['reason'] if 'reason' in hit else ''}]"
        )
        if "input_schema" in hit:
            lines.append(f"  input: {as_json(hit['input_schema'])}")
    return "\n".join(lines)


def outcome_text(outcome: Structured) -> str:
    """Text of a synthesis' outcome."""
    status = outcome["status"]
    if status in _BOUNDED:
        return _BOUNDED[status](outcome)
    text = {"created": _created, "exists": _exists, "working": _working}[status](outcome)
    return clipped(text, MAX_TEXT)


def _created(outcome: Structured) -> str:
    if outcome.get("kept"):
        made = f"Kept {outcome['tool']} v{outcome['version']} ({outcome['trust']}, tests {outcome['tests']})"
        said = f"{made}, but {outcome['kept']}. {_broken(outcome)}{_assumed(outcome)}"
        return f"{said}{_questions(outcome, said) or _to_verify(outcome)}".strip()
    said = _broken(outcome) + (
        f"Published {outcome['tool']} v{outcome['version']} ({outcome['trust']}, tests {outcome['tests']}). "
        f"{_way(outcome)}{_assumed(outcome)}"
    )
    return said + (
        _questions(outcome, said)
        or _told_apart(outcome)
        or _to_verify(outcome)
        or f"Report: {outcome['report']}"
    )


def _questions(outcome: Structured, before: str) -> str:
    """What blind tests ask of the caller's code, as far as there is room; the first in any case."""
    lines = [printable(line) for line in outcome.get("questions") or ()]
    if not lines:
        return ""
    said, room = [lines[0]], MAX_TEXT - len(before) - len(lines[0]) - len("Questions: ; and 4 more.")
    for line in lines[1:]:
        room -= len(line) + 2
        if room < 0:
            break
        said.append(line)
    more = f"; and {len(lines) - len(said)} more" if len(said) < len(lines) else ""
    return f"Questions: {'; '.join(said)}{more}."


def _broken(outcome: Structured) -> str:
    """What an update gave up, the first case in full."""
    cases = outcome.get("breaks")
    if not cases:
        return ""
    first = clipped(as_json(cases[0]["arguments"]), 60)
    was = difference(cases[0]["expected"], cases[0]["got"], 30)
    now = f"{was.expected} is now {was.got}"
    more = f", and {len(cases) - 1} more" if len(cases) > 1 else ""
    return f"No longer holds, as declared: {first}: {now}{more}. "


def _assumed(outcome: Structured) -> str:
    """What the writer of a tool had to invent, as a sentence with a space behind it."""
    lines = outcome.get("assumed")
    if not lines:
        return ""
    return (
        f"Assumed (to change one, update it and say so): {clipped('; '.join(lines), ASSUMED).rstrip('.')}. "
    )


def _told_apart(outcome: Structured) -> str:
    """How it stands to a tool that sounds alike."""
    lines = outcome.get("differs")
    return f"Beside {', '.join(outcome['similar'][1:])}: {lines[0]}." if lines else ""


def _to_verify(outcome: Structured) -> str:
    line = outcome.get("to_raise_trust")
    return f"To have it verified: {line[0].lower()}{line[1:]}" if line else ""


def _way(told: Structured) -> str:
    """How to call the tool and when the list shows it, as a sentence with a space behind it."""
    way = told.get("call")
    if way in ("direct", "run_tool"):
        how = "directly by its name or through" if way == "direct" else "now through"
        return f"Call it {how} run_tool; your own list shows it: {_VISIBLE[told['visible']]}. "
    return f"It {said_of(told)}. " if way else ""


_VISIBLE = {
    "now": "as soon as it is refreshed",
    "after reconnect": "after you connect again",
    "in search": "not by itself; search_capabilities finds it",
}


def _exists(outcome: Structured) -> str:
    if outcome.get("trust_before"):
        now = f"{outcome['tool']} v{outcome['version']} is {outcome['trust']}, tests {outcome['tests']}"
        return f"{now}: {outcome['why']}. {_way(outcome)}{_to_verify(outcome)}".strip()
    said = f"{outcome['tool']} v{outcome['version']} exists ({outcome['why']}). {_way(outcome)}"
    return f"Nothing new was published: {said}".strip()


def _working(outcome: Structured) -> str:
    return f"Still working ({outcome['stage']}, {outcome['elapsed_s']} s): {outcome['next']} {outcome['job_id']!r}."


def _needs_approval(outcome: Structured) -> str:
    """What waits and for what; the command that a person types is never cut."""
    asked = clipped(", ".join(outcome["grants"]), 120)
    kept = f" {outcome['kept'].partition(':')[0]}." if outcome.get("kept") else ""
    passed = f"{outcome['tool']} v{outcome['version']} passed and is kept.{kept}"
    said = outcome.get("asked")
    answered = f"{said[0].upper()}{said[1:]}. " if said else ""
    before = f"{passed} It needs {asked}. {answered}{_broken(outcome)}{_assumed(outcome)}"
    how: str = outcome["how"]
    return clipped(before, max(LEAST, MAX_TEXT - len(how))) + how


def _template_text(outcome: Structured) -> str:
    similar = f"\nSimilar tools: {', '.join(outcome['similar'])}" if outcome.get("similar") else ""
    rules, sandbox = listed(outcome["rules"]), listed(outcome["sandbox"])
    return (
        f"Call synthesize_tool again with this filled in:\n{format_template(outcome['template'])}\nRules:{rules}\n"
        f"The sandbox here:{sandbox}{similar}"
    )


_BOUNDED = {"needs_code": _template_text, "rejected": rejection_text, "needs_approval": _needs_approval}
"""Texts that bound themselves."""


def card_text(card: Structured) -> str:
    """A version's evidence card in a few lines; with the code where it was asked for."""
    manifest, report = card["manifest"], card["report"]
    state = card["state"] if card["approved"] else f"{card['state']}, waits for a person's approval"
    head = (
        f"{manifest['name']} v{manifest['version']} ({manifest['trust']}, {state}): {manifest['summary']} "
        f"Proved in {', '.join(card['sandboxes']) or report['sandbox']}: {report['examples_passed']}/"
        f"{report['examples_total']} examples. Versions {', '.join(map(str, card['versions']))}. "
        f"Called {card['calls']} times, {card['failures']} failed. "
    )
    takes = f"Takes {as_json(manifest['input_schema'])}"
    rows = evidence_rows(VerificationReport.model_validate(report), card["sandboxes"])
    evidence = [printable(f"- {label}: {said}", MAX_TEXT) for label, said in rows]
    text = "\n".join([clipped(head + takes, MAX_TEXT), *evidence])
    if "unreviewed" in card:
        return f"{text}\n\n{card['unreviewed']}"
    if "source" not in card:
        return text
    return f"{text}\n\n{card['source']}\nTests:\n{json.dumps(card['tests'], ensure_ascii=False, indent=1)}"
