"""Scores of a version: the agreement of independent writers, and the mutation score of its examples."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict

from alita_mcp.values.value import Value


class DroppedTest(Value):
    """A written test that contradicts the majority of the candidates."""

    test: dict[str, Any]
    """As its author wrote it."""
    got: Any = None
    """What the chosen candidate gives instead."""


class Agreement(Value):
    """Agreement of independent candidates and suites about a tool that models wrote."""

    model_config = ConfigDict(extra="ignore")  # reports of version 0.1.0 hold more

    candidates: int
    suites: int
    share: float
    """Of the candidates, those that behave as the chosen one."""
    passed: float
    """Of all tests of the suites, those that the chosen one passes."""
    agreed: bool = False
    """Whether all candidates, two at least, were written blind, behave alike and pass every test."""
    kept: tuple[int, ...] = ()
    """Numbers of the tests that the chosen one passes; they are examples of the version."""
    dropped: tuple[int, ...] = ()
    """Numbers of the tests that contradict the majority and were left out."""
    contradicting: tuple[DroppedTest, ...] = ()
    """The first of the dropped ones."""
    repairs: int = 0
    """How often the chosen one was repaired after a failure."""
    attempts: int = 1
    """How many times candidates and tests were drawn."""
    blind: tuple[str, ...] = ()
    """Marks of those examples of the version that models wrote; the others are the caller's own."""


class Survivor(Value):
    """A mutant of a tool's code that no example noticed."""

    line: int
    was: str
    now: str
    shown_by: dict[str, Any] | None = None
    """Arguments with which it gives another result: an example that would notice it."""


class MutationScore(Value):
    """Mutation score: how many small mistakes in a tool's code its examples notice."""

    killed: int
    total: int
    survivors: tuple[Survivor, ...] = ()
    equivalent: int = 0
    """Mutants that gave no other result on any of so many inputs; they do not count."""
    inputs: int = 0
