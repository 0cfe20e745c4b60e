"""Check that a request asks for all grants that the code uses through `alita_tool`."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

from alita_mcp.values import Check, Draft, Grants
from alita_mcp.verification.code.names import Names, names_of
from alita_mcp.verification.code.source import parse_code
from alita_mcp.verification.findings import fail_check

_MODULE = "alita_tool"
_WRITES = ("write_text", "write_bytes")
_FILES = ("read_text", "read_bytes", "list_files", *_WRITES)
_FUNCTIONS = ("complete", "call_tool", "secret", *_FILES)
_REACHES_HOSTS = re.compile(
    r"(requests|httpx|aiohttp|urllib3|http\.client|ftplib|smtplib)\.|urllib\.request\.(urlopen|Request|build_opener)"
    r"|socket\.(socket|create_connection)"
)
_HOST = re.compile(r"https?://([A-Za-z0-9.-]+\.[A-Za-z]{2,})")
_SOME_HOST = "api.example.org"


def needs_checks(draft: Draft, tree: ast.Module, names: Names) -> list[Check]:
    """A failure that names each use of `alita_tool` without its grant, and what to add."""
    imported = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == _MODULE
        for alias in node.names
    }
    first_arguments = {
        id(node.func): node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)
    }
    used: list[tuple[int, str, str]] = []  # line, function and, where it stands there, its first argument
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and names.full_name(node.value) == _MODULE:
            function = node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            function = imported.get(node.id, "")
        else:
            continue
        if function and not function.startswith("__"):
            used.append((node.lineno, function, str(first_arguments.get(id(node), ""))))
    for line, function, _ in used:
        if function in (*_FUNCTIONS, "Image"):
            continue
        fix = (
            "It has Image(picture), complete(prompt), call_tool(name, **arguments), secret(name), read_text(path), "
            "read_bytes(path), write_text(path, text), write_bytes(path, data) and list_files(folder)."
        )
        return [fail_check("policy", f"{_MODULE} has no {function!r}", fix, line=line)]
    grants = draft.grants
    functions = {function for _, function, _ in used}
    needed: dict[str, Any] = {}
    if functions.intersection(_FILES):
        writes = bool(functions.intersection(_WRITES))
        enough = grants.workspace == "write" or (grants.workspace == "read" and not writes)
        needed["workspace"] = grants.workspace if enough else "write" if writes else "read"
    if "complete" in functions:
        needed["model"] = True
    for function, field in (("call_tool", "tools"), ("secret", "secrets")):
        if function in functions:
            had: tuple[str, ...] = getattr(grants, field)
            named = sorted(name for _, each, name in used if each == function and name)
            needed[field] = tuple(dict.fromkeys((*had, *named))) or ("NAME",)
    missing = [field for field, value in needed.items() if value != getattr(grants, field)]
    if not missing:
        return []
    served = {"workspace": _FILES, "model": ("complete",), "tools": ("call_tool",), "secrets": ("secret",)}
    ungranted = {function for field in missing for function in served[field]}
    beyond = [(line, function) for line, function, _ in used if function in ungranted]
    uses = " and ".join(dict.fromkeys(f"{_MODULE}.{function}" for _, function in beyond))
    message = f"the code uses {uses}, which the request does not ask for"
    fix = f'Add "needs": {needs_text(grants, needed)}; a person approves it.'
    return [fail_check("policy", message, fix, line=min(line for line, _ in beyond))]


def network_hint(draft: Draft) -> str:
    """Advice for code that uses a network library without requesting a host; empty for other code."""
    if draft.grants.network:
        return ""
    tree = parse_code(draft.code)
    names = names_of(tree)
    calls = (names.full_name(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call))
    called = next((name for name in calls if _REACHES_HOSTS.match(name)), "")
    if not called:
        return ""
    values = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    found = [host for text in values if isinstance(text, str) for host in _HOST.findall(text)]
    needs = needs_text(draft.grants, {"network": tuple(dict.fromkeys(found)) or (_SOME_HOST,)})
    return f'{called} reaches no host unless the request has "needs": {needs}; tests then meet a stand-in over http://.'


def needs_text(grants: Grants, more: dict[str, Any]) -> str:
    """The `needs` of a request as JSON, completed by those that it lacks."""
    needs = {**grants.model_dump(mode="json"), **more}
    return json.dumps({field: value for field, value in needs.items() if value and value != "none"})
