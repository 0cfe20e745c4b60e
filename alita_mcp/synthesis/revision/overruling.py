"""Overruling of assumed rules: a request replaces rules of a published tool by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from alita_mcp.library.versions.files import mark_of
from alita_mcp.models.roles import Models
from alita_mcp.models.structured.asking import ask
from alita_mcp.synthesis.requests.outcomes import Rejected
from alita_mcp.synthesis.specification.aliases import is_plain
from alita_mcp.synthesis.specification.assumptions import name_of
from alita_mcp.synthesis.specification.values import Written
from alita_mcp.synthesis.writing import prompts
from alita_mcp.values import Example, StoredVersion, WrittenFrom

MAX_RULES = 30
MAX_LINE = 500
SHOWN_NAMES = 10


class Contradicted(Written):
    """Numbers of the examples that cannot hold together with a rule."""

    contradict: tuple[int, ...] = Field(default=(), max_length=200)


@dataclass(frozen=True)
class Rules:
    """Rules of a tool: all of them, those that were assumed, and those that the request changed."""

    all: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def merged(self, changed: Sequence[str]) -> Rules:
        """With rules that a writer says it changed; one of a name that is known takes its place."""
        known = dict.fromkeys(map(name_of, self.changed))
        new = {name_of(line): line for line in changed if line and name_of(line) not in known}
        kept = [line for line in self.all if name_of(line) not in new]
        assumed = tuple(line for line in self.assumed if name_of(line) not in new)
        return Rules((*kept, *new.values())[-MAX_RULES:], assumed, self.changed)


def overruled(kept: WrittenFrom | None, overrule: Mapping[str, str], version: str) -> Rules | Rejected:
    """Replaces rules of a version as the request says; an unknown or ambiguous name is rejected."""
    rules = Rules(kept.rules, kept.assumed) if kept is not None else Rules()
    for name, text in overrule.items():
        found = _named(rules.assumed, name)
        if len(found) != 1:
            return _unknown(name, rules.assumed, version, several=bool(found))
        rules = _replaced(rules, found[0], text)
    return rules


def _named(assumed: Sequence[str], name: str) -> list[str]:
    """The rules of that name, or else those whose names begin so."""
    wanted = " ".join(name.split()).casefold()
    same = [line for line in assumed if name_of(line) == wanted]
    return same or [line for line in assumed if name_of(line).startswith(wanted)]


def _replaced(rules: Rules, old: str, text: str) -> Rules:
    name, _, held = (" ".join(part.split()) for part in old.partition(":"))
    new = f"{name}: {' '.join(text.split())} (no longer: {held[:100]})"[:MAX_LINE]
    stale = {old.casefold(), held.casefold()}
    kept = [line for line in rules.all if line.casefold() not in stale and name_of(line) != name_of(old)]
    return Rules(
        (*kept, new)[-MAX_RULES:],
        tuple(line for line in rules.assumed if line != old),
        (*rules.changed, new),
    )


def _unknown(name: str, assumed: Sequence[str], version: str, *, several: bool) -> Rejected:
    names = [" ".join(line.partition(":")[0].split())[:60] for line in assumed]
    names = [each for each in names if is_plain(each)][:SHOWN_NAMES]
    which = "several rules" if several else "no rule"
    return Rejected(
        stage="schema",
        reason=f"overrule: {version} assumed {which} of the name {name[:60]!r}.",
        fix=f"Name one of: {'; '.join(names)}."
        if names
        else "Say in description what is to change, instead.",
    )


def written_by_models(version: StoredVersion) -> tuple[Example, ...]:
    """Returns a version's examples that no caller sent, nor share arguments with one that a caller sent."""
    agreement = version.report.agreement
    marks = frozenset(agreement.blind if agreement else ())
    return tuple(example for example in version.examples if mark_of(example) in marks)


async def given_up(rules: Rules, broken: Sequence[Example], models: Models) -> tuple[Example, ...]:
    """Returns those broken examples that a tester, blind to code, says the new rules rule out.

    Raises:
        ModelError: the tester did not answer.
    """
    asked = prompts.contradicted("\n".join(rules.changed), [example.as_json() for example in broken])
    answer = await ask(models.role("tester"), asked, Contradicted, temperature=0.0, seed=1)
    named = frozenset(answer.value.contradict)
    return tuple(example for number, example in enumerate(broken, 1) if number in named)
