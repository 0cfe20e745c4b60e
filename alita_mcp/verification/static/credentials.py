"""Detector of credentials in code, which would be stored, listed and exported with the tool."""

from __future__ import annotations

import ast
import math
import re
from collections import Counter

from alita_mcp.library.private_text import KEYS, NAMED_SECRET
from alita_mcp.values import Check
from alita_mcp.verification.findings import fail_check

_RANDOM_LOOKING = re.compile(r"[A-Za-z0-9+/=_\-.]{16,}")
MIN_ENTROPY = 3.5
"""Bits a character; words and dashes stay below, random keys of 16 characters lie above."""

_FIX = "Remove it, and revoke it because it was sent. A tool gets secrets by grant or as an argument."


def credential_checks(code: str, tree: ast.Module) -> list[Check]:
    """Failures for keys of well-known shape, and for random-looking strings named like secrets."""
    checks = []
    for what, pattern in KEYS.items():
        if found := pattern.search(code):
            line = code.count("\n", 0, found.start()) + 1
            checks.append(fail_check("static", f"the code holds {what}", _FIX, line=line))
    # string constants with the name that they are assigned, passed or keyed under
    named: list[tuple[str, ast.expr | None]] = []
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets, value=value):
                named += [(_name_of(target), value) for target in targets]
            case ast.AnnAssign(target=target, value=value):
                named.append((_name_of(target), value))
            case ast.keyword(arg=str(name), value=value):
                named.append((name, value))
            case ast.Dict(keys=keys, values=values):
                named += [(_name_of(key), value) for key, value in zip(keys, values, strict=True)]
            case ast.arguments(posonlyargs=first, args=others, defaults=defaults):
                positional = [*first, *others]
                with_default = positional[len(positional) - len(defaults) :]
                pairs = zip([*with_default, *node.kwonlyargs], [*defaults, *node.kw_defaults], strict=True)
                named += [(parameter.arg, default) for parameter, default in pairs]
    for name, constant in named:
        text = constant.value if isinstance(constant, ast.Constant) else None
        if not isinstance(text, str) or not NAMED_SECRET.search(name) or not _RANDOM_LOOKING.fullmatch(text):
            continue
        shares = [count / len(text) for count in Counter(text).values()]
        entropy = -sum(share * math.log2(share) for share in shares)
        if entropy >= MIN_ENTROPY and any(each.isdigit() for each in text):
            message = f"the value of {name[:60]} looks like a secret"
            checks.append(fail_check("static", message, _FIX, line=getattr(constant, "lineno", None)))
    return checks


def _name_of(target: ast.expr | None) -> str:
    match target:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Constant(value=str(text)):
            return text
        case ast.Subscript(slice=key):
            return _name_of(key)
    return ""
