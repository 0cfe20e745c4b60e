"""Texts of strangers cost what their length says: twice the text takes about twice the steps, not four times."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from alita_mcp.agent.answers.grounding import is_observed, numbers_in
from alita_mcp.agent.memory.likeness import task_similarity
from alita_mcp.agent.memory.privacy import Privacy
from alita_mcp.agent.runs.store import clean_text
from alita_mcp.library.private_text import looks_private, without_secrets
from alita_mcp.library.words.text import split_words
from alita_mcp.models.redaction import without_keys
from alita_mcp.models.structured.json_objects import json_objects
from alita_mcp.research.reading.decoding import charset_of
from alita_mcp.research.reading.fencing import escape_fence
from alita_mcp.research.texts import urls_in
from alita_mcp.sandbox.packages.uv_failure import failure_of
from alita_mcp.toolsmith.requests.request import strip_fence
from alita_mcp.toolsmith.writing.prompts import fence
from alita_mcp.unseen import spell_hidden
from alita_mcp.verification.code.docstring import read_docstring
from tests.tables import each_case

SMALL, LARGE = 60_000, 120_000
LEAST_S = 0.2
"""Less processor time is no sign: where twice the text takes four times as long, this many characters take seconds."""
MOST_GROWTH = 3.5


def fill(pump: str, before: str = "", after: str = "") -> Callable[[int], str]:
    return lambda size: before + (pump * (size // len(pump) + 1))[:size] + after


def processor_time(read: Callable[[str], object], text: str) -> float:
    """The least of three times, since a collection of garbage may fall into one."""
    times = []
    for _ in range(3):
        begun = time.thread_time()
        read(text)
        times.append(time.thread_time() - begun)
    return min(times)


@pytest.mark.slow
@each_case(
    "read, make",
    [
        (split_words, fill("A")),
        (looks_private, fill("a-")),
        (looks_private, fill("=")),
        (without_secrets, fill("a://b:")),
        (without_keys, fill("a:b@")),
        (clean_text, fill("password=")),
        (Privacy(["hunter2-hunter2"]).is_private, fill("password=")),
        (Privacy(["hunter2-hunter2"]).is_private, fill("://a:")),
        (Privacy(["hunter2-hunter2"]).is_private, fill("?sig=")),
        (Privacy(["hunter2-hunter2"]).is_private, fill("-----BEGIN ")),
        (lambda text: task_similarity(text, text), fill("a.")),
        (numbers_in, fill("1,")),
        (lambda text: is_observed("12 cats", [text]), fill("12 ")),
        (lambda text: charset_of(b"", text), fill(" ", "text/html; charset=", "!")),
        (lambda text: escape_fence(text, "untrusted_text"), fill("< ")),
        (lambda text: fence("request", text, LARGE), fill(" ", "<")),
        (urls_in, fill("http://")),
        (lambda text: list(json_objects(text)), fill("{")),
        (strip_fence, fill("~")),
        (strip_fence, fill("```a\n", "", "x")),
        (strip_fence, fill("\n", "```\ndef f():\n    return 1\n```\n", "x")),
        (read_docstring, fill("\t", "Sum.\n\nArgs:\n    a", "x")),
        (read_docstring, fill("(", "Sum.\n\nArgs:\n    a", ": x")),
        (read_docstring, fill("a,\n  b\n", "Sum.\n\nParameters\n---\n")),
        (read_docstring, fill(":param a\n  b\n", "Sum.\n\n")),
        (lambda text: failure_of(text.split("|"), ["a"]), fill(f"{'a==' * 160}|", "Because a|")),
        (spell_hidden, fill("\u200d")),
    ],
)  # fmt: skip
def test_twice_the_text_takes_about_twice_the_steps(
    read: Callable[[str], object], make: Callable[[int], str]
) -> None:
    large = processor_time(read, make(LARGE))
    assert large < LEAST_S or large / processor_time(read, make(SMALL)) <= MOST_GROWTH
