"""Samples for rehearsed calls: workspace files, the model's completion and the values of secrets."""

from __future__ import annotations

FILES = {
    "sample.txt": "The quick brown fox\njumps over\nthe lazy dog.\n",
    "sample.csv": "city,month,amount\nBerlin,2026-01,12.50\nParis,2026-01,7.25\nBerlin,2026-02,3.10\nParis,2026-02,\n",
    "sample.json": '{"name": "sample", "items": [1, 2, 3], "nested": {"ok": true}}\n',
    "sample.html": "<!doctype html><title>Sample</title><h1>Sample</h1><p>One <a href='/text'>link</a>.</p>\n",
    "notes/plans.md": "# Plans\n\n- buy bread\n- call Ada\n",
}
"""The workspace, by path; the stand-in host serves the samples too."""

ANSWER_CHARACTERS = 200


def completed(prompt: str) -> str:
    """Completion of the stand-in model: the last non-empty line of the prompt, cut to 200 characters."""
    lines = [line.strip() for line in prompt.splitlines() if line.strip()]
    return f"Rehearsal: {lines[-1][:ANSWER_CHARACTERS]}" if lines else "Rehearsal:"


def secret_of(name: str) -> str:
    """The stand-in for a secret."""
    return f"rehearsal-{name}"
