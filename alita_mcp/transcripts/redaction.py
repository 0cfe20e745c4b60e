"""Removes secrets and personal data from programs.

What is found by its name (`password = "…"`) is taken out wherever else it stands in the same program, its arguments,
its input and its output. Numbers become zeros, so that code stays code.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from alita_mcp.library.private_text import KEYS
from alita_mcp.sandbox.broker.redaction import REDACTED, redact
from alita_mcp.syntax import module_of
from alita_mcp.transcripts.values import ExecutedProgram

_NAME = (
    r"(?i)(?:(api_?key|secret|passw(?:or)?d|passphrase|credential|auth_?key|access_?key|private_?key)|token|bearer)"
    r"\w{0,20}[\"']?\]?(?:\s{0,3}[:=]|(?<=bearer))\s{0,3}"
)
_MAY_BE_NAMED = re.compile(r"(?i)key|secret|pass|credential|token|bearer")
_QUOTED = re.compile(_NAME + r"[rbuf]{0,2}([\"'])([^\"'\n]{4,200})\2")
_BARE = re.compile(_NAME + r"()([^\s\"',;&)\]}]{4,200})")
_RANDOM_LOOKING = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z])\S{12,}")
MOST_NAMED = 50
"""Values behind such names in one program; with more, the program is not shown at all."""
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[A-Za-z0-9+/=\s\\]*+(?:-----END [A-Z0-9 ]{0,40}-----)?"
)
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}\b")
_HOME = re.compile(
    r"(?i)(?:/home/|/Users/|\b[A-Z]:\\{1,2}Users\\{1,2}|\b[A-Z]:/Users/)[^\s/\\\"':;,<>|()\[\]{}]{1,64}"
)
_ESCAPED_HOME = re.compile(r"(?<![\w-])-(?:home|Users)-[^-/\\\s]{1,64}")
"""As Claude Code names the folder of a project."""
_PHONE = re.compile(r"(?<![\w.])(?:\+|(?<!\d )\b00)[1-9](?:[ ()./-]{0,2}\d){7,13}\b")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
_MAY_BE_HOME = re.compile(r"(?i)[/\\](?:home|users)[/\\]")
_MAY_BE_NUMBER = re.compile(r"\d(?:.?\d){7}", re.DOTALL)
"""Looked for first, because the patterns themselves are slow where nothing is to be found."""
_CARD = re.compile(
    r"(?<![\w.])(?:\d{13,19}|\d{4}([ -])\d{4}\1\d{4}\1\d{1,7}|\d{4}[ -]\d{6}[ -]\d{5})(?![\w.]?\d)"
)


def without_private(program: ExecutedProgram) -> ExecutedProgram | None:
    """The program with its private values replaced; None: it cannot be told without them."""
    fields = (program.code, program.given, program.output, *program.arguments)
    named = _named_in_code(program.code) | {value for text in fields[1:] for value in _named(_BARE, text)}
    if len(named) > MOST_NAMED:
        return None
    code, given, output, *arguments = cleaned = tuple(_clean(text, named) for text in fields)
    if code != program.code and not _same_but_for_constants(code, program.code):
        return None
    return program.model_copy(
        update={
            "code": code,
            "given": given,
            "output": output,
            "arguments": tuple(arguments),
            "redacted": cleaned != fields,
            "file": public_path(program.file),
            "session": _clean(program.session, set()),
            "at": program.at[:40],
        }
    )


def public_path(path: str) -> str:
    """A path without the name of the person whose home it is in."""
    return _ESCAPED_HOME.sub("-~", _clean(path, set()))


class _Blank(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.copy_location(ast.Constant(None), node)


def _same_but_for_constants(code: str, other: str) -> bool:
    """Whether only values were taken out; `[secret] = 1` is Python as well."""
    try:
        return ast.dump(_Blank().visit(module_of(code))) == ast.dump(_Blank().visit(module_of(other)))
    except (SyntaxError, ValueError):
        return False


def _named_in_code(code: str) -> set[str]:
    """Strings that the code calls a secret, and secrets that a string of it tells, as in `"host=… password=…"`."""
    texts = (node.value for node in ast.walk(module_of(code)) if isinstance(node, ast.Constant))
    inside = {value for text in texts if isinstance(text, str) for value in _named(_BARE, text)}
    return _named(_QUOTED, code) | inside


def _named(pattern: re.Pattern[str], text: str) -> set[str]:
    """Values behind a name; a `token` is a secret only where it looks like one."""
    if not _MAY_BE_NAMED.search(text):
        return set()
    found = ((match[1], match[3]) for match in pattern.finditer(text))
    return {value for surely, value in found if surely or _RANDOM_LOOKING.fullmatch(value)}


def _clean(text: str, named: set[str]) -> str:
    text = redact(text, named) if named else text
    text = _PRIVATE_KEY.sub(REDACTED, text)
    for pattern in KEYS.values():
        text = pattern.sub(REDACTED, text)
    if "@" in text:
        text = _EMAIL.sub("[email]", text)
    if _MAY_BE_HOME.search(text):
        text = _HOME.sub("~", text)
    if _MAY_BE_NUMBER.search(text):
        text = _IBAN.sub(_if(_is_iban, "[account]"), text)
        text = _CARD.sub(_if(_is_card, None), text)
        text = _PHONE.sub(_digits_to_zero, text)
    return text


def _if(holds: Callable[[str], bool], instead: str | None) -> Callable[[re.Match[str]], str]:
    """Replaces what is really one; `None`: each digit by a zero."""

    def replaced(found: re.Match[str]) -> str:
        if not holds(re.sub(r"[ -]", "", found[0])):
            return found[0]
        return _digits_to_zero(found) if instead is None else instead

    return replaced


def _digits_to_zero(found: re.Match[str]) -> str:
    return "0" if found[0].isdecimal() else re.sub(r"\d", "0", found[0])


def _is_iban(text: str) -> bool:
    turned = text[4:] + text[:4]
    return 15 <= len(text) <= 34 and int("".join(str(int(each, 36)) for each in turned)) % 97 == 1


def _is_card(digits: str) -> bool:
    doubled = (sum(divmod(2 * int(each), 10)) for each in digits[-2::-2])
    return digits[0] in "23456" and (sum(map(int, digits[-1::-2])) + sum(doubled)) % 10 == 0
