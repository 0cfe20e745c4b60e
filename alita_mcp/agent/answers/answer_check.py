"""Final check of an answer: pairs each claim with the observation that supports it.

What a model says about its sources is not believed: a quotation has to stand in the observation, letter by letter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import Field

from alita_mcp.agent import prompts
from alita_mcp.agent.actions.observations import Observation
from alita_mcp.agent.answers.grounding import MAX_SHORT, is_observed, is_quoted, numbers_in, words_in
from alita_mcp.agent.values import Claim
from alita_mcp.errors import BudgetSpent, ModelError
from alita_mcp.event_loop import off_loop
from alita_mcp.models.interface import LanguageModel
from alita_mcp.models.structured.typed_answers import ask_model
from alita_mcp.values import Value

EXCERPT = 1_500
MAX_EXCERPTS = 24_000
MAX_CLAIMS = 40
IN_THREADS_FROM = 200_000
"""Characters of all observations together."""


class Claims(Value):
    """What a judge answers."""

    claims: tuple[Claim, ...] = Field(default=(), max_length=MAX_CLAIMS)


async def checked(
    answer: str, claims: Sequence[Claim], observations: Sequence[Observation], judge: LanguageModel
) -> tuple[Claim, ...]:
    """The claims of an answer; unsupported ones have no reference.

    A model is asked only where neither the claims' own quotations nor the observations say it plainly.
    """
    data = [each for each in observations if each.is_data and each.reference != "o0"]
    large = sum(len(each.text) for each in observations) > IN_THREADS_FROM
    upheld = await off_loop(lambda: _all_upheld(claims[:MAX_CLAIMS], observations), large=large)
    if upheld and all(claim.reference for claim in upheld) and _covers(upheld, answer):
        return upheld
    if len(words_in(answer)) <= MAX_SHORT:
        found = await off_loop(lambda: _plainly(answer, data), large=large)
        if found is not None:
            return (found,)
    if not data:
        return upheld if upheld and not all(claim.reference for claim in upheld) else (Claim(claim=answer),)
    try:
        asked = prompts.check(answer, _excerpts(answer, data))
        judged = (await ask_model(judge, asked, Claims, temperature=0.0)).value.claims
    except BudgetSpent:
        raise
    except ModelError:
        return upheld or (Claim(claim=answer),)
    said = await off_loop(lambda: _all_upheld(judged, observations), large=large)
    return said if said and _covers(said, answer) else (*said, Claim(claim=answer))


def _all_upheld(claims: Sequence[Claim], observations: Sequence[Observation]) -> tuple[Claim, ...]:
    return tuple(_upheld(claim, observations) for claim in claims)


def _upheld(claim: Claim, observations: Sequence[Observation]) -> Claim:
    """The claim, without its reference where the quotation does not stand there."""
    for each in observations:
        if each.reference == claim.reference.strip("<>[] ").partition("/")[0] and is_quoted(
            claim.quote, each.text
        ):
            return claim.model_copy(update={"reference": each.reference}) if each.is_data else _open(claim)
    return _open(claim)


def _open(claim: Claim) -> Claim:
    return claim.model_copy(update={"reference": "", "quote": ""})


def _covers(claims: Sequence[Claim], answer: str) -> bool:
    """Whether the claims say what the answer says: its numbers, and where it has none, nothing but its words."""
    said = " ; ".join(f"{claim.claim} {claim.quote}" for claim in claims)
    if numbers_in(answer):
        return all(is_observed(str(number), [said]) for number in numbers_in(answer))
    words = set(words_in(answer))
    if words <= {"yes", "no", "true", "false"}:
        return True
    return sum(word in set(words_in(said)) for word in words) * 2 >= len(words)


def _plainly(answer: str, data: Sequence[Observation]) -> Claim | None:
    """The claim that a short answer is, where an observation says it; the last one that does."""
    for each in reversed(data):
        if is_observed(answer, [each.text]):
            return Claim(claim=answer, reference=each.reference, quote=answer)
    return None


def _excerpts(answer: str, data: Sequence[Observation]) -> list[tuple[str, str]]:
    """The parts of observations that a judge is shown: the last ones first, each around words of the answer."""
    found: list[tuple[str, str]] = []
    left = MAX_EXCERPTS
    for each in reversed(data):
        text = _around(answer, each.text)
        if len(text) > left:
            break
        left -= len(text)
        found.append((each.reference, text))
    return found[::-1]


def _around(answer: str, text: str) -> str:
    if len(text) <= EXCERPT:
        return text
    for word in sorted(words_in(answer), key=len, reverse=True)[:10]:
        if (match := re.search(re.escape(word), text, re.IGNORECASE)) is not None:
            start = max(0, match.start() - EXCERPT // 2)
            return text[start : start + EXCERPT]
    return text[:EXCERPT]
