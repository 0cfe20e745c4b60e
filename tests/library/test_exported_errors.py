"""The exported test file asks for errors as the judge does, under plain pytest."""

from __future__ import annotations

import re
import sys
from itertools import product
from pathlib import Path
from types import ModuleType

import pytest

from alita_mcp.library.versions.testfile import render_tests
from alita_mcp.sandbox.interface import RunResult
from alita_mcp.sandbox.runner.tool.failures import kinds_of
from alita_mcp.values import Example
from alita_mcp.verification.comparison import matches_error
from tests.library.test_export import run_pytest

CODE = '''import binascii
import csv
import json
import re
from queue import Empty
from xml.parsers.expat import ExpatError


class Late(ValueError):
    pass


class TimeoutError(Exception):
    pass


def local() -> type:
    class Late(Exception):
        pass

    return Late


def fail(how: str) -> int:
    """Fails in many ways."""
    if how == "json":
        return json.loads("{")
    if how == "re":
        return len(re.findall("(", how))
    if how == "hex":
        return len(binascii.unhexlify("0"))
    errors = {
        "key": KeyError, "late": Late, "csv": csv.Error, "own time-out": TimeoutError, "exit": SystemExit,
        "queue": Empty, "missing": FileNotFoundError, "local": local(), "any": Exception, "xml": ExpatError,
    }
    raise errors[how]
'''
WAYS = (
    "json", "re", "hex", "key", "late", "csv", "own time-out", "exit", "queue", "missing", "local", "any", "xml",
)  # fmt: skip
NAMES = (
    "ValueError", "Exception", "BaseException", "LookupError", "KeyError", "SystemExit", "OSError", "IOError",
    "TimeoutError", "tool.TimeoutError", "asyncio.TimeoutError", "Late", "tool.Late", "fail.Late", "json.Late",
    "JSONDecodeError", "json.JSONDecodeError", "json.decoder.JSONDecodeError", "re.error", "error", "csv.Error",
    "binascii.Error", "base64.binascii.Error", "Error", "queue.Empty", "tool.Empty", "Empty", "no_such.Empty",
    "builtins.KeyError",
)  # fmt: skip
EXAMPLES = tuple(Example(arguments={"how": how}, raises=name) for how, name in product(WAYS, NAMES))


def judged(example: Example, module: ModuleType) -> bool:
    with pytest.raises(BaseException, check=lambda _: True) as caught:
        module.__dict__["fail"](**example.arguments)
    kinds = tuple(kinds_of(caught.type))
    return matches_error(example.raises or "", RunResult(status="error", error_kinds=kinds))


@pytest.mark.process
def test_each_exported_test_passes_where_the_judge_is_content_and_fails_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tool.py").write_text(CODE)
    (tmp_path / "test_tool.py").write_text(render_tests("fail", CODE, EXAMPLES))
    module = ModuleType("tool")
    monkeypatch.setitem(sys.modules, "tool", module)
    exec(compile(CODE, "tool.py", "exec"), module.__dict__)
    content = {number for number, example in enumerate(EXAMPLES, 1) if judged(example, module)}
    tested = run_pytest(tmp_path, "--tb=no")
    failed = {
        int(number) for number in re.findall(r"^FAILED .*test_example_(\d+)_", tested.stdout, re.MULTILINE)
    }
    assert f"{len(failed)} failed, {len(EXAMPLES) - len(failed)} passed" in tested.stdout, tested.stdout[
        -2_000:
    ]
    differing = [EXAMPLES[number - 1] for number in content ^ ({*range(1, len(EXAMPLES) + 1)} - failed)]
    assert [(each.arguments["how"], each.raises) for each in differing] == []
    assert 40 < len(content) < 150


def test_a_builtin_is_asked_for_as_everybody_would_write_it() -> None:
    text = render_tests("fail", CODE, [Example(arguments={"how": "json"}, raises="ValueError")])
    assert "    with pytest.raises(ValueError):\n        call(**arguments)\n" in text
    assert "pkgutil" not in text
