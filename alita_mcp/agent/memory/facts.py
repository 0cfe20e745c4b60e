"""Selection of the facts to store from a run, and of those that they replace.

A newer fact of a subject takes an older one's place: that they contradict one another is not asked, because the newer
one is right in either case. A page's words are kept as a quotation with its address; what a page says is no lesson.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from alita_mcp.agent.interface import Fact
from alita_mcp.agent.memory.instructions import gives_orders, speaks_to_the_agent
from alita_mcp.library.words.stems import stems

OWN = "run:"
MOST_OF_A_RUN = 50
AHEAD = timedelta(hours=1)
"""So far a clock may be wrong; a later date would keep every newer fact out."""
_QUOTES = "“”"


class DatedFact(NamedTuple):
    """A fact with the date of its source."""

    fact: Fact
    at: str
    """ISO 8601, UTC."""


class Change(NamedTuple):
    """A fact to write, and the keys of those that it replaces."""

    stored: dict[str, DatedFact]
    removed: frozenset[str]


def fit_to_keep(fact: Fact) -> Fact | None:
    """The fact as stored; None for instructions to the agent, and for lessons from outside sources."""
    # Case 1: a run of ours found it. Case 2: a page says it, which is kept as a quotation.
    if is_own(fact):
        return None if speaks_to_the_agent(f"{fact.subject}. {fact.text}") else fact
    if fact.kind == "lesson" or gives_orders(fact.text) or gives_orders(fact.subject):
        return None
    said = " ".join(fact.text.strip().strip(_QUOTES).split())
    if not said:
        return None
    return fact.model_copy(update={"text": f"“{said[:998]}”"})


def is_own(fact: Fact) -> bool:
    """Whether one of our own runs found the fact."""
    return fact.source.url.startswith(OWN)


def key_of(fact: Fact) -> str:
    """Key of a fact's subject: equal for other word orders, endings and cases; lessons have keys of their own."""
    words = sorted(set(stems(fact.subject))) or [fact.subject.strip().casefold()]
    return f"{fact.kind} {' '.join(words)}"


def normal_text(fact: Fact) -> str:
    """The words of a text alone: equal for texts that differ in case, spaces and signs."""
    return " ".join(re.findall(r"\w+", fact.text.casefold()))


def first_date(dates: Iterable[str], now: datetime) -> str:
    """The first readable one of some dates that is not in the future."""
    moment = next((found for date in dates if (found := _moment(date)) is not None), now)
    return (now if moment > now + AHEAD else moment).isoformat(timespec="seconds")


def _rank(each: DatedFact) -> tuple[datetime, bool, str]:
    """Key by which a fact replaces another: by date, and on one date our own runs before pages."""
    oldest = datetime.min.replace(tzinfo=UTC)
    return _moment(each.at) or oldest, is_own(each.fact), each.fact.source.url


def choose_facts(new: Sequence[DatedFact], known: Mapping[str, DatedFact]) -> Change:
    """The changes that a run's facts make to the known ones."""
    holds = dict(known)
    key_by_text = {normal_text(each.fact): key for key, each in known.items()}
    for each in new[:MOST_OF_A_RUN]:
        key, text = key_of(each.fact), normal_text(each.fact)
        said = key_by_text.get(text, key)  # the same words, perhaps under another subject
        rivals = [holds[name] for name in {key, said} if name in holds]
        if any(_rank(each) < _rank(rival) for rival in rivals):
            continue
        holds.pop(said, None)
        holds[key] = each
        key_by_text[text] = key
    stored = {key: each for key, each in holds.items() if known.get(key) != each}
    return Change(stored, frozenset(known.keys() - holds.keys()))


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
