"""What is taken over from a published version."""

from __future__ import annotations

from typing import Any

from alita_mcp.library.versions.files import manifest_of
from alita_mcp.toolsmith.requests.request import SynthesisRequest
from alita_mcp.toolsmith.revision import Predecessor, make_revised_draft
from alita_mcp.toolsmith.specification import WrittenCode
from alita_mcp.values import Grants, Limits, StoredVersion, WrittenFrom
from alita_mcp.verification.agreement import Prepared
from alita_mcp.verification.code.contract import read_contract
from alita_mcp.verification.code.function import signature_in
from tests.library.factory import simple

CODE = '''import functools
import math
from typing import Optional, TypedDict

UNIT = 3
Scale = Optional[float]


class Point(TypedDict):
    x: int


class _Cache:
    entries: dict = {}


Points = list[Point]


@functools.cache
async def area(points: Points, scale: Scale = None) -> dict[str, Point]:
    """Gives an area."""
    return {}


limit: int = 5
'''
WRITTEN_FROM = WrittenFrom(request="", signature="", rules=("empty: 0", "a: b"))
REACHES = Grants(network=("api.example.org",), secrets=("TOKEN",))


def version(**draft: Any) -> StoredVersion:
    accepted = simple("weather", "Tells the weather.", **draft)
    return StoredVersion(
        manifest=manifest_of(accepted, 3),
        code=accepted.draft.code,
        lock=accepted.lock,
        examples=accepted.draft.examples,
        report=accepted.report,
    )


def test_a_signature_is_its_line_behind_what_its_annotations_name() -> None:
    assert signature_in(CODE, "area").splitlines() == [
        "from typing import Optional, TypedDict",
        "Scale = Optional[float]",
        "class Point(TypedDict):",
        "    x: int",
        "Points = list[Point]",
        "async def area(points: Points, scale: Scale=None) -> dict[str, Point]",
    ]


def test_a_version_is_specified_by_its_code_as_far_as_that_is_short() -> None:
    def predecessor(code: str) -> Predecessor:
        one = version().model_copy(update={"code": code})
        one = one.model_copy(update={"report": one.report.model_copy(update={"written_from": WRITTEN_FROM})})
        contract = read_contract(code, "weather", "Tells the weather.")
        return Predecessor(one, contract, Prepared(one.draft), ())

    code = CODE.replace("async def area", "async def weather")
    specification = predecessor(code).specification()
    assert specification is not None
    assert set(specification.contract().input_schema["properties"]) == {"points", "scale"}
    assert specification.rules == ("empty: 0", "a: b")
    fields = "".join(f"\n    {'y' * 60}_{n}: Literal['{'z' * 60}']" for n in range(19))
    long = code.replace("Optional, ", "Literal, Optional, ").replace("x: int", f"x: int{fields}")
    assert predecessor(long).specification() is None


def test_a_changed_rule_takes_the_place_of_that_of_its_name() -> None:
    one = version()
    one = one.model_copy(update={"report": one.report.model_copy(update={"written_from": WRITTEN_FROM})})
    contract = read_contract(one.code, "weather", "Tells the weather.")
    base = Predecessor(one, contract, Prepared(one.draft), ())
    assert base.rules(("EMPTY: 1", "", "c: 5")) == ("a: b", "EMPTY: 1", "c: 5")
    assert len(base.rules(tuple(f"{number}: x" for number in range(99)))) == 30


def test_what_a_request_does_not_change_is_carried_over() -> None:
    before = version(
        packages=("httpx>=0.27",),
        grants=REACHES,
        limits=Limits(wall_seconds=9),
        use_when=("will it rain",),
        varies=("clock",),
    )
    request = SynthesisRequest(
        name="weather", description="It is wrong.", update=True, use_when=("is it cold",)
    )
    draft = make_revised_draft(before, WrittenCode(code=CODE), request)
    expected = before.draft.model_copy(
        update={"code": CODE, "examples": (), "use_when": ("will it rain", "is it cold")}
    )
    assert draft == expected


def test_what_a_request_names_takes_the_place_of_what_was() -> None:
    before = version(packages=("httpx>=0.27",), grants=REACHES, varies=("clock",))
    request = SynthesisRequest(name="weather", update=True, workspace="read", varies=("random",))
    draft = make_revised_draft(before, WrittenCode(code=CODE, packages=("httpx>=0.28",)), request)
    assert draft.grants == Grants(workspace="read"), (
        "a right that the request leaves out is not asked for again"
    )
    assert (draft.packages, draft.varies) == (("httpx>=0.28",), ("random",))
    named = make_revised_draft(
        before, WrittenCode(code=CODE), request.model_copy(update={"packages": ("numpy",)})
    )
    assert named.packages == ("numpy",)
