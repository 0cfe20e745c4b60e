"""Baselines without the toolsmith: one model call taken as it is, and one suite with five retries."""

from __future__ import annotations

import json
from collections.abc import Sequence

from alita_mcp.errors import PackagesRejected, SandboxRefused
from alita_mcp.models.interface import Message
from alita_mcp.models.roles import RoleModels
from alita_mcp.models.structured.asking import ask
from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.synthesis.specification.values import Suite, WrittenCode
from alita_mcp.values import Example
from benchmarks.toolsmith.attempt import Attempt
from benchmarks.toolsmith.judged_requests import JudgedRequest
from benchmarks.toolsmith.truth import differences, installed, why_not_loaded

RETRIES = 5
SHOWN_FAILURES = 3
TEMPERATURE = 0.2
_ONLY_JSON = "Answer with one JSON object and nothing else."
_CODER = Message(role="system", content=f"You write small, exact Python functions. {_ONLY_JSON}")
_TESTER = Message(role="system", content=f"You write tests for small Python functions. {_ONLY_JSON}")
_CODE_SHAPE = (
    'Answer {"code": "the whole module", "packages": ["what it imports beyond the standard library"]}.'
)
_TEST_SHAPE = (
    'Answer {"tests": [{"arguments": {"name of parameter": value}, "expected": value}, '
    '{"arguments": {…}, "raises": "ValueError"}]}.'
)


async def one_call(request: JudgedRequest, role_models: RoleModels, sandbox: Sandbox) -> Attempt:
    """The first module that the model writes, published if it can be imported."""
    coder = role_models.open(fresh=True).role("coder")
    written = await ask(coder, code_prompt(request), WrittenCode, temperature=TEMPERATURE, seed=1)
    return await _as_attempt(request, written.value, (), sandbox)


async def one_suite(request: JudgedRequest, role_models: RoleModels, sandbox: Sandbox) -> Attempt:
    """A module that passes one suite and the caller's own examples; its author is shown what fails, five times."""
    models = role_models.open(fresh=True)
    tester, coder = models.role("tester"), models.role("coder")
    suite = await ask(tester, test_prompt(request), Suite, temperature=TEMPERATURE, seed=1)
    tests = (*request.examples, *suite.value.tests)
    asked = code_prompt(request)
    for retry in range(RETRIES + 1):
        written = await ask(coder, asked, WrittenCode, temperature=TEMPERATURE, seed=1 + retry)
        attempt = await _as_attempt(request, written.value, tests, sandbox)
        if attempt.module is not None:
            break
        asked = [*code_prompt(request), *_what_failed(written.text, attempt.reason)]
    return attempt


def code_prompt(request: JudgedRequest) -> list[Message]:
    """Asks for the tool in one go."""
    types = "Annotate its parameters and its result, which are plain JSON values."
    return [
        _CODER,
        _user(f"Write the Python function {request.name}. {types}\n{_told(request)}{_CODE_SHAPE}"),
    ]


def test_prompt(request: JudgedRequest) -> list[Message]:
    """Asks for one suite, from the request alone."""
    wanted = "Write eight tests, edge cases and errors among them."
    return [
        _TESTER,
        _user(f"Test the Python function {request.name}. {wanted}\n{_told(request)}{_TEST_SHAPE}"),
    ]


def _what_failed(code: str, why: str) -> list[Message]:
    return [
        Message(role="assistant", content=code),
        _user(f"It failed:\n{why}\nMend it; it must be right for every input. {_CODE_SHAPE}"),
    ]


def _told(request: JudgedRequest) -> str:
    examples = "".join(f"{json.dumps(example.as_json())}\n" for example in request.examples)
    return f"<request>\n{request.text}\n</request>\n" + (f"Examples:\n{examples}" if examples else "")


async def _as_attempt(
    request: JudgedRequest, written: WrittenCode, tests: Sequence[Example], sandbox: Sandbox
) -> Attempt:
    """Published when it loads and every test holds."""
    try:
        module = await installed(written.code, request.name, written.packages, sandbox)
        unloaded = await why_not_loaded(module, sandbox)
        if unloaded:
            return Attempt(status="rejected", stage="static", reason=unloaded)
        failing = [each for each in await differences(module, tests, sandbox) if each]
    except (PackagesRejected, SandboxRefused) as refused:
        return Attempt(status="rejected", stage="environment", reason=refused.message)
    if failing:
        return Attempt(status="rejected", stage="examples", reason="\n".join(failing[:SHOWN_FAILURES]))
    return Attempt(status="created", module=module)


def _user(content: str) -> Message:
    return Message(role="user", content=content)
