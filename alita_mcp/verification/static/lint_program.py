"""Program that runs pyflakes on source from stdin and prints the errors as a JSON list.

A program of its own, run as a plain file: code that takes long or crashes the checker ends this process only.
"""

from __future__ import annotations

import ast
import json
import sys
from typing import Any

from pyflakes import messages
from pyflakes.checker import Checker

ERRORS = (
    messages.AssertTuple,
    messages.BreakOutsideLoop,
    messages.ContinueOutsideLoop,
    messages.DefaultExceptNotLast,
    messages.DuplicateArgument,
    messages.ForwardAnnotationSyntaxError,
    messages.IfTuple,
    messages.InvalidPrintSyntax,
    messages.IsLiteral,
    messages.ReturnOutsideFunction,
    messages.UndefinedExport,
    messages.UndefinedLocal,
    messages.UndefinedName,
    messages.YieldOutsideFunction,
)
"""What is wrong whenever that line runs; pyflakes' other messages are about style and leftovers."""


def errors_in(code: str) -> list[dict[str, Any]]:
    """Message, line and kind (the class in `pyflakes.messages`) of each error.

    Raises:
        SyntaxError: the code does not parse.
        RecursionError: it is nested too deeply.
    """
    found = Checker(ast.parse(code), builtins=("__file__",)).messages
    return [
        {"message": each.message % each.message_args, "line": each.lineno, "kind": type(each).__name__}
        for each in sorted(found, key=lambda each: (each.lineno, each.col))
        if isinstance(each, ERRORS)
    ]


if __name__ == "__main__":
    json.dump(errors_in(sys.stdin.buffer.read().decode()), sys.stdout)
