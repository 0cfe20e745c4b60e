"""`make bench NAME=agent`: tasks with known answers, for plain ReAct and for the manager agent's ways to plan.

All ask the same model in the same run, by default recorded answers. Answers count as GAIA counts them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio

from alita_mcp import __version__
from alita_mcp.agent.values import TaskBudget
from alita_mcp.models.choices import choose_model
from alita_mcp.settings import Settings, read_settings
from benchmarks.agent import arms, site, tally, task_file
from benchmarks.agent.recorded import RecordedModel

ROLES = ("model_planner", "model_tester", "model_coder", "model_judge")
STEPS = 60
"""Of one task: a catalogue of 40 pages is read within it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The benchmark's own options."""
    parser.add_argument(
        "--tasks", metavar="FILE", type=Path, default=task_file.OURS,
        help="JSON lines, one task each, ours or GAIA's; default: those of this benchmark",
    )  # fmt: skip
    parser.add_argument(
        "--model",
        metavar="M",
        type=_model,
        help="for every role; default: as ALITA_MODEL… say, else recorded answers",
    )
    parser.add_argument("--sandbox", metavar="KIND", help="default: as ALITA_SANDBOX says")
    parser.add_argument(
        "--only", metavar="ARM", nargs="+", choices=arms.PLANS, default=list(arms.PLANS),
        help=f"of {', '.join(arms.PLANS)}; default: all",
    )  # fmt: skip
    parser.add_argument("--id", metavar="ID", nargs="+", default=[], dest="ids", help="only these tasks")
    parser.add_argument(
        "--max-steps", metavar="N", type=_positive, default=STEPS, help=f"of one task; default: {STEPS}"
    )


def run(options: argparse.Namespace) -> dict[str, object]:
    """The figures of each arm under its name, with the versions and settings of the run.

    Raises:
        UsageError: the file holds no readable task.
        SandboxUnavailable: no sandbox isolates here.
    """
    tasks = task_file.read_tasks(options.tasks, options.ids)
    with site.served() as place:
        settings = settings_for(options, read_settings(), place.host)
        chosen = choose_model(settings)
        played = RecordedModel(place.url) if chosen is None else None
        figures = anyio.run(partial(measure, tasks, settings, options, place.url, played))
    return {
        **figures,
        "date": datetime.now(UTC).date().isoformat(),
        "version": __version__,
        "sandbox": settings.sandbox,
        "model": chosen.name if chosen else "recorded answers",
        "tasks_file": options.tasks.name,
        "max_steps": options.max_steps,
    }


async def measure(
    tasks: Sequence[task_file.AgentTask],
    settings: Settings,
    options: argparse.Namespace,
    url: str,
    recorded: RecordedModel | None,
) -> dict[str, object]:
    """The figures of each arm, one arm after another."""
    limits = settings.limits
    budget = TaskBudget(
        steps=options.max_steps,
        tokens=limits.task_tokens,
        usd=settings.budget_usd,
        seconds=limits.task_seconds,
    )
    setup = arms.Setup(settings, budget, options.tasks.parent, url, recorded)
    found: dict[str, object] = {}
    for arm in arms.PLANS:
        if arm in options.only:
            trials = await arms.trials_of(arm, tasks, setup, _tell)
            found[arm] = tally.figures(trials)
    return found


def settings_for(options: argparse.Namespace, settings: Settings, site_host: str) -> Settings:
    """The settings changed by the options, independent of this machine's library."""
    allowed = ", ".join(filter(None, (settings.web_allow, site_host)))
    alone: dict[str, object] = {
        "policy": "ask", "embedder": None, "workspace": None,
        "secrets_file": None, "web_allow": allowed,
    }  # fmt: skip
    given = {"sandbox": options.sandbox, "model": options.model}
    roles: dict[str, object] = {}
    if options.model:
        same = {"name": None, "base_url": None, "key_from": None}
        roles = {role: getattr(settings, role).model_copy(update=same) for role in ROLES}
    return settings.model_copy(update=alone | roles | {name: value for name, value in given.items() if value})


def table(result: dict[str, object]) -> str:
    """The figures as a reader wants them."""
    by_arm = {name: each for name in arms.PLANS if isinstance(each := result.get(name), dict)}
    words = f"{result['date']}: alita {result['version']}, {result['sandbox']}, model {result['model']}"
    return f"{tally.as_table(by_arm)}\n\n{words}"


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _model(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("a model's name, as in ollama/qwen3")
    return text.strip()


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("a whole number from 1 on")
    return int(text)
