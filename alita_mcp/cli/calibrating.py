"""`alita calibrate`: measures a model on tasks with known truth, so that agreement among its answers can be weighed."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from alita_mcp.cli.commands import Family
from alita_mcp.cli.opened import opened_library
from alita_mcp.cli.output import Output, columns, require_terminal
from alita_mcp.errors import Cancelled, UsageError
from alita_mcp.settings import Settings, read_settings

if TYPE_CHECKING:
    from alita_mcp.synthesis.calibration.calibrating import Calibrating
    from alita_mcp.synthesis.calibration.expectation import Expectation
    from alita_mcp.synthesis.calibration.tasks import CalibrationTask
    from alita_mcp.synthesis.model_records.records import ModelRecords
    from alita_mcp.values import Usage
    from alita_mcp.verification.agreement.record import ModelRecord, Tally

NO_BUDGET = {"budget_calls": 0, "budget_tokens": 0, "budget_usd": 0.0}
"""A person agrees to the cost of the whole; a budget is that of one synthesis."""


def add_commands(family: Family) -> None:
    """Declares `calibrate`."""
    add = family.add(
        "calibrate", calibrate, "measure how often a model's code and tests are right"
    ).add_argument
    add("--model", metavar="MODEL", help="another model than those that write here")
    add("--limit", type=_count, metavar="N", help="so many tasks at most; the next run goes on")
    add("--yes", action="store_true", help="do not ask whether the cost is all right")
    add("--again", action="store_true", help="start over; the old record counts until the end")
    add("--show", action="store_true", help="print what is known of models, and ask none")


async def calibrate(options: argparse.Namespace, output: Output) -> int:
    """Calibrates the models that write here, or one; what is done is kept when it stops, and the next run goes on."""
    from alita_mcp.models.choices import writers

    settings = read_settings()
    async with opened_library(settings) as library:
        from alita_mcp.synthesis.model_records.records import EVENTS_READ, ModelRecords

        records = ModelRecords(settings.home, partial(library.journal, EVENTS_READ))
        if options.show:
            return await _show(records, output)
        names = (_name(options.model),) if options.model is not None else writers(settings)
        if not names:
            raise UsageError("No model is configured.", hint="Set ALITA_MODEL, or say --model NAME.")
        done = [await _one(name, settings, records, options, output) for name in names]
    rows = [_HEAD, *(_row(each["record"]) for each in done if each["record"] is not None)]
    output.result(done[0] if len(done) == 1 else done, columns(rows))
    return 0


async def _one(
    name: str, settings: Settings, records: ModelRecords, options: argparse.Namespace, output: Output
) -> dict[str, Any]:
    """One model: what it will cost, the work, what it did cost."""
    from alita_mcp.synthesis.calibration.expectation import expected
    from alita_mcp.synthesis.calibration.tasks import calibration_tasks

    tasks = calibration_tasks()
    with records.calibrating(name):
        known = await records.done(name, tasks.version, again=options.again)
        pending = [task for task in tasks.tasks if task.name not in known][: options.limit]
        told: dict[str, Any] = {"expected": None, "spent": None}
        if pending:
            async with _prepared(name, settings, records) as work:
                told["expected"] = await expected(name, pending, work.sandbox)
                output.note(_expectation_in_words(told["expected"], len(known)))
                if not options.yes:
                    await _ask(output)
                await records.begin(name, tasks.version, again=options.again)
                await _worked(work, pending, output)
                told["spent"] = work.usage
        else:
            output.note(f"{name}: all {len(known)} tasks are done; --again starts over")
    left = len(tasks.tasks) - len(known) - len(pending)
    return {"model": name, **told, "tasks_left": left, "record": await records.of(name)}


@asynccontextmanager
async def _prepared(name: str, settings: Settings, records: ModelRecords) -> AsyncIterator[Calibrating]:
    from alita_mcp.models.choices import alone
    from alita_mcp.models.roles import RoleModels
    from alita_mcp.sandbox.choose import open_sandbox
    from alita_mcp.synthesis.calibration.calibrating import Calibrating
    from alita_mcp.synthesis.calibration.tasks import calibration_tasks
    from alita_mcp.synthesis.requests.template import told_lacks
    from alita_mcp.verification.rehearsal.rehearsal import Rehearsal

    sandbox = await open_sandbox(settings)
    try:
        role_models = RoleModels(alone(settings, name).model_copy(update=NO_BUDGET))
        abilities = await told_lacks(sandbox)
        yield Calibrating(name, role_models, Rehearsal(sandbox), records, calibration_tasks(), abilities)
    finally:
        await sandbox.aclose()


async def _worked(work: Calibrating, pending: list[CalibrationTask], output: Output) -> None:
    """The work; however it ends, what it cost is said."""
    try:
        with output.progress(f"calibrate {work.model}"[:60]) as on_task:
            await work.work(pending, on_task)
    finally:
        kept = "" if work.done == len(pending) else "; what is done is kept, and the next run goes on"
        output.note(f"{work.done} of {len(pending)} tasks done, {_cost_in_words(work.usage)}{kept}")


async def _ask(output: Output) -> None:
    """Goes on when a person says yes at the terminal; else raises Cancelled."""
    require_terminal(".", "Add --yes if the cost is all right.")
    if not await output.agreed("Go on? [y/N] "):
        raise Cancelled("Nothing was asked of the model.")


async def _show(records: ModelRecords, output: Output) -> int:
    known = await records.all()
    rows = [_HEAD, *(_row(record) for record in known)]
    output.result(known, columns(rows) if known else "no model is known; `alita calibrate` measures one")
    return 0


_HEAD = ("model", "tasks", "code right", "tests right", "misread", "practice")


def _row(record: ModelRecord) -> tuple[str, ...]:
    later = f", {record.later.wrong:.0f} found wrong later" if record.later.wrong else ""
    practice = f"{_share(record.practised)} of tests, {_share(record.first_time)} at once{later}"
    misread = f"{record.misread.wrong:.0f} of {record.misread.total:.0f}"
    shares = (_share(record.candidates), _share(record.tests))
    return (record.model, str(record.tasks), *shares, misread, practice)


def _share(tally: Tally) -> str:
    return f"{tally.right / tally.total:.1%} of {tally.total:.0f}" if tally.total else "none"


def _expectation_in_words(expectation: Expectation, done: int) -> str:
    price = "price unknown" if expectation.cost_usd is None else f"about {expectation.cost_usd:.2f} USD"
    before = f" ({done} done already)" if done else ""
    return (
        f"{expectation.model}: {expectation.tasks} tasks{before}, {expectation.calls} calls, about "
        f"{expectation.prompt_tokens} tokens asked and {expectation.completion_tokens} answered "
        f"(more where a model thinks aloud), {price}"
    )


def _cost_in_words(usage: Usage) -> str:
    price = "price unknown" if usage.cost_usd is None else f"{usage.cost_usd:.4f} USD"
    return f"{usage.calls} calls, {usage.prompt_tokens} tokens asked and {usage.completion_tokens} answered, {price}"


def _name(text: str) -> str:
    """A model's name as `ALITA_MODEL` takes it: not empty, not long, without blanks."""
    if not text or len(text) > 200 or any(letter.isspace() for letter in text) or not text.isprintable():
        raise UsageError(f"{text[:200]!r} is no name of a model.", hint="Write it as in openai/gpt-5.")
    return text


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 6 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of tasks")
    return int(text)
