"""What the runner tells of an exception's class, whatever that class says of itself."""

from __future__ import annotations

import json
import re
import sys
from types import ModuleType

import pytest

from alita_mcp.sandbox.runner.tool.failures import MAX_KIND, MAX_KINDS, head, kinds_of
from alita_mcp.sandbox.wire.reports import read_report
from tests.tables import each_case

PLAIN = ["builtins.Exception", "builtins.BaseException"]


def test_the_nearest_class_comes_first_and_each_has_its_module() -> None:
    assert kinds_of(json.JSONDecodeError) == ["json.decoder.JSONDecodeError", "builtins.ValueError", *PLAIN]
    assert kinds_of(OSError) == ["builtins.OSError", *PLAIN]
    assert "re.error" in kinds_of(re.error)


def tool(code: str, monkeypatch: pytest.MonkeyPatch) -> type[BaseException]:
    """The class of what a tool raises; its module is known as the worker knows it."""
    module = ModuleType("tool")
    monkeypatch.setitem(sys.modules, "tool", module)
    exec(code, module.__dict__)
    with pytest.raises(BaseException, check=lambda _: True) as caught:
        module.__dict__["f"]()
    assert head("error", caught.value)["error_kinds"] == kinds_of(caught.type)
    return caught.type


@each_case(
    "code, kinds",
    [
        (
            "class Late(KeyError): pass\ndef f(): raise Late",
            ["tool.Late", "builtins.KeyError", "builtins.LookupError"],
        ),
        ("class A:\n class Late(Exception): pass\ndef f(): raise A.Late", ["tool.A.Late"]),
        ("def f():\n class Late(Exception): pass\n raise Late", ["Late"]),
        ("class Late(Exception): pass\nOld = Late\ndef f(): raise Old", ["tool.Late", "tool.Old"]),
        ("Bad = TypeError\ndef f(): raise Bad", ["builtins.TypeError", "tool.Bad"]),
        ("from csv import Error\ndef f(): raise Error", ["_csv.Error", "tool.Error"]),
    ],
)
def test_a_class_of_the_tools_own_is_the_tools(
    code: str, kinds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kinds_of(tool(code, monkeypatch)) == [*kinds, *PLAIN]


LIES = {
    "a name": "class E(Exception): pass\nE.__name__ = 'ValueError'",
    "a module": "class ValueError(Exception): __module__ = 'builtins'",
    "a name with dots": "E = type('builtins.ValueError', (Exception,), {'__module__': 'x'})",
    "a metaclass that answers": "class M(type):\n __mro__ = __bases__ = (ValueError,)\n __name__ = 'ValueError'\n"
    " __module__ = 'builtins'\nclass E(Exception, metaclass=M): pass",
    "a metaclass that refuses": "class M(type):\n def __getattribute__(cls, name): raise SystemExit(name)\n"
    " def __eq__(cls, other): return True\n def __hash__(cls): return 1/0\n"
    "class E(Exception, metaclass=M): pass",
    "a metaclass that is a subclass of all": "class M(type):\n def __subclasscheck__(cls, other): return True\n"
    " def __instancecheck__(cls, other): return True\nclass E(Exception, metaclass=M): pass",
    "a text that is more than text": "class S(str):\n def __getitem__(self, key): return 'ValueError'\n"
    " def __str__(self): return 'builtins.ValueError'\n __format__ = lambda self, how: 'builtins.ValueError'\n"
    "E = type(S('E'), (Exception,), {'__module__': S('x'), '__qualname__': S('q')})",
    "a module that is no text": "class E(Exception): __module__ = 5",
    "a place among the builtins": "import sys\nclass ValueError(Exception): __module__ = 'builtins'\n"
    "sys.modules['builtins'].Mine = ValueError",
    "a module that is none": "import sys\nclass E(Exception): __module__ = 'fake'\n"
    "sys.modules['fake'] = type('X', (), {'__dict__': {'ValueError': E}})()",
    "names that are no texts": "import sys, types\nclass E(Exception): __module__ = 'odd'\n"
    "sys.modules['odd'] = types.ModuleType('odd')\nsys.modules['odd'].__dict__[5] = E",
}


@each_case("lie", LIES)
def test_no_class_passes_for_a_builtin_that_it_is_not(lie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("fake", "odd"):
        monkeypatch.setitem(sys.modules, module, ModuleType(module))
    code = LIES[lie]
    name = "E" if " E(" in code or "E =" in code else "ValueError"
    try:
        kinds = kinds_of(tool(f"{code}\ndef f(): raise {name}", monkeypatch))
    finally:
        vars(sys.modules["builtins"]).pop("Mine", None)
    assert kinds[1:] == PLAIN
    assert not kinds[0].startswith("builtins")
    assert type(kinds[0]) is str
    json.dumps(kinds)


def test_the_supervisor_cuts_what_a_process_says_of_its_error_and_refuses_what_is_no_list() -> None:
    said = {"status": "error", "error_kinds": ["x" * 9_000, 5, None, *["y"] * 100_000]}
    kinds = read_report(json.dumps(said).encode())["error_kinds"]
    assert kinds[:4] == ["x" * MAX_KIND, "5", "None", "y"]
    assert len(kinds) == MAX_KINDS
    for wrong in (7, {"a": 1}, None, True):
        with pytest.raises(ValueError, match="no report"):
            read_report(json.dumps({"status": "error", "error_kinds": wrong}).encode())
