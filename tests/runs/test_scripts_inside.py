"""Scripts as models write them, in each kind of sandbox and both protocol eras: what they rely on is there, and what
is cut, too large or missing is said with what to do."""

from __future__ import annotations

import json
from typing import Any

import mcp_types as types
import pytest
from mcp import Client

from tests.runs.conftest import KINDS
from tests.server.in_memory import ERAS, called, succeeded, text_of

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("kind", KINDS)]
GLYPHS = """
import sys, warnings
sys.stderr.write("Fontconfig error: Cannot load default config file: No such file: (null)\\n")
warnings.warn("Glyph 38144 (\\\\N{CJK UNIFIED IDEOGRAPH-9500}) missing from font(s) DejaVu Sans.")
print("mine", file=sys.stderr)
"""
TESTS = """
import unittest
class Sums(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(1 + 1, 2)
unittest.main(exit=False).result.testsRun
"""
PATH = """
from pathlib import Path
(Path(__file__).resolve().parent / 'out').write_text('hi')
[Path('out').read_text(), 'read_text' in Path(__file__).read_text()]
"""
SOURCE = """
import inspect
class A:
    x = 1
def f(a):
    return a
[inspect.getsource(f), inspect.getsource(A)]
"""
ARGUMENTS = """
import argparse, sys
parser = argparse.ArgumentParser()
parser.add_argument('--n', type=int, default=3)
[parser.parse_args().n, parser.prog, sys.argv]
"""
TEMPORARY = """
import os, tempfile
with tempfile.NamedTemporaryFile('w', suffix='.csv') as closed:
    closed.write('a,b')
opened, folder = tempfile.NamedTemporaryFile(), tempfile.TemporaryDirectory()
open(f'{folder.name}/x', 'w').close()
os.path.exists(closed.name)
"""
SCRIPTS: dict[str, tuple[str, Any]] = {
    "a fence": ("```python\n6 * 7\n```", 42),
    "a fence with more in its first line, and words behind it": ("\n~~~py3 a=b\n6 * 7\n~~~\nIt is 42.", 42),
    "its own path": (PATH, ["hi", True]),
    "its own source": (SOURCE, ["def f(a):\n    return a\n", "class A:\n    x = 1\n"]),
    "arguments of the command line": (ARGUMENTS, [3, "script.py", ["script.py"]]),
    "its own tests": (TESTS, 1),
    "temporary files": (TEMPORARY, False),
}
MISSING = {
    "import yaml": 'send packages: ["pyyaml"]',
    "from PIL import Image": 'send packages: ["pillow"]',
    "import sklearn.linear_model": 'send packages: ["scikit-learn"]',
    "import matplotlib.pyplot as plt": 'send packages: ["matplotlib"]',
    "try:\n    import cv2\nexcept ImportError as e:\n    print(e)": 'send packages: ["opencv-python"]',
    "import http.client\nhttp.client.HTTPConnection('data.example').connect()": 'needs: {"network": ["data.example"]}',
    "import no_such_module_at_all": "name the package that has it in `packages`",
    "import urllib.request\nurllib.request.urlopen('http://data.example/x')": 'needs: {"network": ["data.example"]}',
}


async def whole(client: Client, **arguments: Any) -> Any:
    """The whole structured answer of a run, read in parts where it is too large to be sent at once."""
    done = await called(client, "run_code", **arguments)
    if done.structured_content is not None:
        return done.structured_content
    (link,) = [block for block in done.content if isinstance(block, types.ResourceLink)]
    document = b""
    while len(document) < link.size:
        *_, part = (await client.read_resource(f"{link.uri}?offset={len(document)}")).contents
        document += part.text.encode()
    return json.loads(document)


@pytest.mark.parametrize("era", ERAS)
async def test_what_scripts_rely_on_is_there(client: Client) -> None:
    for what, (code, result) in SCRIPTS.items():
        told = await succeeded(client, "run_code", code=code)
        assert told["result"] == result, what
        assert "out" in str(told.get("files", "")) if what == "its own path" else "files" not in told, what


@pytest.mark.parametrize("era", ERAS)
async def test_what_is_missing_is_named_with_what_to_send(client: Client) -> None:
    for code, advice in MISSING.items():
        done = await called(client, "run_code", code=code)
        assert advice in " ".join(done.structured_content["notes"]), code
        assert advice in text_of(done)


async def test_steps_of_a_session_keep_their_own_source_and_say_what_was_cut(client: Client) -> None:
    await succeeded(client, "run_code", code="def f():\n    return 1\n", session="s")
    later = "import inspect\nprint('x' * 70_000)\ninspect.getsource(f)"
    told = await whole(client, code=later, session="s")
    assert told["result"] == "def f():\n    return 1\n"
    assert told["stdout"] == "x" * 65_536 + "… (4,465 more bytes)"


@pytest.mark.parametrize("era", ERAS)
async def test_printed_text_of_64_kb_comes_whole_and_more_says_how_much_is_missing(client: Client) -> None:
    told = await whole(client, code="print('é' * 32_767)")
    assert told["stdout"] == "é" * 32_767 + "\n"
    code = "import sys\nprint('x' * 100_000)\nprint('y' * 65_536, end='', file=sys.stderr)"
    told = await whole(client, code=code)
    assert told["stdout"] == "x" * 65_536 + "… (34,465 more bytes)"
    assert told["stderr"] == "y" * 65_536


@pytest.mark.parametrize("era", ERAS)
async def test_a_result_that_is_too_large_is_called_so_and_is_a_file_of_the_run(client: Client) -> None:
    for code, name, size in (
        ("list(range(300_000))", "result.json", 2_288_890),
        ("open('result.txt', 'w').write('mine')\n'é' * 1_000_000", "_result.txt", 2_000_000),
        ("{1: 'x' * 30_000}", "result.txt", 30_007),
        ("bytes(2_000_000)", "result.bin", 2_000_000),
    ):
        done = await called(client, "run_code", code=code)
        told = done.structured_content
        assert told["result_is"] == "cut"
        assert len(told["result"]) < 3_000
        assert f"The result is too large for the answer: it is the file {name}" in told["notes"][0]
        assert "not JSON" not in text_of(done)
        (file,) = [file for file in told["files"] if file["name"] == name]
        assert file["bytes"] == size
        assert (await client.read_resource(file["uri"])).contents
    told = await succeeded(client, "run_code", code="'x' * (17 << 20)")
    assert "files" not in told
    assert "too large to be kept: 17,825,792 bytes" in told["notes"][0]


async def test_characters_that_a_font_lacks_give_one_line_of_advice(client: Client) -> None:
    told = await succeeded(client, "run_code", code=GLYPHS)
    assert told["stderr"] == "mine\n"
    (note,) = told["notes"]
    assert note.startswith("Figures show 销 as boxes: their font lacks 1 character. For Chinese, ")
