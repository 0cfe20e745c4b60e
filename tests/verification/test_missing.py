"""What a draft needs and the sandbox lacks is said before it runs: everything at once, and what to write instead."""

from __future__ import annotations

import ast

import pytest

from alita_mcp.sandbox.abilities import Abilities, Missing
from alita_mcp.sandbox.interface import RunResult
from alita_mcp.sandbox.wasm import abilities as embedded
from alita_mcp.values import Check
from alita_mcp.verification.static.imports import missing_checks
from alita_mcp.verification.static.static import static_gate
from tests.scripted_sandbox import ScriptedSandbox
from tests.verification.drafts import SHOUT, draft

LACKING = Abilities(
    offers=("The code runs somewhere.",),
    lacks=(
        Missing(feature="TLS", names=("ssl",), instead="use http through the proxy"),
        Missing(feature="threads", names=("threading.Thread", "os.fork"), instead="use a plain loop"),
        Missing(feature="compression", names=("bz2", "lzma"), instead="use zlib"),
    ),
    elsewhere="Install Docker.",
)
EMBEDDED = embedded.abilities()


def missing(code: str, abilities: Abilities = LACKING) -> Check | None:
    found = missing_checks(ast.parse(code + SHOUT), abilities)
    assert len(found) < 2
    return found[0] if found else None


def test_every_feature_is_named_at_once_each_with_what_to_write_instead() -> None:
    check = missing(
        "import bz2\nimport os\nimport ssl as tls\nfrom threading import Thread\n_run = os.fork\n"
    )
    assert check is not None
    assert (check.stage, check.hard, check.passed) == ("environment", True, False)
    for named in ("ssl (line 3)", "os.fork, threading.Thread (line 4)", "bz2 (line 1)"):
        assert named in check.message
    for advice in (
        "ssl: use http through the proxy",
        "os.fork, threading.Thread: use a plain loop",
        "bz2: use zlib",
    ):
        assert advice in check.fix
    assert check.fix.endswith("Install Docker. The code runs somewhere.")


@pytest.mark.parametrize(
    "code",
    [
        "import zlib\n",
        "import threading\n_LOCK = threading.Lock()\n",
        "import ssl_tools\n",
        "try:\n    import lzma\nexcept ImportError:\n    lzma = None\n_open = lzma and lzma.open\n",
        "try:\n    import lzma\nexcept (ValueError, ModuleNotFoundError):\n    lzma = None\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import ssl\n",
        "def _f(ssl: str) -> str:\n    return ssl.upper()\n",
        "_TEXT = 'import ssl'\n",
        f"import a{'.a' * 6_000}\n",
    ],
)
def test_what_the_code_does_without_is_not_missing(code: str) -> None:
    assert missing(code) is None


@pytest.mark.parametrize(
    ("code", "named"),
    [
        ("import bz2\n", "bz2 (line 1)"),
        ("def _f():\n    from lzma import open\n", "lzma (line 2)"),
    ],
)
def test_the_embedded_sandbox_tells_what_it_lacks_from_the_code(code: str, named: str) -> None:
    check = missing(code, EMBEDDED)
    assert check is not None
    assert named in check.message
    assert "zlib" in check.fix
    assert "Docker" in check.fix


@pytest.mark.parametrize(
    "code",
    [
        "class _Wrong(Exception):\n    pass\nclass _Odd(metaclass=type):\n    pass\n",
        "def _all():\n    yield 1\n_X = {1: 2}\ndel _X[1]\n",
        "def _f():\n    try:\n        pass\n    except* ValueError:\n        pass\n",
        "import heapq\nimport urllib.parse\nfrom fractions import Fraction\n",
        "from __future__ import annotations\n",
    ],
)
def test_what_the_embedded_sandbox_has_passes(code: str) -> None:
    assert missing(code, EMBEDDED) is None


def boxed(abilities: Abilities) -> ScriptedSandbox:
    return ScriptedSandbox(lambda _job: RunResult(status="ok"), abilities=abilities)


async def test_the_static_gate_says_it_beside_what_else_is_wrong() -> None:
    box = boxed(LACKING)
    checks, contract = await static_gate(draft(code="import ssl\nclass Other:\n    pass\n" + SHOUT), box)
    assert contract is None
    assert "class Other is public" in checks[0].message
    assert "ssl (line 1)" in checks[0].fix
    checks, _ = await static_gate(draft(code="import ssl\nimport nowhere\n" + SHOUT), box)
    assert "nowhere" in checks[0].message
    assert "ssl (line 1)" in checks[0].fix
    assert box.jobs == []
