"""`make bench NAME=toolsmith`: lets models write requested tools, and counts the published and the right ones.

Beside the toolsmith stand two baselines on the same requests and the same model: one call taken as it is, and one suite
with five retries.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio

from alita_mcp import __version__
from alita_mcp.errors import UsageError
from alita_mcp.models.choices import choose
from alita_mcp.models.litellm.backoff import Patience
from alita_mcp.models.recording.recorded import Exchanges, Recorder, Replayer
from alita_mcp.models.roles import RoleModels
from alita_mcp.settings import ModelChoice, Settings, read_settings
from alita_mcp.synthesis.requests.modes import PLANS
from benchmarks.toolsmith import contenders, judged_requests, recorded_answers, tally, trials
from benchmarks.toolsmith.call_log import CallLog

FROM_THE_FILE = Path()
"""What `--replay` without a folder stands for."""
ROLES = ("model_planner", "model_tester", "model_coder", "model_judge")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The benchmark's own options."""
    parser.add_argument(
        "--requests", metavar="FILE", type=Path, required=True, help="JSON lines, one request each"
    )
    parser.add_argument(
        "--model", metavar="M", type=_model, help="for every role; default: as ALITA_MODEL… say"
    )
    parser.add_argument("--base-url", metavar="URL", help="of an OpenAI-compatible server")
    parser.add_argument("--sandbox", metavar="KIND", help="default: as ALITA_SANDBOX says")
    parser.add_argument("--mode", choices=list(PLANS), help="default: as ALITA_SYNTHESIS_MODE says")
    parser.add_argument("--limit", metavar="N", type=_positive, help="only the first N requests")
    parser.add_argument(
        "--only", metavar="NAME", nargs="+", choices=contenders.NAMES, default=list(contenders.NAMES),
        help=f"of {', '.join(contenders.NAMES)}; default: all",
    )  # fmt: skip
    parser.add_argument("--record", metavar="DIR", type=Path, help="folder for every question and answer")
    parser.add_argument(
        "--tokens-per-second", metavar="N", type=_speed, dest="speed",
        help="how fast the answers of --replay are written; default: they come at once",
    )  # fmt: skip
    parser.add_argument(
        "--replay", metavar="DIR", type=Path, nargs="?", const=FROM_THE_FILE,
        help="ask no model: a folder of --record, or without one the answers in the file itself",
    )  # fmt: skip


def run(options: argparse.Namespace) -> dict[str, object]:
    """The figures of each contender under its name, with the versions and settings of the run.

    Raises:
        UsageError: the file holds no readable request, options contradict each other, or no model is configured.
        SandboxUnavailable: no sandbox isolates here.
    """
    if options.replay is not None and (options.model or options.base_url or options.record):
        raise UsageError("--replay asks no model.", hint="Leave out --model, --base-url and --record.")
    requests = judged_requests.read_requests(options.requests, options.limit)
    settings = settings_for(options, read_settings())
    return anyio.run(partial(measure, requests, settings, options))


def table(result: dict[str, object]) -> str:
    """The figures as a reader wants them."""
    by_contender = {name: each for name in contenders.NAMES if isinstance(each := result.get(name), dict)}
    words = (
        f"{result['date']}: alita {result['alita']}, {result['sandbox']}, {result['mode']}, {result['model']}"
    )
    return f"{tally.as_table(by_contender)}\n\n{words}"


def settings_for(options: argparse.Namespace, settings: Settings) -> Settings:
    """The settings changed by the options, independent of this machine's library."""
    given = {
        "sandbox": options.sandbox, "model": options.model, "model_base_url": options.base_url,
        "synthesis_mode": options.mode,
    }  # fmt: skip
    alone = {
        "policy": "ask", "response_cache_mb": 0, "embedder": None, "grants_file": None, "workspace": None,
        "secrets_file": None,
    }  # fmt: skip
    roles: dict[str, ModelChoice] = {}
    if options.model:
        same = {"name": None, "base_url": None, "key_from": None}
        roles = {role: getattr(settings, role).model_copy(update=same) for role in ROLES}
    chosen = {field: value for field, value in given.items() if value is not None}
    return settings.model_copy(update={**alone, **roles, **chosen})


async def measure(
    requests: Sequence[judged_requests.JudgedRequest],
    settings: Settings,
    options: argparse.Namespace,
    patience: Patience | None = None,
) -> dict[str, object]:
    """Runs the benchmark on requests that were read; `patience` is how failures of a model are tried again."""
    from alita_mcp.sandbox.choose import open_sandbox

    log = CallLog(_through(options))
    models_for = _models_for(settings, options, log, patience)
    takes_part = {
        name: each for name, each in contenders.contenders(settings).items() if name in options.only
    }
    sandbox = await open_sandbox(settings)
    try:
        found = await trials.trials_of(requests, takes_part, models_for, log, sandbox, _tell)
    finally:
        with anyio.CancelScope(shield=True):
            await sandbox.aclose()
    return {
        **{name: tally.figures(each) for name, each in found.items()},
        "sandbox": sandbox.kind,
        "model": _model_named(settings, options),
        "mode": settings.synthesis_mode,
        "alita": __version__,
        "date": datetime.now(UTC).date().isoformat(),
    }


def _through(options: argparse.Namespace) -> Exchanges | None:
    if options.record:
        return Recorder(options.record)
    if options.replay not in (None, FROM_THE_FILE):
        return Replayer(options.replay)
    return None


def _models_for(
    settings: Settings, options: argparse.Namespace, log: CallLog, patience: Patience | None
) -> trials.ModelsFor:
    """One RoleModels for all that a real model is asked; for answers in the file a new one for each attempt."""
    if options.replay == FROM_THE_FILE:
        answers = partial(recorded_answers.RecordedAnswers, tokens_per_second=options.speed)
        return lambda request: RoleModels(settings, source=answers(request).source, exchanges=log)
    role_models = RoleModels(settings, exchanges=log, patience=patience)
    if not role_models.is_configured:
        raise UsageError("No model is configured.", hint="Name one with --model, or use --replay.")
    return lambda _request: role_models


def _model_named(settings: Settings, options: argparse.Namespace) -> str:
    if options.replay is not None:
        return "answers recorded before"
    chosen = choose(settings, "coder")
    return chosen.name if chosen else ""


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not a positive number")
    return number


def _speed(text: str) -> float:
    number = float(text)
    if not 1 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is no speed")
    return number


def _model(text: str) -> str:
    if not text or any(character.isspace() for character in text):
        raise argparse.ArgumentTypeError(f"{text!r} is no name of a model, as in openai/gpt-5")
    return text


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
