"""Scripts of the scripted model for each of the 30 tasks, by the task's text."""

from __future__ import annotations

import re
from functools import cache

from benchmarks.agent import task_file
from benchmarks.agent.scripts import on_files, on_site, talk

BY_ID = {**on_files.SCRIPTS, **on_site.SCRIPTS}


def script_for(text: str) -> talk.Script | None:
    """The script of the task that stands in a text; None where none of ours does."""
    words = _words(text)
    return next((BY_ID[id_] for id_, question in _questions() if question in words), None)


@cache
def _questions() -> tuple[tuple[str, str], ...]:
    tasks = task_file.read_tasks(task_file.OURS)
    return tuple((task.id, _words(task.question.replace(task_file.SITE, ""))) for task in tasks)


def _words(text: str) -> str:
    """A text in its words, without the address at which a site is served."""
    return " ".join(re.findall(r"\w+", re.sub(r"http://[\w.]+:\d+", "", text)))
