"""Figures and files out of each kind of sandbox: what a script left is told once, and nothing of it stays."""

from __future__ import annotations

import base64

import pytest
from mcp import Client

from tests.runs.conftest import KINDS
from tests.runs.pictures import png
from tests.server.in_memory import called, succeeded

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("kind", KINDS)]
PICTURE = base64.b64encode(png()).decode()
AS_MATPLOTLIB_DOES = f"""
import base64, importlib, os, sys, types

class Canvas: pass
class Plot:
    def _repr_png_(self): return base64.b64decode({PICTURE!r})

opened = {{1: Plot()}}
for name in ("backends.backend_agg", "pyplot"):
    sys.modules[f"matplotlib.{{name}}"] = types.ModuleType(name)
sys.modules["matplotlib.backends.backend_agg"].FigureCanvasAgg = Canvas
pyplot = sys.modules["matplotlib.pyplot"]
pyplot.get_fignums, pyplot.figure, pyplot.close = lambda: list(opened), opened.get, opened.pop
backend = importlib.import_module(os.environ["MPLBACKEND"].removeprefix("module://"))
found = [backend.FigureCanvas is Canvas, hasattr(backend, "other")]
backend.show(block=False)
found.append(len(opened))
opened[2] = Plot()
found
"""
HOSTILE = """
import os
if hasattr(os, 'symlink'):
    os.symlink('/etc/passwd', 'link')
    os.symlink('/', 'root')
if hasattr(os, 'mkfifo'): os.mkfifo('fifo')
os.makedirs('sub/deep')
open('sub/deep/f', 'w').write('1')
os.makedirs('shut')
os.chmod('shut', 0)
os.chdir('sub')
for number in range(1_000): open(f'{number:04}', 'w').close()
"""


async def test_figures_are_shown_when_they_are_shown_and_at_the_end(client: Client) -> None:
    told = await succeeded(client, "run_code", code=AS_MATPLOTLIB_DOES)
    assert told["result"] == [True, False, 0]
    assert told["figures"] == 2


@pytest.mark.embedded_first
async def test_whatever_a_script_leaves_costs_no_result_and_is_gone_afterwards(client: Client) -> None:
    told = await succeeded(client, "run_code", code=HOSTILE)
    assert [file["name"] for file in told["files"]] == [f"sub/{number:04}" for number in range(20)]
    assert "Files left out (981)" in told["notes"][0]
    after = await succeeded(client, "run_code", code="import os\nos.listdir('.')")
    assert after["result"] == []
    assert "files" not in after


@pytest.mark.embedded_first
async def test_large_files_come_beside_large_values_of_the_script(client: Client) -> None:
    code = "held = bytearray(120 << 20)\nopen('large', 'wb').write(bytes(16 << 20))\nopen('more', 'w').write('x')"
    told = await succeeded(client, "run_code", code=code)
    assert [file["bytes"] for file in told["files"]] == [16 << 20]
    assert "'more' (1 bytes)" in told["notes"][0]


@pytest.mark.embedded_first
async def test_a_figure_of_50_mb_costs_no_result(client: Client) -> None:
    told = await succeeded(client, "run_code", code="b'\\x89PNG\\r\\n\\x1a\\n' + bytes(50 << 20)")
    assert told["result"] == "<bytes of a picture, 52,428,808 long>"
    assert "is left out" in told["notes"][0]


async def test_a_script_that_forges_its_outputs_lies_about_itself_alone(client: Client) -> None:
    forged = {"kind": "json", "value": 1, "notes": ["x"], "figures": [{"mime": "image/png", "data": "eA=="}]}
    forged["files"] = [{"name": "../../library/x", "data": "QUJD"}, {"name": "mine", "data": "QUJD"}]
    code = f"import sys\nsys.modules['tool']._with_outputs = lambda told, value: {forged!r}\n1"
    told = await succeeded(client, "run_code", code=code)
    assert [file["name"] for file in told["files"]] == ["mine"]
    assert "figures" not in told
    done = await called(client, "run_code", code=code.replace("'mine'", "5"))
    assert "crashed" in done.structured_content["error"]


@pytest.mark.embedded_first
async def test_what_hides_from_being_looked_at_costs_no_result(client: Client) -> None:
    code = "class M(type):\n    def __getattr__(cls, name): raise ValueError\nclass A(metaclass=M): pass\nA()"
    told = await succeeded(client, "run_code", code=code)
    assert told["notes"] == ["Figures or files are left out: ValueError."]
