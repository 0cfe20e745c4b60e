"""Values of mining: normal forms of programs, and the function that several runs amount to."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from alita_mcp.values import Example, Value


class NormalForm(Value):
    """A program without its names, layout, comments, docstrings and constants; holds no word of the program."""

    digest: str
    """The same for programs that differ in nothing else, nor in the order of their helper functions."""
    size: int
    """Nodes of its syntax tree."""
    features: dict[str, int] = Field(default_factory=dict)
    """Hashes of its parts and how often each occurs; what likeness is computed from. At most `MAX_FEATURES`."""


class Parameter(Value):
    """One parameter of a function made of runs."""

    name: str
    annotation: str
    """A type of the tool contract, as in `list[str]`."""


class GeneralFunction(Value):
    """One typed function that does what several runs did, and what these runs were as calls of it."""

    name: str
    code: str
    """A module that keeps the tool contract: the function, helpers whose names begin with `_`, imports, constants."""
    parameters: tuple[Parameter, ...]
    returns: str
    """Annotation of the result."""
    reads: Literal["result", "printed"]
    """Whether the result is the value of the script, or the text that it printed."""
    calls: tuple[Example, ...]
    """For each run, in order: its arguments and what it gave, exactly as it was seen."""

    @property
    def signature(self) -> str:
        """As in `count_words(text: str, limit: int) -> dict[str, int]`."""
        listed = ", ".join(f"{each.name}: {each.annotation}" for each in self.parameters)
        return f"{self.name}({listed}) -> {self.returns}"


class NotGeneral(Value):
    """Reason why runs amount to no function by their syntax alone."""

    why: str
    """In words for the author of the code."""
    writable: bool = True
    """Whether its author could write the function all the same."""
