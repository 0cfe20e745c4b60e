"""Generalises runs of like programs to one typed function, with the runs as calls of it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Literal

from alita_mcp.mining.generalisation.admissible import check_admissible
from alita_mcp.mining.generalisation.anti_unification import anti_unified
from alita_mcp.mining.generalisation.inputs import reading_of
from alita_mcp.mining.generalisation.naming import docstring, tool_name
from alita_mcp.mining.generalisation.parameters import Slot, constants, filled, slots_of
from alita_mcp.mining.generalisation.refusal import NoFunctionError
from alita_mcp.mining.generalisation.script import own_names, read_script
from alita_mcp.mining.generalisation.script_function import Plan, module_text
from alita_mcp.mining.generalisation.value_types import Place, Records, annotation_of
from alita_mcp.mining.values import GeneralFunction, NotGeneral, Parameter
from alita_mcp.runs.recorded_run import RecordedRun
from alita_mcp.values import Example

Reads = Literal["result", "printed"]

_OURS = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,99}")
_BROKEN = {
    "SyntaxError", "IndentationError", "TabError", "NameError", "UnboundLocalError", "ImportError",
    "ModuleNotFoundError", "SystemExit", "KeyboardInterrupt", "MemoryError", "RecursionError", "EOFError",
    "GeneratorExit",
}  # fmt: skip
"""Errors that say that a program or its surroundings are broken, and nothing about its input."""
_OF_ONE_RUN = re.compile(
    r"__main__\.| at 0x[0-9a-fA-F]{4,}|<(?:function|bound method|class) |\w\(\) (?:missing|takes|got) |' is not defined"
)
"""What Python says of objects without a text of their own, of wrong calls and of names: other words in a function."""


def generalise(
    runs: Sequence[RecordedRun], name: str = "", description: str = ""
) -> GeneralFunction | NotGeneral:
    """The function that several runs of like programs, or one run, amount to; or why there is none.

    Values that differ between the runs are parameters; of a single run its arguments, its `input()` and the
    constants at its top level are. `name` and `description` are used where a tool can have them.
    """
    good = [run for run in runs if run.ok]
    raised = [run for run in runs if run.status == "error" and _names_a_fault(run.error_type)]
    if not good:
        return NotGeneral(why="no run of it ended well", writable=False)
    try:
        try:
            return _generalised([*good, *raised], name, description)
        except NoFunctionError:
            if not raised:
                raise
            return _generalised(good, name, description)
    except NoFunctionError as none:
        return none.verdict
    except (RecursionError, ValueError, SyntaxError) as unwritable:  # too deep, or not to be written out
        return NotGeneral(why=f"its syntax tree cannot be written out again: {unwritable}")


def _names_a_fault(error_type: str) -> bool:
    return bool(_OURS.fullmatch(error_type)) and error_type not in _BROKEN


def _generalised(runs: Sequence[RecordedRun], name: str, description: str) -> GeneralFunction:
    scripts = [read_script(run) for run in runs]
    for script in scripts:
        check_admissible(script)
    base = scripts[0]
    reads = _reads(runs)
    own = own_names(base)
    records = Records(own | {f"_{each}" for each in own})
    holes = constants(base, records) if len(scripts) == 1 else anti_unified(scripts)
    reading = reading_of(scripts)
    slots, places = slots_of(scripts, holes, reading, records)
    calls = _calls(runs, slots, reads)
    returns = "str"
    if reads == "result":
        values = [run.result for run in runs if run.ok]
        returns = annotation_of(values, Place("the result", "result", is_result=True), records)
    called = tool_name(name, base, [slot.name for slot in slots])
    texts, gone = filled(slots, places)
    listed = ", ".join(f"{slot.name}: {slot.annotation}{' = None' * slot.optional}" for slot in slots)
    plan = Plan(
        name=called,
        signature=f"({listed}) -> {returns}",
        docstring=docstring(called, description, [(s.name, s.annotation, s.values[0]) for s in slots]),
        reads=reads,
        parameters=frozenset(slot.name for slot in slots),
        texts={**texts, **reading.texts},
        gone=[*gone, *reading.gone],
        prelude=reading.prelude,
        records=records.classes,
    )
    return GeneralFunction(
        name=called,
        code=module_text(base, plan),
        parameters=tuple(Parameter(name=slot.name, annotation=slot.annotation) for slot in slots),
        returns=returns,
        reads=reads,
        calls=calls,
    )


def _reads(runs: Sequence[RecordedRun]) -> Reads:
    good = [run for run in runs if run.ok]
    if any(run.result_kind == "repr" for run in good):
        raise NoFunctionError("its result is no JSON: return numbers, texts, lists or dicts of them")
    for run in good:
        if _OF_ONE_RUN.search(run.stdout) or _OF_ONE_RUN.search(json.dumps(run.result, default=repr)):
            raise NoFunctionError(
                "what it gives names its own objects, functions or variables as Python does"
            )
    if any(run.result_kind == "json" and run.result is not None for run in good):
        return "result"
    if any(run.stdout for run in good):
        return "printed"
    raise NoFunctionError("it gave no result and printed nothing", writable=False)


def _calls(runs: Sequence[RecordedRun], slots: Sequence[Slot], reads: Reads) -> tuple[Example, ...]:
    """Each run as a call, the same call once.

    Raises:
        NoFunctionError: the same arguments gave different results.
    """
    calls: dict[str, Example] = {}
    for place, run in enumerate(runs):
        arguments = {
            slot.name: slot.values[place]
            for slot in slots
            if not (slot.optional and slot.values[place] is None)
        }
        outcome: dict[str, Any] = {"raises": run.error_type}
        if run.ok:
            outcome = {"expected": run.result if reads == "result" else run.stdout}
        call = Example(arguments=arguments, **outcome)
        known = calls.setdefault(json.dumps(arguments, sort_keys=True), call)
        if json.dumps(known.as_json(), sort_keys=True) != json.dumps(call.as_json(), sort_keys=True):
            raise NoFunctionError(
                "its results differ though its inputs are the same: chance, the clock or something outside decides",
            )
    return tuple(calls.values())
