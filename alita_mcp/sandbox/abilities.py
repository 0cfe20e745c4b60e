"""Abilities of code in a sandbox and what it lacks, in words for the author of a tool."""

from __future__ import annotations

from alita_mcp.values import Limits, Value


class Missing(Value):
    """Feature of CPython that a sandbox does not have, and how code shows that it needs it."""

    feature: str
    instead: str
    """What to write instead."""
    names: tuple[str, ...]
    """Modules, or names in modules: `ssl`, `concurrent.futures`, `os.fork`; each stands for all below it."""


class Abilities(Value):
    """Abilities that a sandbox offers to code, and what it lacks."""

    offers: tuple[str, ...]
    """A few sentences."""
    lacks: tuple[Missing, ...] = ()
    elsewhere: str = ""
    """How to get a sandbox that has what this one lacks."""

    def in_words(self) -> tuple[str, ...]:
        """A sentence for each thing offered, and for each that is missing what to write instead."""
        return (*self.offers, *(f"Not here: {each.feature}. Instead: {each.instead}." for each in self.lacks))

    def summary_of_lacks(self) -> tuple[str, ...]:
        """Missing features in one sentence, for prompts that are paid by the word; empty where nothing is missing."""
        if not self.lacks:
            return ()
        return (
            f"The sandbox here refuses code that uses: {'; '.join(each.feature for each in self.lacks)}.",
        )


def whole_cpython(kind: str, version: str) -> Abilities:
    """The abilities of a sandbox that runs an ordinary CPython of a `version` such as `3.12`."""
    limits = Limits()
    return Abilities(
        offers=(
            f"The code runs in {kind}: CPython {version}, its whole standard library, packages as wheels.",
            f"A call has {limits.wall_seconds:g} s, {limits.memory_bytes >> 20} MB, temporary files and no others.",
            "No network, unless hosts are asked for and a person grants them.",
        )
    )
