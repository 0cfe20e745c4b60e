"""An OpenAI-compatible server on loopback that answers from a script: right, wrong, slow, broken or hostile."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = str | int | bytes | None
"""A text to answer with, a status to fail with, raw bytes to send instead of JSON, or silence."""


class Transcript:
    """What was asked, and what is still to be answered."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self.replies = list(replies)
        self.requests: list[dict[str, Any]] = []
        self.released = threading.Event()


@contextmanager
def openai_server(*replies: Reply) -> Iterator[tuple[str, Transcript]]:
    """Serves the replies in order on a free port; gives the base URL and what was asked."""
    transcript = Transcript(replies)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("content-length", 0))
            transcript.requests.append(json.loads(self.rfile.read(length)))
            reply = transcript.replies.pop(0) if transcript.replies else 500
            if reply is None:
                transcript.released.wait(60)
                self.close_connection = True
                return
            if isinstance(reply, int):
                self._send(reply, json.dumps({"error": {"message": "scripted failure"}}).encode())
            elif isinstance(reply, bytes):
                self._send(200, reply)
            else:
                self._send(200, json.dumps(_completion(reply)).encode())

        def _send(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", transcript
    finally:
        transcript.released.set()
        server.shutdown()
        server.server_close()
        thread.join(10)


def _completion(text: str) -> dict[str, Any]:
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12},
    }
