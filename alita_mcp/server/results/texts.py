"""Text of the fixed tools' results: the content of `structuredContent`, for a reader."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from alita_mcp.library.trust.evidence import evidence_rows
from alita_mcp.server.results.building import MAX_TEXT, as_json, bullets, printable
from alita_mcp.server.results.rejections import rejection_text
from alita_mcp.server.results.visibility import CALLABLE, call_phrase
from alita_mcp.texts import clip
from alita_mcp.toolsmith.requests.template import format_template
from alita_mcp.values import VerificationReport
from alita_mcp.verification.comparison import difference

Fields = Mapping[str, Any]
ASSUMED = 160
"""So many characters say in a text what was assumed; the structured result holds all of it."""
LEAST = 200
"""So many characters say what was made or waits for approval, however long what follows is."""
_VISIBLE = {
    "now": "it appears in your tool list as soon as you refresh it",
    "after reconnect": "it appears in your tool list after you reconnect",
    "in search": "your tool list does not show it, search_capabilities finds it",
}


def search_text(found: Fields) -> str:
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


def outcome_text(outcome: Fields) -> str:
    """Text of the outcome of a synthesis; most are cut to `MAX_TEXT`."""
    match outcome["status"]:
        case "created":
            # what to do next is never cut
            text = _text_of_created(outcome)
            rests_on = outcome.get("rests_on")
            then = f"Verified: {rests_on}." if rests_on else f"Report: {outcome['report']}"
            then = _how_to_verify(outcome) or then
            return f"{clip(text.strip(), max(LEAST, MAX_TEXT - len(then)))} {then}"
        case "exists":
            version = f"{outcome['tool']} v{outcome['version']}"
            if outcome.get("trust_before"):
                now = f"{version} is {outcome['trust']}, tests {outcome['tests']}: {outcome['why']}."
                then = _how_to_verify(outcome)
                text = clip(f"{now} {_how_to_call(outcome)}".strip(), max(LEAST, MAX_TEXT - len(then)))
                return f"{text} {then}".strip()
            text = f"Nothing new was published: {version} exists ({outcome['why']}). {_how_to_call(outcome)}"
        case "working":
            stage = f"{outcome['stage']}, {outcome['elapsed_s']} s"
            text = f"Still working ({stage}): {outcome['next']} {outcome['job_id']!r}."
        case "rejected":
            return rejection_text(outcome)
        case "needs_approval":  # the command that a person types is never cut
            kept = f" {outcome['kept'].partition(':')[0]}." if outcome.get("kept") else ""
            passed = f"{outcome['tool']} v{outcome['version']} passed and is kept.{kept}"
            asked = outcome.get("asked")
            answer = f"{asked[0].upper()}{asked[1:]}. " if asked else ""
            needs = f"It needs {clip(', '.join(outcome['grants']), 120)}."
            before = f"{passed} {needs} {answer}{_cases_given_up(outcome)}{_assumptions(outcome)}"
            how: str = outcome["how"]
            return clip(before, max(LEAST, MAX_TEXT - len(how))) + how
        case _:  # needs_code
            similar = f"\nSimilar tools: {', '.join(outcome['similar'])}" if outcome.get("similar") else ""
            return (
                f"Call synthesize_tool again with this filled in:\n{format_template(outcome['template'])}\n"
                f"Rules:{bullets(outcome['rules'])}\nThe sandbox here:{bullets(outcome['sandbox'])}{similar}"
            )
    return clip(text.strip(), MAX_TEXT)


def _text_of_created(outcome: Fields) -> str:
    """What was published and what came of it, without what to do next."""
    version = f"{outcome['tool']} v{outcome['version']} ({outcome['trust']}, tests {outcome['tests']})"
    if outcome.get("kept"):
        return f"Kept {version}, but {outcome['kept']}. {_cases_given_up(outcome)}{_assumptions(outcome)}"
    return f"{_cases_given_up(outcome)}Published {version}. {_how_to_call(outcome)}{_assumptions(outcome)}"


def _cases_given_up(outcome: Fields) -> str:
    """The cases that an update gave up, the first in full, as a sentence with a space behind it."""
    cases = outcome.get("breaks")
    if not cases:
        return ""
    arguments = clip(as_json(cases[0]["arguments"]), 60)
    change = difference(cases[0]["expected"], cases[0]["got"], 30)
    more = f", and {len(cases) - 1} more" if len(cases) > 1 else ""
    return f"Broken as declared: {arguments}: was {change.expected}, is now {change.got}{more}. "


def _assumptions(outcome: Fields) -> str:
    """What the writer of a tool had to invent, as a sentence with a space behind it."""
    lines = outcome.get("assumed")
    if not lines:
        return ""
    assumed = clip("; ".join(lines), ASSUMED).rstrip(".")
    return f"Assumed (to change one, send its code with update=true): {assumed}. "


def _how_to_verify(outcome: Fields) -> str:
    line = outcome.get("to_raise_trust")
    return f"To have it verified: {line[0].lower()}{line[1:]}" if line else ""


def _how_to_call(outcome: Fields) -> str:
    """How to call the tool and when the list shows it, as a sentence with a space behind it."""
    call = outcome.get("call")
    if call in CALLABLE:
        how = "directly by its name or through" if call == "direct" else "now through"
        return f"Call it {how} run_tool; {_VISIBLE[outcome['visible']]}. "
    return f"It {call_phrase(outcome)}. " if call else ""


def card_text(card: Fields) -> str:
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
    # what to do next is never cut
    limits = {"to raise": 2 * MAX_TEXT}
    evidence = [printable(f"- {label}: {value}", limits.get(label, MAX_TEXT)) for label, value in rows]
    text = "\n".join([clip(head + takes, MAX_TEXT), *evidence])
    if "unreviewed" in card:
        return f"{text}\n\n{card['unreviewed']}"
    if "source" not in card:
        return text
    return f"{text}\n\n{card['source']}\nTests:\n{json.dumps(card['tests'], ensure_ascii=False, indent=1)}"
