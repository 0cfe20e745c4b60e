"""Annotations become the subset of JSON Schema that every client accepts, or are refused with a way out."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from alita_mcp.errors import InvalidArguments
from alita_mcp.values import Schema
from alita_mcp.verification.code.contract import read_contract
from alita_mcp.verification.code.schema import MAX_NODES, levels_of
from alita_mcp.verification.findings import ContractError
from alita_mcp.verification.json_schema import validate_arguments, validate_result

TYPING = (
    "from __future__ import annotations\nimport typing as t\nimport typing\nimport dataclasses as dc\n"
    "from dataclasses import dataclass, field\n"
    "from typing import (Any, Annotated, ClassVar, Dict, List, Literal, NamedTuple)\n"
    "from typing import (Optional, Tuple, TypedDict, Union)\n"
    "from typing_extensions import NotRequired, Required, ReadOnly\nimport datetime, decimal, enum\n"
)


def input_schema(annotation: str, before: str = "", default: str = "") -> Schema:
    default = f" = {default}" if default else ""
    code = f"{TYPING}{before}\ndef probe(x: {annotation}{default}) -> int:\n    return 1\n"
    return read_contract(code, "probe", "Probes.").input_schema["properties"]["x"]


def output_schema(annotation: str, before: str = "") -> tuple[Schema, bool]:
    contract = read_contract(f"{TYPING}{before}\ndef probe() -> {annotation}: ...\n", "probe", "Probes.")
    return contract.output_schema, contract.wraps_result


STRING, INTEGER = {"type": "string"}, {"type": "integer"}


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        ("str", STRING),
        ("int", INTEGER),
        ("float", {"type": "number"}),
        ("bool", {"type": "boolean"}),
        ("'str'", STRING),
        ("list[int]", {"type": "array", "items": INTEGER}),
        ("List[int]", {"type": "array", "items": INTEGER}),
        ("t.List['int']", {"type": "array", "items": INTEGER}),
        ("typing.Dict[str, int]", {"type": "object", "additionalProperties": INTEGER}),
        (
            "dict[str, list[str]]",
            {"type": "object", "additionalProperties": {"type": "array", "items": STRING}},
        ),
        ("Literal['a', 'b', 'a']", {"type": "string", "enum": ["a", "b"]}),
        ("Literal['a'] | Literal['b']", {"type": "string", "enum": ["a", "b"]}),
        ("int | float", {"type": "number"}),
        ("Union[float, int, float]", {"type": "number"}),
        ("str | str", STRING),
        ("Annotated[str, 'Who \\n it is']", {"type": "string", "description": "Who it is"}),
        ("Annotated[int, 5]", INTEGER),
        (
            "list[Annotated[str, 'A name']]",
            {"type": "array", "items": {"type": "string", "description": "A name"}},
        ),
        ("Names", {"type": "array", "items": STRING}),
        ("Also", {"type": "array", "items": STRING}),
    ],
)
def test_annotations_become_schemas(annotation: str, schema: Schema) -> None:
    before = "Names = List[str]\nAlso: t.TypeAlias = Names"
    assert input_schema(annotation, before) == schema


@pytest.mark.parametrize(
    "annotation",
    ["int | None", "None | int", "Optional[int]", "Union[int, None]", "Annotated[int | None, 5]"],
)
def test_a_parameter_that_may_be_none_is_an_optional_property(annotation: str) -> None:
    assert input_schema(annotation, default="None") == INTEGER
    assert input_schema(annotation, default="3") == {"type": "integer", "default": 3}


POINT = """
class Point(TypedDict):
    x: Required[float]
    label: NotRequired[str]
class Named(Point, total=False):
    name: Required[Annotated[str, "Its name"]]
    tags: ReadOnly[list[str]]
"""
POINT_SCHEMA = {
    "type": "object",
    "properties": {
        "x": {"type": "number"},
        "label": STRING,
        "name": {"type": "string", "description": "Its name"},
        "tags": {"type": "array", "items": STRING},
    },
    "required": ["x", "name"],
}


def test_typed_dicts_are_inlined_with_what_they_inherit() -> None:
    closed = {**POINT_SCHEMA, "additionalProperties": False}
    assert input_schema("Named", POINT) == closed
    assert input_schema("list[Named]", POINT) == {"type": "array", "items": closed}
    assert output_schema("Named", POINT) == (POINT_SCHEMA, False)


def test_dataclasses_are_objects_and_defaults_make_their_keys_optional() -> None:
    before = (
        "@dc.dataclass(frozen=True)\nclass P:\n    x: int\n    k: ClassVar[str] = ''\n    y: list[int] = field()\n"
        "    z: int | None = None\n    tags: list[str] = dc.field(default_factory=list)\n"
        "    total: int = field(init=False)\n"
    )
    words = {"type": "array", "items": STRING}
    numbers = {"type": "array", "items": INTEGER}
    assert input_schema("P", before) == {
        "type": "object",
        "properties": {"x": INTEGER, "y": numbers, "z": INTEGER, "tags": words},
        "required": ["x", "y"],
        "additionalProperties": False,
    }
    assert output_schema("P", before) == (
        {
            "type": "object",
            "properties": {
                "x": INTEGER,
                "y": numbers,
                "z": {"description": "integer or null"},
                "tags": words,
                "total": INTEGER,
            },
            "required": ["x", "y", "z", "tags", "total"],
        },
        False,
    )
    with pytest.raises(ContractError, match="not a JSON type"):
        output_schema("P", "@staticmethod\nclass P: ...")


def test_a_key_that_may_be_none_is_left_out_or_refused() -> None:
    before = "class P(TypedDict):\n    a: NotRequired[int | None]\n    b: {}\n"
    assert input_schema("P", before.format("int"))["properties"]["a"] == INTEGER
    for refused in ("int | None", "None", "NotRequired[None]"):
        with pytest.raises(ContractError, match="null cannot stand"):
            input_schema("P", before.format(refused))


@pytest.mark.parametrize(
    ("annotation", "result"),
    [
        ("int | None", {"description": "integer or null"}),
        ("Optional[list[str]]", {"description": "array of string or null"}),
        ("Literal['a', 'b'] | None", {"description": '"a" or "b" or null'}),
        ("Annotated[int | None, 'The age']", {"description": "The age (integer or null)"}),
        ("list[int | None]", {"type": "array", "items": {"description": "integer or null"}}),
        (
            "list[list[int | None] | None]",
            {"type": "array", "items": {"description": "array of integer or null or null"}},
        ),
        ("list[None]", {"type": "array", "items": {"description": "null"}}),
        ("tuple[int, ...]", {"type": "array", "items": INTEGER}),
        ("Tuple[str, str]", {"type": "array", "items": STRING}),
    ],
)
def test_results_are_wrapped_and_null_is_said_in_words(annotation: str, result: Schema) -> None:
    schema, wraps = output_schema(annotation)
    assert wraps
    assert schema == {"type": "object", "properties": {"result": result}, "required": ["result"]}


@pytest.mark.parametrize(
    ("annotation", "fix"),
    [
        ("list", "list[str]"),
        ("List", "list[str]"),
        ("dict", "dict[str, str]"),
        ("set[int]", "list[str]"),
        ("Any", "JSON of any shape"),
        ("object", "JSON of any shape"),
        ("bytes", "base64"),
        ("complex", "floats"),
        ("datetime.datetime", "ISO 8601"),
        ("decimal.Decimal", "convert inside"),
        ("t.Callable[[int], int]", "choice"),
        ("t.Sequence[int]", "list[str]"),
        ("t.Mapping[str, int]", "dict[str, str]"),
        ("Colour", "Literal"),
        ("Row", "TypedDict"),
        ("_Plain", "Write one of"),
        ("Unknown", "Write one of"),
        ("list[int, str]", "list[str]"),
        ("str | int", "one type"),
        ("list[int] | list[str]", "one type"),
        ("dict[int, str]", "dict[str, T]"),
        ("dict[str]", "dict[str, str]"),
        ("Literal[1, 2]", "Literal["),
        ("Literal[None]", "Literal["),
        ("Literal['\\ud800']", "visible"),
        ("tuple[int, ...]", "list[T]"),
        ("list[int | None]", "NotRequired"),
        ("dict[str, None]", "NotRequired"),
        ("list[list[list[list[int]]]]", "Flatten"),
        ("Tree", "Flatten"),
        ("t.Final[int]", "Write one of"),
        ("Wide", "Split"),
        ("Odd", "a-z"),
        ("None | None", "Remove"),
        ("x.y", "Write"),
        ("Optional[int, str]", "Write one of"),
        ("Annotated[int]", "Write one of"),
        ("list[Big]", "fewer"),
    ],
)
def test_what_cannot_be_expressed_is_refused_with_what_to_write(annotation: str, fix: str) -> None:
    wide = "".join(f"    k{n}: int\n" for n in range(21))
    big = "".join(f"    k{n}: Mid\n" for n in range(20))
    mid = "".join(f"    k{n}: Optional[Union[int, float]]\n" for n in range(20)).replace(
        "Optional", "NotRequired"
    )
    before = (
        "class Colour(enum.Enum):\n    RED = 1\nclass Row(NamedTuple):\n    a: int\nclass _Plain: ...\n"
        "class Tree(TypedDict):\n    below: list['Tree']\nclass Odd(TypedDict):\n    ö: int\n"
        f"class Wide(TypedDict):\n{wide}class Mid(TypedDict):\n{mid}class Big(TypedDict):\n{big}"
    )
    with pytest.raises(ContractError) as caught:
        input_schema(annotation, before)
    assert caught.value.check.stage == "schema"
    assert "parameter 'x'" in caught.value.message
    assert fix in caught.value.hint


def test_results_know_no_recursion_and_no_mixed_tuples() -> None:
    for annotation in (
        "tuple[int, str]",
        "tuple[()]",
        "Tree",
        "list[list[list[list[int]]]]",
        "dict[int, str]",
    ):
        with pytest.raises(ContractError, match="the result"):
            output_schema(annotation, "class Tree(TypedDict):\n    below: list['Tree']\n")
    assert levels_of(output_schema("list[list[list[int]]]")[0]) == 4
    assert levels_of(output_schema("dict[str, list[list[list[int]]]]")[0]) == 4


def test_a_signature_is_read_in_bounded_work() -> None:
    chain = "".join(f"A{n} = t.Union[A{n + 1}, A{n + 1}]\n" for n in range(12)) + "A12 = int"
    assert MAX_NODES < 2**12
    with pytest.raises(ContractError, match="too large"):
        input_schema("A0", chain)


SCALARS: dict[str, tuple[st.SearchStrategy[Any], Any]] = {
    "str": (st.text(max_size=5), 1),
    "int": (st.integers(), 1.5),
    "float": (st.floats(allow_nan=False, allow_infinity=False) | st.integers(), True),
    "bool": (st.booleans(), 0),
    'Literal["a", "b"]': (st.sampled_from(["a", "b"]), "c"),
}


def _lists(inner: tuple[str, st.SearchStrategy[Any], Any]) -> tuple[str, st.SearchStrategy[Any], Any]:
    return f"list[{inner[0]}]", st.lists(inner[1], max_size=3), [inner[2]]


def _dicts(inner: tuple[str, st.SearchStrategy[Any], Any]) -> tuple[str, st.SearchStrategy[Any], Any]:
    return (
        f"dict[str, {inner[0]}]",
        st.dictionaries(st.text(max_size=3), inner[1], max_size=3),
        {"k": inner[2]},
    )


TYPES = st.recursive(
    st.sampled_from([(name, values, wrong) for name, (values, wrong) in SCALARS.items()]),
    lambda inner: inner.map(_lists) | inner.map(_dicts),
    max_leaves=3,
)
KEYWORDS = {
    "type",
    "properties",
    "required",
    "items",
    "additionalProperties",
    "enum",
    "description",
    "default",
}


def assert_in_subset(node: Schema, depth: int = 0) -> None:
    assert node.keys() <= KEYWORDS
    assert depth <= 4
    assert isinstance(node.get("type", ""), str)
    assert "type" in node or node.keys() == {"description"}
    assert ("items" in node) == (node.get("type") == "array")
    assert len(node.get("properties", {})) <= 20
    for name, child in node.get("properties", {}).items():
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name)
        assert_in_subset(child, depth + 1)
    for keyword in ("items", "additionalProperties"):
        if isinstance(node.get(keyword), dict):
            assert_in_subset(node[keyword], depth + 1)


@given(TYPES, st.booleans(), st.data())
def test_any_tree_of_types_gives_a_schema_that_fits_its_values_only(
    tree: tuple[str, st.SearchStrategy[Any], Any], nullable: bool, data: st.DataObject
) -> None:
    written, values, wrong = tree
    result = f"{written} | None" if nullable else written
    code = (
        f"from typing import Literal\ndef probe(x: {written}, y: {written} | None = None) -> {result}: ...\n"
    )
    try:
        contract = read_contract(code, "probe", "Probes.")
    except ContractError as refused:
        assert (
            max(map(len, re.findall(r"(?:(?:list\[|dict\[str, )+)", written)), default=0) > len("list[") * 2
        )
        assert "levels" in refused.message  # noqa: PT017
        return
    for schema in (contract.input_schema, contract.output_schema):
        Draft202012Validator.check_schema(schema)
        assert_in_subset(schema)
    value = data.draw(values)
    validate_arguments(contract.input_schema, {"x": value})
    validate_arguments(contract.input_schema, {"x": value, "y": value})
    for arguments in ({}, {"x": wrong}, {"x": None}, {"x": value, "y": wrong}, {"x": value, "z": 1}):
        with pytest.raises(InvalidArguments):
            validate_arguments(contract.input_schema, arguments)
    delivered = {"result": value} if contract.wraps_result else value
    assert validate_result(contract.output_schema, delivered) is None
    if nullable:
        assert contract.wraps_result
        assert validate_result(contract.output_schema, {"result": None}) is None
    else:
        assert validate_result(contract.output_schema, {"result": wrong} if contract.wraps_result else wrong)
