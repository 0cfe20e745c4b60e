"""Recorded answers of a model to the toolsmith's prompts, and an OpenAI-compatible server that gives them."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from alita_mcp.errors import UsageError
from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.values import Example, Value
from benchmarks.synthesis.judge import Unbroken, break_request, holds
from benchmarks.synthesis.tool_requests import ToolRequest

CHARACTERS_PER_TOKEN = 4
DRAWS = 10
"""Seeds of one draw after another are so far apart (`toolsmith/requests/modes.py`)."""


MISTAKEN, MISSES = 0.5, 0.5
"""How often a weak model makes the same mistake in a candidate, and writes a suite that does not notice it."""


class Recording(Value):
    """What a model answered to one request: specifications, suites and candidates, each as they were drawn."""

    name: str
    request: str
    examples: tuple[Example, ...] = ()
    """The caller's own."""
    specifications: tuple[dict[str, Any], ...] = Field(min_length=1)
    suites: tuple[tuple[dict[str, Any], ...], ...] = Field(min_length=1)
    candidates: tuple[dict[str, Any], ...] = Field(min_length=1)
    hidden: tuple[Example, ...] = ()

    def as_request(self) -> ToolRequest:
        """The request as the benchmark hands it in."""
        return ToolRequest(
            task_id=self.name,
            name=self.name,
            description=self.request,
            tests=self.examples,
            hidden=self.hidden,
        )

    def answer(self, prompt: str, draw: int) -> dict[str, Any]:
        """The recorded answer to a prompt; where more is drawn than was recorded, the first one comes again."""
        if "Specify a tool." in prompt:
            return self.specifications[draw % len(self.specifications)]
        if "Test this tool." in prompt:
            return {"tests": self.suites[draw % len(self.suites)]}
        return {"code": self.candidates[draw % len(self.candidates)]["code"], "packages": []}


def read_recordings(path: Path) -> tuple[Recording, ...]:
    """The recordings in a file of JSON lines.

    Raises:
        UsageError: the file cannot be read, or a line is no recording.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
        return tuple(Recording.model_validate_json(line) for line in lines if line.strip())
    except (OSError, UnicodeDecodeError, ValidationError) as unreadable:
        raise UsageError(f"{str(path)!r} holds no recorded answers: {unreadable}.") from unreadable


async def weaken(recording: Recording, seed: int, sandbox: Sandbox) -> Recording:
    """The recording as a weak model might answer: half of the code has one mistake, and half of the suites miss it.

    A test of every fourth suite expects what is wrong. A recording in which no mistake is noticed stays as it is.
    """
    draw = random.Random(f"{seed} {recording.name}")
    code = recording.candidates[0]["code"]
    broken = await break_request(recording.as_request().model_copy(update={"code": code}), seed, sandbox)
    if isinstance(broken, Unbroken):
        return recording
    mistaken = {"code": broken.request.code}
    suites = []
    for suite in recording.suites:
        tests = list(suite)
        if draw.random() < MISSES:
            held = [await holds(broken.request, Example.model_validate(test), sandbox) for test in tests]
            tests = [test for test, holding in zip(tests, held, strict=True) if holding] or tests
        elif draw.random() < MISSES:
            tests[0] = {"arguments": tests[0]["arguments"], "raises": "KeyError"}
        suites.append(tuple(tests))
    candidates = [mistaken if draw.random() < MISTAKEN else each for each in recording.candidates]
    return recording.model_copy(update={"suites": tuple(suites), "candidates": tuple(candidates)})


@contextmanager
def serve(recordings: Sequence[Recording]) -> Iterator[str]:
    """Serves the recordings on a free port; gives the base URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            prompt = "\n".join(str(message["content"]) for message in body["messages"])
            draw = ((body.get("seed") or 1) - 1) // DRAWS % 100
            recording = next((each for each in recordings if each.request in prompt), None)
            text = "" if recording is None else json.dumps(recording.answer(prompt, draw), ensure_ascii=False)
            counts = [len(each) // CHARACTERS_PER_TOKEN for each in (prompt, text)]
            usage = {"prompt_tokens": counts[0], "completion_tokens": counts[1], "total_tokens": sum(counts)}
            message = {"role": "assistant", "content": text}
            answer = json.dumps({
                "id": "1", "object": "chat.completion", "created": 1, "model": body["model"], "usage": usage,
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            }).encode()  # fmt: skip
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_words: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()
