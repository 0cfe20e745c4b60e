"""Programs for Hypothesis: names n0 to n9, numbers 1000 to 1009, methods m0 to m3, to be replaced in the text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

NAMES = [f"n{index}" for index in range(10)]
NUMBERS = [str(1000 + index) for index in range(10)]
METHODS = [f"m{index}" for index in range(4)]
FUNCTIONS = ("first", "second", "third")

_leaves = st.sampled_from([*NAMES, *NUMBERS, "'text'", "[1000, 1001]", "{'k': 1002}"])


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({0} + {1})".format, inner, inner),
        st.builds("({0} if {1} else {0})".format, inner, inner),
        st.builds("({0}).{1}({2})".format, inner, st.sampled_from(METHODS), inner),
        st.builds(
            "sorted({0}, key=lambda {1}: {2}, reverse={3})".format,
            inner,
            st.sampled_from(NAMES),
            inner,
            inner,
        ),
        st.builds("[{0} for {1} in ({2}) if {0}]".format, inner, st.sampled_from(NAMES), inner),
        st.builds("{0}({1}, {2})".format, st.sampled_from(FUNCTIONS), inner, inner),
        st.builds("f'{{{0}}} 1000'".format, st.sampled_from(NAMES)),
        st.builds("({0} < {1} and {0})".format, inner, inner),
    )


EXPRESSIONS = st.recursive(_leaves, _grown, max_leaves=5)
_statements = st.one_of(
    st.builds("{0} = {1}".format, st.sampled_from(NAMES), EXPRESSIONS),
    st.builds("{0} += {1}".format, st.sampled_from(NAMES), EXPRESSIONS),
    st.builds("print({0})".format, EXPRESSIONS),
    st.builds("{0}, {1} = {2}".format, st.sampled_from(NAMES), st.sampled_from(NAMES), EXPRESSIONS),
)
_nested = st.one_of(
    _statements,
    st.builds("for {0} in {1}:\n    {2}".format, st.sampled_from(NAMES), EXPRESSIONS, _statements),
    st.builds("if {0}:\n    {1}\nelse:\n    {2}".format, EXPRESSIONS, _statements, _statements),
    st.builds(
        "try:\n    {1}\nexcept ValueError as {0}:\n    {2}".format,
        st.sampled_from(NAMES),
        _statements,
        _statements,
    ),
    st.builds("with open({1}) as {0}:\n    {2}".format, st.sampled_from(NAMES), EXPRESSIONS, _statements),
    st.builds("while {0}:\n    {1}".format, EXPRESSIONS, _statements),
)


@dataclass(frozen=True)
class Parts:
    """A program in parts: functions, and the statements that follow them."""

    functions: tuple[str, ...]
    body: str

    def text(self, order: Sequence[int] = (0, 1, 2)) -> str:
        """The program with its functions in that order."""
        return "\n".join(["import math", *(self.functions[at] for at in order), self.body, "math.floor(n0)"])


@st.composite
def programs(draw: st.DrawFn) -> Parts:
    """Programs of three functions, which call one another, and some statements."""
    functions = []
    for name in FUNCTIONS:
        one, other = draw(st.lists(st.sampled_from(NAMES), min_size=2, max_size=2, unique=True))
        lines = draw(st.lists(_nested, min_size=1, max_size=3))
        inner = "\n".join([*lines, f"return {draw(EXPRESSIONS)}"]).replace("\n", "\n    ")
        functions.append(f"def {name}({one}, {other}=1003):\n    {inner}")
    return Parts(tuple(functions), "\n".join(draw(st.lists(_nested, min_size=1, max_size=4))))


def replaced(code: str, new: dict[str, str]) -> str:
    """The program with other words for some."""
    return re.sub(r"\b\w+\b", lambda found: new.get(found[0], found[0]), code)
