"""State of this machine for people: its sandboxes, extras, library and settings, and what to do about each problem.

`alita doctor` prints it and the page Health shows it.
"""

from __future__ import annotations

import platform
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, NamedTuple

import anyio
import anyio.to_thread

from alita_mcp import __version__
from alita_mcp.errors import AlitaError
from alita_mcp.extras import EXTRAS, FEATURES, find_extra_problem, find_installation
from alita_mcp.library.leftovers import find_leftovers, remove_leftovers
from alita_mcp.library.library import Library
from alita_mcp.machine import HTTP_CLIENTS, lack_of_descriptors
from alita_mcp.models.choices import ROLES, choose_model
from alita_mcp.models.trial import try_model
from alita_mcp.progress import ReportStage, ignore_stage
from alita_mcp.sandbox.choose import probe_all
from alita_mcp.sandbox.interface import ProbeReport
from alita_mcp.sandbox.wasm.embedded import find_embedded
from alita_mcp.settings import Settings, find_unknown_settings

State = Literal["ok", "problem", "absent", "note"]
"""`absent`: something optional is not there; `note`: neither good nor bad."""


class Finding(NamedTuple):
    """One thing that was looked at, as a person reads it."""

    state: State
    text: str
    advice: str = ""
    """What to do next, often a command."""
    details: tuple[Finding, ...] = ()


async def examine(
    settings: Settings,
    opening: AbstractAsyncContextManager[Library],
    on_stage: ReportStage = ignore_stage,
    *,
    clean: bool = False,
) -> dict[str, Any]:
    """Looks at all but the model, in seconds; `opening` opens the library or raises what is wrong with it.

    `clean` removes what only earlier versions of alita read.
    """
    await on_stage("sandboxes")
    is_compiled = (await find_embedded())["compiled"]
    reports = await probe_all(settings, on_stage, slow=() if is_compiled else ("wasm",))
    await on_stage("library")
    library = await examine_library(settings, opening, clean=clean)
    await on_stage("extras")
    extras = await anyio.to_thread.run_sync(check_extras)
    # Tools run in the first kind that isolates, of those that the setting allows; the one that is set comes first.
    allowed = reports if settings.sandbox == "auto" else reports[:1]
    chosen = next((report.kind for report in allowed if report.isolates), None)
    return {
        "alita": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "sandbox": {"setting": settings.sandbox, "chosen": chosen},
        "probes": [{**report.model_dump(mode="json"), "isolates": report.isolates} for report in reports],
        "embedded": await find_embedded(),
        "extras": extras,
        "library": library,
        "policy": settings.policy,
        "model": settings.model,
        "unknown_settings": find_unknown_settings(settings.home),
        "open_files": lack_of_descriptors(settings.max_workers, HTTP_CLIENTS),
    }


async def examine_models(settings: Settings, on_stage: ReportStage = ignore_stage) -> list[dict[str, Any]]:
    """Tries each model that is configured with one cheap call; what came of it, and where its key is from."""
    chosen = [choose_model(settings, role) for role in (None, *ROLES)]
    different = {(each.name, each.base_url, each.key_from): each for each in chosen if each is not None}
    found = []
    await on_stage("model")
    for each in different.values():
        about: dict[str, Any] = {"model": each.name, "base_url": each.base_url, "setting": each.setting}
        try:
            about["key"] = each.find_key_place()
            about["answered_as"] = await try_model(each)
        except AlitaError as failed:
            about |= {"problem": failed.message, "hint": failed.hint}
        found.append(about)
    return sorted(found, key=lambda about: str(about["model"]))


async def examine_library(
    settings: Settings, opening: AbstractAsyncContextManager[Library], *, clean: bool
) -> dict[str, Any]:
    """What is in the library, or what is wrong with it."""
    try:
        async with opening as library:
            states = library.tools.counts()
            rebuilt = library.journal(1, "rebuilt")
    except AlitaError as broken:
        return {"home": str(settings.home), "problem": str(broken)}
    found: dict[str, Any] = {"home": str(settings.home), "tools": sum(states.values()), "states": states}
    found["rebuilt"] = {"at": rebuilt[0].time[:10], **rebuilt[0].detail} if rebuilt else None
    leftovers = find_leftovers(settings.home)
    try:
        if clean:
            remove_leftovers(settings.home)
    except OSError as failure:
        found["problem"] = f"Cannot remove what earlier versions left in {settings.home}: {failure}"
    remaining = find_leftovers(settings.home)
    found["removed"] = sorted(leftovers.keys() - remaining.keys())
    found["leftovers"] = remaining
    return found


def check_extras() -> dict[str, Any]:
    """Whether each extra is installed; if not, why, and the command that adds it."""
    installation = find_installation()
    found: dict[str, Any] = {}
    for extra in EXTRAS:
        found[extra] = {"here": True, "for": FEATURES[extra]}
        if problem := find_extra_problem(extra):
            command = installation.command(extra, repair=problem.is_broken)
            found[extra] |= {"here": False, "problem": problem.reason, "command": command}
    absent = [extra for extra in EXTRAS if not found[extra]["here"]]
    if len(absent) > 1:
        found["all"] = {"command": installation.command(*absent)}
    return found


def describe_findings(found: dict[str, Any]) -> dict[str, list[Finding]]:
    """What `examine` found, and `examine_models` under `models` where it was asked, by what it is about."""
    chosen = found["sandbox"]["chosen"]
    runs_in = chosen or "none; no sandbox isolates here, so no tool can be made or called"
    fields = ProbeReport.model_fields
    reports = [ProbeReport(**{name: report[name] for name in fields}) for report in found["probes"]]
    sandboxes = [describe_probes(report) for report in reports]
    sandboxes.append(Finding("note" if chosen else "problem", f"Tools run in: {runs_in}"))
    sandboxes.append(describe_embedded(found["embedded"]))
    extras = []
    for name, extra in found["extras"].items():
        if name == "all":
            extras.append(Finding("absent", "all missing extras", extra["command"]))
        elif extra["here"]:
            extras.append(Finding("ok", f"extra {name}: {extra['for']}"))
        else:
            text = f"extra {name} is not here ({extra['problem']}): {extra['for']}"
            extras.append(Finding("absent", text, extra["command"]))
    problems = [each for each in (*found["unknown_settings"], found["open_files"]) if each]
    model = found["model"] or "none; the connected agent writes the code"
    models = []
    for tried in found.get("models", ()):
        if "problem" in tried:
            models.append(Finding("problem", tried["problem"], tried["hint"]))
        else:
            key = f"; key: {tried['key']}" if tried["key"] else ""
            models.append(Finding("ok", f"model {tried['model']} answers{key}"))
    return {
        "Sandboxes": sandboxes,
        "Extras": extras,
        "Library": _describe_library(found["library"]),
        "Settings": [
            Finding("note", f"policy {found['policy']}, model {model}"),
            *models,
            *(Finding("problem", each) for each in problems),
        ],
    }


def _describe_library(found: dict[str, Any]) -> list[Finding]:
    if "problem" in found:
        return [Finding("problem", f"library {found['problem']}")]
    states = ", ".join(f"{count} {state}" for state, count in found["states"].items())
    tools = f"library {found['home']}: {found['tools']} tools{f' ({states})' if states else ''}"
    notes = ["{at}: {report}".format(**found["rebuilt"])] if found["rebuilt"] else []
    notes += [f"removed {name}" for name in found["removed"]]
    notes += [f"{name} ({what}) is not used any more" for name, what in found["leftovers"].items()]
    advice = "alita doctor --clean removes it" if found["leftovers"] else ""
    details = tuple(Finding("note", note) for note in notes)
    return [Finding("ok", tools, advice, details)]


def describe_probes(report: ProbeReport) -> Finding:
    """Whether a kind of sandbox isolates, with each probe and what came of it."""
    details = tuple(
        Finding("ok" if probe.passed else "problem", f"{probe.name}: {probe.detail}".removesuffix(": "))
        for probe in report.probes
    )
    passed = sum(probe.passed for probe in report.probes)
    text = f"sandbox {report.kind}: {passed} of {len(report.probes)} probes passed"
    return Finding("ok" if report.isolates else "problem", text, report.hint, details)


def describe_embedded(found: dict[str, Any]) -> Finding:
    """What `find_embedded` found."""
    if "problem" in found:
        return Finding("problem", f"embedded Python: {found['problem']}")
    component = f"component {found['component'][:12]} for {found['engine']}"
    if not found["compiled"]:
        text = f"embedded Python: not compiled yet ({component}); `alita prepare` compiles it"
        return Finding("note", text)
    size = f"{found['bytes'] / 1e6:.0f} MB"
    return Finding("ok", f"embedded Python: {component}, {size}, at {found['path']}")
