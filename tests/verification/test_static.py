"""Static gate: what is refused without running a draft."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.values import Check, Draft, Grants
from alita_mcp.verification.static.static import lint_checks, static_gate
from alita_mcp.verification.static.wording import HIDDEN, text_checks
from tests.verification.drafts import SHOUT, draft

KEY = "abcdefghij" + "0123456789" * 4


async def failures(candidate: Draft) -> list[Check]:
    checks, _ = await static_gate(candidate)
    return [check for check in checks if not check.passed]


async def failure_of(code: str = "", **changes: object) -> Check:
    found = await failures(draft(code=code + SHOUT, **changes))
    assert found, "nothing was found"
    assert all(check.fix for check in found)
    return found[0]


async def test_a_good_draft_passes_with_its_contract() -> None:
    checks, contract = await static_gate(draft(use_when=("make text loud", "scream a word")))
    assert [check.passed for check in checks] == [True]
    assert contract is not None
    assert contract.function == "shout"


async def test_a_draft_without_a_contract_goes_no_further() -> None:
    checks, contract = await static_gate(draft(code="def other() -> int: return nowhere"))
    assert contract is None
    assert len(checks) == 1


async def test_all_failures_are_told_at_once() -> None:
    found = await failures(draft(code="import requests, scipy, bs4, lxml, yaml\n" + SHOUT))
    assert len(found) == 5
    assert "imports" in found[0].fix
    assert "and 1 more" in found[0].fix


@pytest.mark.parametrize(
    ("code", "packages", "message"),
    [
        ("import numpy\n", (), "line 1: the code imports numpy"),
        ("import os\nfrom yaml import load\n", (), "line 2: the code imports yaml"),
        ("import yaml, PIL.Image\n", ("pyyaml",), "imports PIL"),
        ("import numpy, scipy\n", ("numpy>=2",), "imports scipy"),
    ],
)
async def test_imports_must_be_declared(code: str, packages: tuple[str, ...], message: str) -> None:
    found = await failure_of(code, packages=packages)
    assert message in found.message
    assert found.stage == "static"


@pytest.mark.parametrize(
    ("code", "packages"),
    [
        ("import json, os.path\nfrom collections import abc\nimport alita_tool\n", ()),
        ("import yaml\nfrom PIL import Image\nimport bs4\n", ("PyYAML==6", "Pillow", "beautifulsoup4")),
        (
            "import cv2, sklearn.svm\nfrom dateutil import parser\n",
            ("opencv-python-headless", "scikit_learn", "python-dateutil"),
        ),
        ("import some_module\n", ("a-distribution-of-another-name",)),
        ("from __future__ import annotations\nfrom typing import TYPE_CHECKING\n", ()),
    ],
)
async def test_declared_imports_pass(code: str, packages: tuple[str, ...]) -> None:
    assert [
        check
        for check in await failures(draft(code=code + SHOUT, packages=packages))
        if "imports" in check.message
    ] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "package",
    [
        "",
        "--index-url=x",
        "-r requirements.txt",
        "../local",
        "numpy @ https://host.invalid/numpy.whl",
        "numpy==1; python_version>'3'",
        "numpy\nrequests",
        "git+https://host.invalid/x",
        "./x",
        "\ud800",
    ],
)
async def test_packages_are_plain_requirements(package: str) -> None:
    found = await failure_of(packages=(package,))
    assert found.stage == "environment"
    assert "name>=1.2" in found.fix


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("-----BEGIN RSA PRIVATE KEY-----", "a private key"),
        ("AKIA" + "ABCDEFGHIJKLMNOP", "an AWS access key"),
        ("ghp_" + "a1" * 18, "a GitHub token"),
        ("xoxb-" + "123456789012-abc", "a Slack token"),
        ("sk-" + "proj-abcdefghij0123456789", "a model provider's key"),
        ("https://" + "user:hunter22@host.invalid/", "a password in an address"),
    ],
)
async def test_keys_of_known_shape_are_refused(code: str, what: str) -> None:
    found = await failure_of(f"_X = 1\n_Y = '{code}'\n")
    assert found.message == f"line 2: the code holds {what}"
    assert code not in found.message + found.fix


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        f"API_KEY = '{KEY}'\n",
        f"_c = {{'password': '{KEY}'}}\n",
        f"_c = dict(auth_token='{KEY}')\n",
        f"SECRET: str = '{KEY}'\n",
        f"def _f(x, *, client_secret='{KEY}'): pass\n",
        f"def _f(x, token='{KEY}'): pass\n",
        f"class _A:\n    token = '{KEY}'\n",
        f"_d = {{}}\n_d['token'] = '{KEY}'\n",
    ],
)
async def test_random_strings_named_like_secrets_are_refused(code: str) -> None:
    found = await failure_of(code)
    assert "looks like a secret" in found.message
    assert KEY not in found.message + found.fix


@pytest.mark.measured
@pytest.mark.parametrize(
    "code",
    [
        "def _f(): return nowhere\n",
        "def _f():\n    print(x)\n    x = 1\n",
        "return 5\n",
        "def _f():\n    break\n",
        "X = await 1\n",
        "def _f(): return nowhere  # noqa\n",
        "# flake8: noqa\ndef _f(): return nowhere\n",
        "def _f(x, x):\n    pass\n",
    ],
)
async def test_the_linters_errors_are_refused(code: str) -> None:
    found = await failure_of(code)
    assert found.stage == "static"
    assert "line" in found.message


async def test_without_a_working_linter_the_trust_is_lowered_and_the_report_says_so() -> None:
    for code in (SHOUT, SHOUT + "# more than a pipe holds" * 100_000):
        (check,) = await lint_checks(code, Path("/nowhere/lint_program.py"))
        assert not check.passed
        assert not check.hard
        assert "pyflakes could not read the code" in check.message


async def test_code_too_deep_for_the_linter_lowers_the_trust_and_leaves_the_server_alone() -> None:
    (check,) = await lint_checks("_x = " + "+".join(["1"] * 5_000) + "\n")
    assert (check.passed, check.hard) == (False, False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("description", "message"),
    [
        ("", "the description is empty"),
        ("x" * 1_001, "1,001 characters"),
        ("Shouts.\u200b", "hidden character U+200B"),
        ("Shouts \u202etuo", "U+202E"),
        ("Shouts, see https://evil.invalid/x?y=1", "no grant for"),
        ("Shouts to HTTP://u:p@evil.invalid:80", "no grant for"),
        ("Shouts, see www.evil.invalid", "no grant for"),
        ("Reads file:///etc/passwd", "no grant for"),
    ],
)
async def test_a_description_describes_and_does_nothing_else(description: str, message: str) -> None:
    found = await failure_of(description=description)
    assert message in found.message


async def test_addresses_of_granted_hosts_pass() -> None:
    grants = Grants(network=("api.example.org", "*.example.com"))
    words = "From https://api.example.org/v1 and https://eu.Example.com."
    assert await failures(draft(description=words, grants=grants)) == []
    assert len(await failures(draft(description=words + " http://example.com", grants=grants))) == 1


@pytest.mark.parametrize(
    "code",
    [
        'def shout(text: str) -> str:\n    """S.\n\n    Args:\n        text: www.x.invalid.\n    """\n    return ""',
        'def shout(text: str) -> str:\n    """See www.x.invalid."""\n    return text',
        'def shout(text: str = "www.x.invalid") -> str:\n    return text',
        'from typing import Literal\ndef shout(text: Literal["a", "www.x.invalid"]) -> str:\n    return text',
        'from typing import Annotated\ndef shout(text: list[Annotated[str, "www.x.invalid"]]) -> str: ...',
        'import typing as t\nclass P(t.TypedDict):\n    a: t.Annotated[str, "www.x.invalid"]\ndef shout() -> P: ...',
    ],
)
async def test_every_word_that_a_model_reads_is_checked(code: str) -> None:
    found = await failures(draft(code=code))
    assert any("no grant for" in check.message for check in found)


async def test_requests_are_few_short_and_clean() -> None:
    assert "21 requests" in (await failure_of(use_when=("shout",) * 21)).message
    assert "use_when[1] has 201" in (await failure_of(use_when=("shout", "x" * 201))).message
    assert "use_when[0] holds an address" in (await failure_of(use_when=("www.evil.invalid",))).message


RUN_TEXT = [
    "def _f(t):\n    return eval(t)\n",
    "def _f(t):\n    exec(t, {})\n",
    "def _f(t):\n    run = eval\n    return run(t)\n",
    "def _f(t):\n    return compile(t, 'x', 'eval')\n",
    "def _f(t):\n    return __import__(t)\n",
    "import importlib\n\ndef _f(t):\n    return importlib.import_module(t)\n",
    "from importlib import import_module as _get\n\ndef _f(t):\n    return _get(t)\n",
    "import builtins as b\n\ndef _f(t):\n    return getattr(b, 'ev' + 'al')(t)\n",
    "import json\n\ndef _f(t):\n    return getattr(json, '__built' + 'ins__')['ev' + 'al'](t)\n",
    "import json\n\ndef _f(t):\n    return getattr(json, ''.join(['__built', 'ins__']))[t]\n",
    "import sys\n\ndef _f(t):\n    return sys.modules['built' + 'ins'].eval(t)\n",
    "def _f(t):\n    return globals()['__built' + 'ins__']\n",
    "def _f(t):\n    return _f.__globals__[t]\n",
    "def _f(t):\n    return ().__class__.__base__.__subclasses__()\n",
    "import pickle\n\ndef _f(t):\n    return pickle.loads(t)\n",
    "import timeit\n\ndef _f(t):\n    return timeit.timeit(t)\n",
    "from types import FunctionType\n\ndef _f(t):\n    return FunctionType(t, {})\n",
]


@pytest.mark.slow
@pytest.mark.parametrize("code", RUN_TEXT)
async def test_code_that_runs_text_or_imports_by_name_is_at_most_provisional(code: str) -> None:
    checks, contract = await static_gate(draft(code=code + SHOUT))
    assert contract is not None
    soft = [check for check in checks if not check.passed]
    assert [(check.stage, check.hard) for check in soft] == [("static", False)]
    assert "runs text" in soft[0].message


@pytest.mark.parametrize(
    "code",
    [
        "import re\n_WORD = re.compile(r'\\w+')\n",
        "import ast\n\ndef _f(t):\n    return ast.literal_eval(t)\n",
        "import math\n\ndef _f(name, x):\n    return getattr(math, name)(x)\n",
        "from importlib.metadata import version\n\ndef _f():\n    return version('x')\n",
        "_WORDS = {'eval': 1, 'exec': 2, 'compile': 3}\n",
        "def _f(model):\n    model.eval()\n    return model.compile()\n",
    ],
)
async def test_what_only_looks_like_running_text_is_no_matter(code: str) -> None:
    assert await failures(draft(code=code + SHOUT)) == []


DATA = Path(__file__).parents[1] / "data"


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("row", rows(DATA / "honest_descriptions.jsonl"), ids=lambda row: row["text"][:30])
def test_honest_descriptions_of_many_languages_pass(row: dict[str, str]) -> None:
    assert text_checks("the description", row["text"], 1_000, Grants()) == []


@pytest.mark.parametrize(
    "text",
    [
        "plain\u200dtext",
        "\u200d\U0001f469",
        "\U0001f469\u200d",
        "\u0645\u200c\u200c\u06cc",
        "a\ufe0f",
        "1\ufe0f",
        "\U0001f3f4" + "".join(chr(0xE0000 + ord(each)) for each in "ignore all") + "\U000e007f",
        "\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    ],
)
def test_joiners_selectors_and_tags_are_refused_where_no_writing_needs_them(text: str) -> None:
    assert HIDDEN.search(text)


CODE = """\
{imports}


def probe(name: str) -> str:
    \"\"\"Does what it says.

    Args:
        name: A name.
    \"\"\"
    {body}
"""


async def found(body: str, grants: Grants, imports: str) -> list[Check]:
    code = CODE.format(imports=imports, body=body)
    checks, _ = await static_gate(draft(name="probe", code=code, grants=grants))
    return [check for check in checks if check.hard and not check.passed]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "needs"),
    [
        ("return str(alita_tool.write_text(name, name))", '{"workspace": "write"}'),
        ("return alita_tool.read_text(name)", '{"workspace": "read"}'),
        ("return ''.join(alita_tool.list_files())", '{"workspace": "read"}'),
        ("return str(alita_tool.write_bytes(name, b'x'))", '{"workspace": "write"}'),
        ("return alita_tool.complete(name)", '{"model": true}'),
        ("return alita_tool.call_tool('csv_query', text=name)", '{"tools": ["csv_query"]}'),
        ("return alita_tool.call_tool(name)", '{"tools": ["NAME"]}'),
        ("return alita_tool.secret('API_KEY')", '{"secrets": ["API_KEY"]}'),
        (
            "return alita_tool.complete(alita_tool.secret('B') + alita_tool.secret('A') + alita_tool.read_text('x'))",
            '{"workspace": "read", "model": true, "secrets": ["A", "B"]}',
        ),
    ],
)
async def test_all_that_is_missing_is_named_at_once(body: str, needs: str) -> None:
    checks = await found(body, Grants(), "import alita_tool")
    assert [check.stage for check in checks] == ["policy"]
    assert f'Add "needs": {needs};' in checks[0].fix


@pytest.mark.slow
@pytest.mark.parametrize(
    ("imports", "body"),
    [
        ("import alita_tool as host", "return host.secret('KEY')"),
        ("from alita_tool import secret", "return secret('KEY')"),
        ("from alita_tool import secret as told", "return told('KEY')"),
        ("", "import alita_tool; return alita_tool.secret('KEY')"),
        ("", "from alita_tool import secret; return secret('KEY')"),
    ],
)
async def test_however_it_is_imported(imports: str, body: str) -> None:
    (check,) = await found(body, Grants(), imports)
    assert '"secrets": ["KEY"]' in check.fix


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "grants"),
    [
        ("return alita_tool.read_text(name)", Grants(workspace="write")),
        ("return alita_tool.call_tool(name)", Grants(tools=("csv_query",))),
        ("return alita_tool.secret(name)", Grants(secrets=("A",))),
        ("return alita_tool.complete(name)", Grants(model=True)),
        ("return alita_tool.__name__", Grants()),
        ("secret = 'alita_tool.secret'; return secret.replace('s', name)", Grants()),
    ],
)
async def test_what_is_asked_for_or_not_used_is_nothing_to_tell(body: str, grants: Grants) -> None:
    assert await found(body, grants, "import alita_tool") == []


@pytest.mark.parametrize("strange", ["read_file(name)", "workspace / name"])
async def test_a_function_that_is_not_there_is_told_those_that_are(strange: str) -> None:
    (check,) = await found(f"return alita_tool.{strange}", Grants(workspace="read"), "import alita_tool")
    assert repr(strange.split("(", maxsplit=1)[0].split(" ", maxsplit=1)[0]) in check.message
    assert "read_text(path)" in check.fix
