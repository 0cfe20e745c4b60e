"""What a run of code gives back beside its result: pictures, files, kept results and a second run."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from alita_mcp.settings import FixedLimits
from tests.runs.pictures import png
from tests.server.in_memory import Build, called, connected, succeeded, text_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("embedded")]
PICTURE = base64.b64encode(png()).decode()
SHOWN = f"import base64\nbase64.b64decode({PICTURE!r})"


def of_kind(done: types.CallToolResult, kind: type) -> list[types.ContentBlock]:
    return [block for block in done.content if isinstance(block, kind)]


async def read(client: Client, uri: str) -> types.TextResourceContents | types.BlobResourceContents:
    return (await client.read_resource(uri)).contents[0]


@pytest.mark.both_eras
async def test_a_picture_is_seen_as_a_picture_and_files_are_read_as_resources(client: Client) -> None:
    code = f"open('a b.csv', 'w').write('1,2')\nopen('noise', 'wb').write(b'\\xff\\x00')\n{SHOWN}"
    done = await called(client, "run_code", code=code)

    (picture,) = of_kind(done, types.ImageContent)
    assert (picture.mime_type, picture.data) == ("image/png", PICTURE)
    told = done.structured_content
    assert (told["figures"], told["result_is"]) == (1, "repr")
    table, noise = told["files"]
    assert table == {
        "name": "a b.csv",
        "uri": f"alita://runs/{told['run']}/a%20b.csv",
        "bytes": 3,
        "mime": "text/csv",
    }
    assert [link.uri for link in of_kind(done, types.ResourceLink)] == [table["uri"], noise["uri"]]
    assert table["uri"] in text_of(done)
    assert (await read(client, table["uri"])).text == "1,2"
    assert base64.b64decode((await read(client, noise["uri"])).blob) == b"\xff\x00"
    assert base64.b64decode((await read(client, f"{noise['uri']}?offset=1")).blob) == b"\x00"


async def test_svg_is_a_file_since_a_picture_of_it_breaks_conversations(client: Client) -> None:
    svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
    done = await called(client, "run_code", code=f"display({svg!r})")

    assert of_kind(done, types.ImageContent) == []
    (file,) = done.structured_content["files"]
    assert (file["name"], file["mime"]) == ("figure-1.svg", "image/svg+xml")
    assert (await read(client, file["uri"])).text == svg


async def test_no_uri_reaches_anything_but_a_file_of_its_run(client: Client, home: Path) -> None:
    (home / "secret").write_text("secret")
    told = await succeeded(client, "run_code", code="open('f', 'w').write('1')")
    run = told["run"]
    for wrong in (
        f"alita://runs/{run}/../../secret",
        f"alita://runs/{run}/..%2F..%2Fsecret",
        f"alita://runs/{run}/%2e%2e/secret",
        f"alita://runs/{run}/../..",
        f"alita://runs/{run}/",
        f"alita://runs/{run}//f",
        f"alita://runs/{run}/f%00",
        f"alita://runs/{run}/%ff",
        f"alita://runs/{'0' * 32}/f",
        f"alita://runs/../{run}/f",
        f"alita://runs/{run}/f?offset=9",
        f"alita://runs/{run}/f?offset=x",
    ):
        with pytest.raises(MCPError):
            await client.read_resource(wrong)
    assert (await read(client, f"alita://runs/{run}/f")).text == "1"


async def test_links_special_files_and_caches_are_no_files_of_a_run(client: Client) -> None:
    code = (
        "import os\nif hasattr(os, 'symlink'):\n    os.symlink('/etc/passwd', 'link')\n"
        "open('.hidden', 'w')\nos.makedirs('__pycache__')\n"
        "open('__pycache__/x', 'w')\nopen('line\\nbreak', 'w')\nopen(b'\\xff', 'w')\nos.makedirs('sub')\n"
        f"open('sub/{'ab' * 16}', 'w').write('mine')"
    )
    told = await succeeded(client, "run_code", code=code)
    assert [file["name"] for file in told["files"]] == [f"sub/{'ab' * 16}"]
    assert "'line\\nbreak'" in told["notes"][0]
    assert "\\udcff" in told["notes"][0]


async def test_a_large_text_file_is_read_in_parts(build: Build) -> None:
    async with connected(
        build(settings={"limits": FixedLimits(result_characters=2_000)}), "modern"
    ) as client:
        told = await succeeded(client, "run_code", code="open('f', 'w').write('é' * 3_000)\nNone")
        uri = told["files"][0]["uri"]
        note, part = (await client.read_resource(uri)).contents
        assert "of 6000; it goes on at" in note.text
        assert part.text == "é" * len(part.text)
        rest = (await client.read_resource(f"{uri}?offset=5990")).contents[1]
        assert rest.text == "é" * 5


async def test_a_large_result_is_cut_with_a_link_to_the_whole_and_its_picture_stays(client: Client) -> None:
    code = f"import base64\nopen('f', 'w').write('1')\ndisplay(base64.b64decode({PICTURE!r}))\n'x' * 300_000"
    done = await called(client, "run_code", code=code)

    assert not done.is_error
    assert done.structured_content is None
    assert len(of_kind(done, types.ImageContent)) == 1
    whole, file = of_kind(done, types.ResourceLink)
    assert (await read(client, file.uri)).text == "1"
    assert '{"status": "ok", "run": "' in text_of(done)
    document = ""
    while len(document) < whole.size:
        *_, part = (await client.read_resource(f"{whole.uri}?offset={len(document)}")).contents
        document += part.text
    assert json.loads(document)["result"] == "x" * 300_000
