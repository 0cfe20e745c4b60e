"""CPython's parser, for one thread at a time and without warnings.

Python 3.11 keeps the depth of the tree that it builds in one place for all threads: two that parse at once end now and
then in a SystemError ("AST constructor recursion depth mismatch"). Filters of warnings are the whole process's, too.
"""

from __future__ import annotations

import ast
import symtable
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_PARSER = threading.RLock()


def module_tree(code: str) -> ast.Module:
    """The syntax tree of a program; errors as `ast.parse`."""
    with _alone():
        return ast.parse(code)


def expression_tree(text: str) -> ast.Expression:
    """The syntax tree of one expression; errors as `ast.parse`."""
    with _alone():
        return ast.parse(text, mode="eval")


def symbol_table(code: str) -> symtable.SymbolTable:
    """The names of a program; SyntaxError for two parameters of one name and the like."""
    with _alone():
        return symtable.symtable(code, "tool.py", "exec")


@contextmanager
def _alone() -> Iterator[None]:
    with _PARSER, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes warn; under -W error they would not parse
        yield
