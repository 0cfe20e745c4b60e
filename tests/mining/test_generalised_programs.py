from __future__ import annotations

import anyio
import pytest

from alita_mcp.mining.generalisation.generalise import generalise
from alita_mcp.mining.values import GeneralFunction, NotGeneral
from alita_mcp.values import Draft, Example
from alita_mcp.verification.static.static import static_gate
from tests.mining.functions import scripts
from tests.mining.programs import FAMILIES, Family
from tests.mining.recording import called, recorded


def differences(function: GeneralFunction, calls: tuple[Example, ...]) -> list[tuple[object, ...]]:
    """The calls in which a function gives something else than the program gave."""
    found = []
    for call in calls:
        wanted = ("raises", call.raises) if call.raises else ("expected", call.expected)
        given = called(function.code, function.name, call.arguments)
        if given != wanted:
            found.append((call.arguments, wanted, given))
    return found


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_function_made_of_some_programs_does_what_another_like_them_does(family: Family) -> None:
    runs = [recorded(program) for program in family.programs()]
    learned, all_of_them = generalise(runs[:-1]), generalise(runs)
    assert isinstance(learned, GeneralFunction), learned
    assert isinstance(all_of_them, GeneralFunction), all_of_them
    assert [each.name for each in learned.parameters] == [each.name for each in all_of_them.parameters]
    assert all_of_them.calls
    assert differences(learned, all_of_them.calls) == []
    assert differences(all_of_them, all_of_them.calls) == []


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_the_static_gate_accepts_what_is_made(family: Family) -> None:
    function = generalise([recorded(program) for program in family.programs()])
    assert isinstance(function, GeneralFunction)
    draft = Draft(name=function.name, description="Does it.", code=function.code, examples=function.calls)
    checks, contract = anyio.run(static_gate, draft)
    assert [(check.message, check.fix) for check in checks if not check.passed] == []
    assert contract is not None
    assert list(contract.input_schema["properties"]) == [each.name for each in function.parameters]


def test_functions_called_with_three_inputs_do_the_same_with_others() -> None:
    made, wrong = 0, []
    for name, texts in scripts():
        runs = [recorded(text) for text in texts]
        learned, all_of_them = generalise(runs[:3]), generalise(runs)
        if isinstance(learned, NotGeneral) or isinstance(all_of_them, NotGeneral):
            continue
        made += 1
        wrong += [(name, *each) for each in differences(all_of_them, all_of_them.calls)]
        if learned.parameters == all_of_them.parameters:
            wrong += [(name, *each) for each in differences(learned, all_of_them.calls)]
    assert wrong == []
    assert made > 50
