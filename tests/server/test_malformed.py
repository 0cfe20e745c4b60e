"""What is no JSON-RPC message is answered, over stdio and HTTP and in both eras, and the server goes on."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from alita_mcp.settings import Settings
from tests.server.processes import META, TINY, environment, started
from tests.server.test_http import HEADERS, POST, listening

LINES: list[tuple[bytes, Any, int]] = [
    (b"{", None, -32700),
    (b"[]", None, -32700),
    (b"\xff\xfe\x00", None, -32700),
    (b"nul\x00l", None, -32700),
    (b'"' + b"x" * 100_000, None, -32700),
    (b"[" * 100_000, None, -32700),
    (b'{"jsonrpc":"2.0"}', None, -32700),
    (b'[{"jsonrpc":"2.0","id":9,"method":"tools/list"}]', None, -32700),
    (b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}', None, -32700),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}', None, -32700),
    (b'{"jsonrpc":"2.0","id":true,"method":7}', None, -32700),
    (b'{"jsonrpc":"2.0","id":"\\ud800","method":7}', None, -32700),
    (b'{"jsonrpc":"2.0","id":4,"result":"of a request of ours"}', None, -32700),
    (b'{"jsonrpc":"2.0","id":7,"method":"tools/list","params":[]}', 7, -32600),
    (b'{"jsonrpc":"1.0","id":"seven","method":"tools/list"}', "seven", -32600),
    (b'{"jsonrpc":"2.0","id":8,"method":7,"params":{"text":"\\udc00 \\u0000 \\ud83d"}}', 8, -32700),
    (b'{"jsonrpc":"2.0","id":8,"method":7,"params":{"text":"\xff\t"}}', 8, -32700),
]


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX pipes")
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_every_line_of_stdin_is_answered(tmp_path: Path, era: str) -> None:
    async with started((sys.executable, str(TINY), "stdio"), environment(), tmp_path) as peer:
        params = {"_meta": META} if era == "modern" else None
        for _ in range(2):  # before the first request, and behind one
            for line, number, code in LINES:
                await peer.write(line + b"\n \r\n")
                answer = await peer.message()
                assert (answer["id"], answer["error"]["code"]) == (number, code), line[:80]
            if era == "legacy":
                await peer.initialize()
            assert "result" in await peer.request("tools/list", params)


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_every_body_is_answered(settings: Settings, era: str) -> None:
    async with listening(settings) as url, httpx.AsyncClient(headers=HEADERS) as client:
        if era == "legacy":
            opened = await client.post(url, json=POST)
            client.headers["mcp-session-id"] = opened.headers["mcp-session-id"]
        else:
            client.headers.update({"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list"})
        for line, number, code in LINES:
            answer = await client.post(url, content=line)
            told = answer.json()
            assert (answer.status_code, told["id"], told["error"]["code"]) == (400, number, code), line[:80]
        after = {"jsonrpc": "2.0", "id": 9, "method": "tools/list", "params": {"_meta": META}}
        answer = await client.post(url, json=after if era == "modern" else {**after, "params": {}})
        assert answer.status_code == 200
        assert '"tools"' in answer.text
        noted = await client.post(
            url, content=json.dumps({"jsonrpc": "2.0", "method": "notifications/other"})
        )
        assert noted.status_code == 202
        if era == "legacy":
            del client.headers["mcp-session-id"]
            assert "session" in (await client.post(url, json=after)).json()["error"]["message"].lower()
