"""Final check of an answer: pairs each claim with the observation that supports it.

What a model says about its sources is not believed: a quotation has to stand in the observation, letter by letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pydantic import Field

from alita_mcp.agent import prompts
from alita_mcp.agent.actions.observations import Observation
from alita_mcp.agent.answers.grounding import MAX_SHORT, is_observed, is_quoted, numbers_in, words_in
from alita_mcp.agent.values import Claim
from alita_mcp.errors import BudgetSpent, ModelError
from alita_mcp.event_loop import off_loop
from alita_mcp.models.interface import LanguageModel
from alita_mcp.models.structured.typed_answers import ask_model
from alita_mcp.texts import clip
from alita_mcp.values import Value

MAX_EXCERPT, MAX_EXCERPTS = 700, 1_400
"""Characters of one observation, and of all, that another model is shown."""
MAX_CLAIMS = 40
IN_THREADS_FROM = 200_000
"""Characters of all observations together."""
MAX_REFUSAL = 6
"""Words."""
MAX_BESIDE = 60
"""Characters that stand beside a refusal that a program gave, or beside an answer in a value that no program gave."""
_REFUSAL = re.compile(
    r"\b(unknown|none|nothing|nobody|no|not|cannot|can't|never|impossible|undetermined|undefined|insufficient|missing|"
    r"unclear|unanswerable|n/?a|null)\b"
)


class Claims(Value):
    """What a judge answers."""

    claims: tuple[Claim, ...] = Field(default=(), max_length=MAX_CLAIMS)


def is_offered_refusal(task: str, answer: str) -> bool:
    """Whether an answer says that there is none, in words that the task offers for that."""
    words = words_in(answer)
    offered = f" {' '.join(words)} " in f" {' '.join(words_in(task))} "
    return 0 < len(words) <= MAX_REFUSAL and offered and _REFUSAL.search(answer.casefold()) is not None


async def check_answer(
    task: str, answer: str, claims: Sequence[Claim], observations: Sequence[Observation], judge: LanguageModel
) -> tuple[Claim, ...]:
    """Checks an answer: returns its claims, unsupported ones without a reference.

    A model is asked only where neither the claims' own quotations nor the observations say it plainly. A refusal that
    the task offers is supported where its claims are: nothing says it in its words.
    """
    data = [each for each in observations if each.is_data and each.reference != "o0"]
    refuses = is_offered_refusal(task, answer)
    large = sum(len(each.text) for each in observations) > IN_THREADS_FROM

    def supports(verified: Sequence[Claim]) -> bool:
        return (
            bool(verified)
            and all(claim.reference for claim in verified)
            and (refuses or _covers(verified, answer))
        )

    # 1. The model's own quotations: they stand where it says, and say what the answer says.
    quoted = await off_loop(lambda: _verify_quotes(claims[:MAX_CLAIMS], observations), large=large)
    if supports(quoted):
        return quoted
    # 2. A short answer that an observation says as it is; the last one that does. A refusal must be all that a program
    # gave: a word of a longer output is there by chance.
    if len(words_in(answer)) <= MAX_SHORT:
        most = len(answer) + MAX_BESIDE
        where = [each for each in data if each.program and len(each.text) <= most] if refuses else data

        def find_answer() -> Observation | None:
            return next((each for each in reversed(where) if is_observed(answer, [each.text])), None)

        found = await off_loop(find_answer, large=large)
        if found is not None:
            return (Claim(claim=answer, reference=found.reference, quote=answer),)
    # 3. Nothing was observed.
    if not data:
        return quoted if quoted and not all(claim.reference for claim in quoted) else (Claim(claim=answer),)
    # 4. A judge quotes, and is not believed either.
    try:
        asked = prompts.ask_judge(task, answer, quoted, excerpts(answer, data))
        judged = (await ask_model(judge, asked, Claims, temperature=0.0)).value.claims
    except BudgetSpent:
        raise
    except ModelError:
        return quoted or (Claim(claim=answer),)
    said = await off_loop(lambda: _verify_quotes(judged, observations), large=large)
    return (
        said if supports(said) or not all(claim.reference for claim in said) else (*said, Claim(claim=answer))
    )


def _verify_quotes(claims: Sequence[Claim], observations: Sequence[Observation]) -> tuple[Claim, ...]:
    """The claims, without their references where the quotation does not stand there."""
    by_reference = {each.reference: each for each in observations}
    verified = []
    for claim in claims:
        named = by_reference.get(claim.reference.strip("<>[] ").partition("/")[0])
        holds = named is not None and named.is_data and is_quoted(claim.quote, named.text)
        update = {"reference": named.reference} if named and holds else {"reference": "", "quote": ""}
        verified.append(claim.model_copy(update=update))
    return tuple(verified)


def _covers(claims: Sequence[Claim], answer: str) -> bool:
    """Whether the claims say what the answer says: its numbers, and where it has none, nothing but its words."""
    said = " ; ".join(f"{claim.claim} {claim.quote}" for claim in claims)
    if numbers_in(answer):
        return all(is_observed(str(number), [said]) for number in numbers_in(answer))
    words = set(words_in(answer))
    if words <= {"yes", "no", "true", "false"}:
        return True
    return sum(word in set(words_in(said)) for word in words) * 2 >= len(words)


def excerpts(about: str, data: Iterable[Observation]) -> list[tuple[str, str]]:
    """The parts of observations that another model is shown: the last ones first, each around words of a text."""
    longest = sorted(words_in(about), key=len, reverse=True)[:10]
    found: list[tuple[str, str]] = []
    left = MAX_EXCERPTS
    for each in reversed([*data]):
        text = each.text
        if len(text) > MAX_EXCERPT:
            matches = (re.search(re.escape(word), text, re.IGNORECASE) for word in longest)
            start = next((max(0, match.start() - MAX_EXCERPT // 2) for match in matches if match), 0)
            text = text[start : start + MAX_EXCERPT]
        if left <= 0:
            break
        found.append((each.reference, clip(text, left)))
        left -= len(text)
    return found[::-1]
