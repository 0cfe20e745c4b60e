"""Specification, test suite and code as models write them, read tolerantly."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from alita_mcp.errors import InvalidArguments
from alita_mcp.library.words.text import words_of
from alita_mcp.texts import clip
from alita_mcp.toolsmith.example_requests import is_plain, says_nothing_new
from alita_mcp.toolsmith.requests.request import MAX_TEXT, strip_fence
from alita_mcp.unseen import HIDDEN
from alita_mcp.values import TOOL_NAME, Example, ToolContract, Value, VerificationReport, WrittenFrom
from alita_mcp.verification.code.contract import read_contract
from alita_mcp.verification.code.function import check_name
from alita_mcp.verification.examples.conditions import read_condition
from alita_mcp.verification.examples.suite import fit_examples
from alita_mcp.verification.findings import ContractError
from alita_mcp.verification.json_schema import check_arguments

MAX_ASSUMED = 5
MAX_ASSUMED_LINE = 200
"""Longest rule of a specification."""
MAX_RULES = 30
MAX_READ = 1_000
"""So many characters of a line that a planner wrote are looked at."""
TELLING = 4
"""Fewer words than these may stand in any rule by chance."""
_SIGN = re.compile(r"[^\w\s.,;:'\"`]")
_TAG = re.compile(r"<(?=[\s/]*[a-z!?])", re.IGNORECASE)


def read_assumed(raw: Any) -> tuple[str, ...]:
    """Reads what a planner wrote as `assumed`, each entry as `name: what holds`, without what is no plain line."""
    found: dict[str, None] = {}
    for entry in raw[: 2 * MAX_RULES] if isinstance(raw, list | tuple) else ():
        if not isinstance(entry, str):
            continue
        # a stranger's words on one line, without hidden characters and without what could open or close a tag
        words = " ".join(HIDDEN.sub("", entry[:MAX_READ]).split()).strip(": ")
        line = clip(_TAG.sub("\u2039", words), MAX_ASSUMED_LINE)
        if is_plain(line):
            found[line] = None
    return tuple(found)[:MAX_ASSUMED]


def add_assumptions(rules: Sequence[str], assumed: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The rules with the assumed lines that none of them says, and the lines that the limit admits."""
    said = [words_and_signs(rule) for rule in rules]
    missing = []
    for line in assumed:
        # a rule says it in full, or says what holds without the short name before it
        holds = words_and_signs(line.partition(":")[2])
        parts = [words_and_signs(line), *([holds] if len(holds) >= TELLING else [])]
        if not any(part <= rule for part in parts for rule in said):
            missing.append(line)
    left_out = missing[max(0, MAX_RULES - len(rules)) :]
    kept = [line for line in missing if line not in left_out]
    return (*rules, *kept), tuple(line for line in assumed if line not in left_out)


def words_and_signs(text: str) -> frozenset[str]:
    """The words of a line and its signs but punctuation: `-1` is not `1`, and `(0)` is not `0`."""
    return words_of(text) | frozenset(_SIGN.findall(text))


def assumptions_in(report: VerificationReport) -> tuple[str, ...]:
    """The assumed lines of a stored version as an answer lists them; a report from elsewhere is a stranger's word."""
    return read_assumed(report.written_from.assumed) if report.written_from else ()


MAX_QUESTIONS = 5
MAX_LINE = 500
MAX_TESTS = 20
"""Of one suite; the rest is left out."""
MAX_REQUESTS = 10
"""Example requests of one tool, each in other words."""
_TYPING = "from typing import Any, Literal, NotRequired, TypedDict\n"
_WHOLE_NUMBERS = re.compile(r"\bLiteral\[\s*-?\d+(?:\s*,\s*-?\d+)*\s*+,?\s*+\]")
Line = Annotated[str, Field(max_length=MAX_LINE)]


class Written(Value):
    """Base of models' answers; unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore")


def _reasons_first(schema: dict[str, Any]) -> None:
    """Gives an answer a field to think in before it commits itself; it is asked for and left unread."""
    schema["properties"] = {"reasoning": {"type": "string"}, **schema["properties"]}
    schema["required"] = ["reasoning", *schema.get("required", ())]


class Specification(Written):
    """Specification of a tool, written before and without its code and its tests."""

    name: str = Field(pattern=TOOL_NAME)
    description: str = Field(min_length=1, max_length=1_000)
    signature: str = Field(
        min_length=5,
        max_length=2_000,
        description="Classes that it needs, and last the `def` line with annotations.",
    )
    rules: tuple[Line, ...] = Field(
        default=(),
        max_length=30,
        description="What is decided about edge cases and errors, so that tests and code are written to one meaning.",
    )
    assumed: tuple[Line, ...] = Field(default=(), max_length=MAX_ASSUMED)
    """Of the rules those that the request does not say, each with a name before it: `empty input: ValueError`."""
    use_when: tuple[Line, ...] = Field(default=(), max_length=50)
    open_questions: tuple[Line, ...] = ()
    """What the planner does not know and would have to look up."""

    @model_validator(mode="before")
    @classmethod
    def _assumes_its_rules(cls, raw: Any) -> Any:
        """With each assumed line among the rules; whatever else stands there is left out, for no tool fails by it."""
        if not isinstance(raw, dict) or "assumed" not in raw:
            return raw
        assumed, rules = read_assumed(raw["assumed"]), raw.get("rules", ())
        if isinstance(rules, list | tuple) and all(isinstance(rule, str) for rule in rules):
            rules, assumed = add_assumptions(rules, assumed)
        return {**raw, "rules": rules, "assumed": assumed}

    @field_validator("name", mode="before")
    @classmethod
    def _is_a_name(cls, name: Any) -> Any:
        """Refused with the nearest good one, which its writer may take."""
        try:
            check_name(str(name))
        except ContractError as wrong:
            raise ValueError(str(wrong)) from wrong
        return name

    @field_validator("signature")
    @classmethod
    def _without_numbers(cls, signature: str) -> str:
        """A `Literal` of whole numbers is an `int`: contracts know those of strings, and planners like -1, 0 and 1."""
        return _WHOLE_NUMBERS.sub("int", signature)

    @field_validator("use_when", mode="before")
    @classmethod
    def _useful(cls, requests: Any, known: ValidationInfo) -> tuple[str, ...]:
        """Those that a search can use; the others are left out, for no tool fails for want of words."""
        kept: list[str] = []
        for each in requests if isinstance(requests, list | tuple) else ():
            words = " ".join(each.split()) if isinstance(each, str) else ""
            if is_plain(words) and not says_nothing_new(words, kept, str(known.data.get("name", ""))):
                kept.append(words)
        return tuple(kept[:MAX_REQUESTS])

    @field_validator("open_questions", mode="before")
    @classmethod
    def _questions(cls, questions: Any) -> tuple[str, ...]:
        """Those that can be asked; the others are left out, for a planner that asks in vain still plans."""
        texts = questions if isinstance(questions, list | tuple) else ()
        lines = (" ".join(each.split())[:MAX_LINE] for each in texts if isinstance(each, str))
        return tuple(dict.fromkeys(filter(None, lines)))[:MAX_QUESTIONS]

    @model_validator(mode="after")
    def _says_a_contract(self) -> Specification:
        self.contract()
        return self

    def under(self, name: str) -> Specification:
        """The same under another name."""
        signature = re.sub(rf"\bdef\s+{self.name}\b", f"def {name}", self.signature)
        return self.model_copy(update={"name": name, "signature": signature})

    def as_written_from(self, request: str) -> WrittenFrom:
        """The part of the specification that a report keeps."""
        return WrittenFrom(request=request, signature=self.signature, rules=self.rules, assumed=self.assumed)

    def contract(self) -> ToolContract:
        """Contract that the signature declares.

        Raises:
            ValueError: it is no signature of a tool.
        """
        stub = f"{_TYPING}{self.signature.rstrip().rstrip(':')}:\n    pass\n"
        try:
            return read_contract(stub, self.name, self.description)
        except ContractError as broken:
            raise ValueError(f"signature: {broken.check.message}. {broken.check.fix}") from broken


class Suite(Written):
    """Test suite from one draw; entries that are no tests are left out."""

    model_config = ConfigDict(json_schema_extra=_reasons_first)

    tests: tuple[Example, ...] = Field(min_length=1)

    @field_validator("tests", mode="before")
    @classmethod
    def _readable(cls, tests: Any) -> Any:
        if not isinstance(tests, list):
            return tests
        found, problem = [], ""
        for raw in tests[:MAX_TESTS]:
            test = raw
            try:
                # some servers make models fill in every field, so null beside another outcome is no expectation
                others = isinstance(test, dict) and (
                    test.get("raises") is not None or test.get("check") is not None
                )
                if others and test.get("expected") is None:
                    test = {field: value for field, value in test.items() if field != "expected"}
                example = Example.model_validate(test)
                if example.check is not None:
                    read_condition(example, "test")
                found.append(example)
            except ValidationError as invalid:
                problem = str(invalid.errors(include_url=False)[0]["msg"])
            except ContractError as unfit:
                problem = unfit.check.message
        if not found and problem:
            raise ValueError(f"no test can be read: {problem}")
        return tuple(found)

    def tests_that_fit(self, contract: ToolContract) -> tuple[Example, ...]:
        """The tests whose arguments the signature takes."""
        return fit_examples(self.tests, contract.input_schema)

    @classmethod
    def schema_for(cls, contract: ToolContract) -> dict[str, Any]:
        """The JSON schema of a suite whose tests call a tool of this contract.

        Arguments and results are spelled out as the signature has them: providers that hold a model to a schema make
        free-form objects empty ones.
        """
        schema, result = cls.model_json_schema(), contract.output_schema
        test = {
            "arguments": contract.input_schema,
            "expected": result["properties"]["result"] if contract.wraps_result else result,
            "raises": {"type": "string"},
            "check": {"type": "string"},
        }
        item = {"type": "object", "properties": test, "required": ["arguments"]}
        tests = {"type": "array", "items": item}
        return {
            **{key: value for key, value in schema.items() if key != "$defs"},
            "properties": {**schema["properties"], "tests": tests},
        }


class WrittenCode(Written):
    """Module and the packages it needs."""

    model_config = ConfigDict(json_schema_extra=_reasons_first)

    code: Annotated[str, AfterValidator(strip_fence)] = Field(min_length=1, max_length=MAX_TEXT)
    packages: tuple[str, ...] = Field(default=(), max_length=30)


def fits(arguments: dict[str, JsonValue], contract: ToolContract) -> bool:
    """Whether a tool of this contract can be called with these arguments."""
    try:
        check_arguments(contract.input_schema, arguments)
    except InvalidArguments:
        return False
    return True
