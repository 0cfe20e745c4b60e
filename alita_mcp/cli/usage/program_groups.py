"""Programs of transcripts, in groups of like ones: how often each ran and the function that it amounts to."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from alita_mcp.app.runs.recurring import proposal
from alita_mcp.errors import UsageError
from alita_mcp.mining.comparison.likeness import groups
from alita_mcp.mining.comparison.normal_form import normal_form
from alita_mcp.mining.values import GeneralFunction, NormalForm, NotGeneral
from alita_mcp.syntax import module_of
from alita_mcp.transcripts.recording import as_run
from alita_mcp.verification.static.declared import DISTRIBUTIONS

if TYPE_CHECKING:
    from alita_mcp.library.runs.recorded_run import RecordedRun
    from alita_mcp.transcripts.values import ExecutedProgram

MOST_RUNS = 12
"""Runs of one group that are looked at for its parameters, and that are run again to make a tool of it."""


TOOLS_IN_CODE = "alita_tools"
"""Code that speaks of this module may call tools of the library, with the rights that they have; no stranger's does."""


@dataclass(frozen=True)
class ProgramGroup:
    """Like programs."""

    programs: tuple[ExecutedProgram, ...]
    usable: tuple[RecordedRun, ...]
    """Different runs that can be run again: whole, without private values, and not failed. At most `MOST_RUNS`."""
    name: str
    """Of the would-be tool; no two groups have the same."""
    function: GeneralFunction | None
    why_not: str
    """Why no tool can be made of it as it is."""

    @property
    def packages(self) -> tuple[str, ...]:
        """What the runs import that the standard library has not, by the names of the distributions."""
        found = {name.partition(".")[0] for run in self.usable for name in _imported(run.code)}
        return tuple(sorted(DISTRIBUTIONS.get(name, name) for name in found - sys.stdlib_module_names))


@dataclass(frozen=True)
class _Member:
    program: ExecutedProgram
    run: RecordedRun
    digest: str

    @property
    def can_run_again(self) -> bool:
        whole = self.program.complete and not self.program.redacted and not self.program.failed
        return whole and TOOLS_IN_CODE not in self.run.code


def grouped(programs: Sequence[ExecutedProgram]) -> list[ProgramGroup]:
    """Groups, the ones that ran most often first; a program that is nested too deeply to be compared is left out."""
    forms: dict[str, NormalForm] = {}
    alike: dict[str, list[_Member]] = {}
    for program in programs:
        run = as_run(program)
        try:
            form = normal_form(run.code)
        except UsageError:
            continue
        forms.setdefault(form.digest, form)
        alike.setdefault(form.digest, []).append(_Member(program, run, form.digest))
    members = [*alike.values()]
    together = [[each for place in group for each in members[place]] for group in groups([*forms.values()])]
    together.sort(key=lambda group: (-len(group), group[0].program.file, group[0].program.line))
    names: set[str] = set()
    return [_group(group, names) for group in together]


def _group(members: Sequence[_Member], names: set[str]) -> ProgramGroup:
    often = Counter(each.digest for each in members)
    ordered = sorted(members, key=lambda each: -often[each.digest])
    usable = _different(each.run for each in ordered if each.can_run_again)
    told = usable or _different(each.run for each in ordered if not each.program.failed)
    programs = tuple(each.program for each in members)
    if not told:
        return ProgramGroup(programs, (), "", None, "it failed every time")
    shown, found = proposal(told, {each.run.id: each.digest for each in members})
    if isinstance(found, NotGeneral):
        return ProgramGroup(programs, (), "", None, found.why)
    name = _unique(found.name, names)
    if usable:
        return ProgramGroup(programs, tuple(shown), name, found, "")
    return ProgramGroup(programs, (), name, found, _why_not_again(programs))


def _why_not_again(programs: Sequence[ExecutedProgram]) -> str:
    if any(TOOLS_IN_CODE in program.code for program in programs):
        return "it calls tools of the library"
    private = any(program.redacted for program in programs)
    return "all runs hold private values" if private else "the transcripts do not hold its input"


def _unique(name: str, names: set[str]) -> str:
    unique, number = name, 2
    while unique in names:
        unique, number = f"{name}_{number}", number + 1
    names.add(unique)
    return unique


def _different(runs: Iterable[RecordedRun]) -> list[RecordedRun]:
    """The first runs of different code or input."""
    return list({(run.code, str(run.arguments)): run for run in runs}.values())[:MOST_RUNS]


def _imported(code: str) -> list[str]:
    names: list[str] = []
    for node in ast.walk(module_of(code)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.append(node.module)
    return names
