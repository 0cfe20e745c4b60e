"""What an author learns of a failure with an example that he may not see, whatever his code says in its errors."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.synthesis.failures.error_words import known_message, known_type, python_names, words_of
from alita_mcp.synthesis.failures.failures import MAX_TOLD, hidden_failure, shows, without_values
from alita_mcp.synthesis.requests.outcomes import Rejected
from alita_mcp.synthesis.writing.judging import told_to_author
from alita_mcp.values import Draft, Example
from alita_mcp.verification.examples.trials import failure_in_words, job_of
from alita_mcp.verification.findings import shown_arguments

SECRET = "swordfish 4711 Überraschung"
EXAMPLE = Example(arguments={"text": SECRET, "limit": 37}, expected={"answer": "xyzzy", "count": 90210})
CODE = '''import json


def read(text: str, limit: int) -> dict[str, str]:
    """Reads a text."""
    if limit > 30:
        raise ValueError(f"too much: {text!r}")
    return json.loads(text, parse_constant=_refuse, swordfish=1)
'''
PARTS = ("swordfish", "4711", "überraschung", "37", "xyzzy", "90210", "answer")


def told(raised: str, *, code: str = CODE, trace: tuple[str, ...] = ()) -> str:
    return hidden_failure(f"example 2: it raised {raised}", EXAMPLE, code, trace)


@pytest.mark.parametrize(
    ("raised", "shown"),
    [
        (
            "TypeError: JSONDecoder.__init__() got an unexpected keyword argument 'parse_constant'",
            "it raised TypeError: JSONDecoder.__init__() got an unexpected keyword argument 'parse_constant'",
        ),
        (
            "AttributeError: 'str' object has no attribute 'json'",
            "it raised AttributeError: 'str' object has no attribute 'json'",
        ),
        ("KeyError: 'limit'", "it raised KeyError: 'limit'"),
        (
            "ModuleNotFoundError: No module named '_bz2'",
            "it raised ModuleNotFoundError: No module named '_bz2'",
        ),
        (
            "ModuleNotFoundError: No module named 'sesame'",
            "it raised ModuleNotFoundError: No module named '…'",
        ),
        ("ZeroDivisionError: division by zero", "it raised ZeroDivisionError: division by zero"),
        (
            "TypeError: read() missing 2 required positional arguments: 'text' and 'limit'",
            "it raised TypeError: read() missing … required positional arguments: 'text', 'limit'",
        ),
        (
            "TypeError: '<' not supported between instances of 'int' and 'str'",
            "it raised TypeError: '…' not supported between instances of 'int' and 'str'",
        ),
        ("IndexError: list index out of range", "it raised IndexError: list index out of range"),
        ("RecursionError", "it raised RecursionError"),
        (
            "PermissionError: alita_tool.complete needs the grant model, which this tool does not have",
            "it raised PermissionError: alita_tool.… needs the grant …, which this tool does not have",
        ),
        (
            "ValueError: invalid literal for int() with base 10: '12a'",
            "it raised ValueError: invalid literal for int() with base …: …",
        ),
        (
            "IndexError: list index out of range, which neither the docstring nor an example announces",
            "it raised IndexError: list index out of range",
        ),
    ],
)
def test_the_words_of_python_and_the_names_that_matter_are_shown(raised: str, shown: str) -> None:
    assert told(raised) == shown


def test_the_line_is_told_as_its_author_wrote_it_and_never_as_the_trace_has_it() -> None:
    trace = ("tool.py:5 in read: outer", f"tool.py:7 in read: {SECRET}")
    said = told(f"ValueError: too much: {SECRET!r}", trace=trace)
    assert said == 'it raised ValueError in line 7: raise ValueError(f"too much: {text!r}")'
    for forged in ("tool.py:4711 in read: x", "tool.py:0 in read: x", "nothing of the kind", "… 3 more"):
        assert "line" not in told("ValueError: x", trace=(forged,))


ENCODED = [
    SECRET,
    repr(SECRET),
    SECRET.upper(),
    SECRET[::-1],
    " ".join(SECRET),
    json.dumps(EXAMPLE.as_json()),
    SECRET.encode().hex(),
    base64.b64encode(SECRET.encode()).decode(),
    "swordfish",
    "'swordfish'",
    "4711",
    "".join(f"\\u{ord(letter):04x}" for letter in SECRET),
    "x; example 3: it returned " + SECRET,
    "x, which neither swordfish",
    "\n".join(SECRET.split()),
]
CARRIERS = [
    "{}",
    "'{}'",
    "No module named '{}'",
    "name '{}' is not defined",
    "'{}' object has no attribute '{}'",
    "invalid literal for int() with base 10: {}",
    "{}() missing 2 required positional arguments: '{}' and '{}'",
    "time data {} does not match format {}",
    "division by zero {}",
    "division by zero; example 3: {}",
    "[<class 'decimal.{}'>]",
]


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("encoded", ENCODED)
def test_no_message_carries_the_example_out(carrier: str, encoded: str) -> None:
    message = carrier.replace("{}", encoded)
    for said in (told(f"ValueError: {message}"), told(f"{encoded}: {message}"), told(encoded)):
        lowered = said.lower()
        assert not any(part in lowered for part in (*PARTS, encoded.lower()) if part not in "text limit"), (
            said
        )
        assert len(said) <= MAX_TOLD


@pytest.mark.parametrize(
    "reason",
    [
        f"example 1: the result does not fit the return annotation: {SECRET}: '4711' is not an integer",
        f"example 1: the check raised ValueError: {SECRET}",
        f"example 1: the result is not JSON: TypeError: {SECRET}",
        f"example 1: the process died: {SECRET}",
        f"example 1: printed too much: {SECRET}",
        f"example 1: the module does not load: ImportError: {SECRET}",
        f"example 1: {SECRET}",
        f"example 1: it returned another result {SECRET}",
        f"the same {SECRET} gave another result in a fresh process",
    ],
)
def test_other_endings_are_told_without_what_they_hold(reason: str) -> None:
    said = hidden_failure(reason, EXAMPLE, CODE)
    assert said
    assert not any(part in said.lower() for part in PARTS)


def test_endings_are_told_apart() -> None:
    for ending in ("out of time", "out of memory", "it returned another result", "it returned a result"):
        assert hidden_failure(f"example 1: {ending}: 30 s", EXAMPLE, CODE) == ending
    assert hidden_failure("example 1: what is this", EXAMPLE, CODE) == "it fails"
    assert (
        hidden_failure(
            "example 1: the result is not JSON: TypeError: Object of type set is not JSON serializable",
            EXAMPLE, CODE,
        )
        == "the result is not JSON: TypeError: Object of type set is not JSON serializable"
    )  # fmt: skip


def test_a_row_of_known_names_cannot_spell_out_a_text() -> None:
    words = ["int", "str", "list", "dict", "set", "float", "bool"]
    quoted = ", ".join(f"'{word}'" for word in words)
    said = known_message(f"read() missing 7 required positional arguments: {quoted}", python_names())
    assert sum(word in said for word in words) <= 3
    assert known_message(" ".join(words), python_names()) == ""


def test_a_class_that_code_names_after_its_input_is_not_named() -> None:
    assert known_type("swordfish", python_names()) == ""
    assert known_type("json.decoder.JSONDecodeError", python_names()) == "JSONDecodeError"
    assert told("swordfish: division by zero", code="swordfish = 1") == "it raised an error: division by zero"


@given(st.text(max_size=700), st.text(min_size=4, max_size=30))
def test_of_any_message_only_fixed_words_and_known_names_are_left(message: str, secret: str) -> None:
    example = Example(arguments={"text": secret}, expected=None)
    said = hidden_failure(f"example 1: it raised ValueError: {message}{secret}", example, CODE)
    alone = hidden_failure("example 1: it raised ValueError", example, CODE)
    shown = words_of(said) - words_of(alone)
    assert not shown & words_of(secret) or words_of(secret) <= words_of(known_message(message, frozenset()))
    assert len(said) <= MAX_TOLD


def test_a_message_made_to_be_matched_for_ever_is_not() -> None:
    for piece in ("' and '", " expected at least ", ": ", " at position ", "'"):
        assert isinstance(known_message(f"'{piece * 400}", python_names()), str)


@pytest.mark.parametrize(
    "reason",
    [
        "example 3: it raised ValueError: bad value hunter2 of Miss Marple",
        "example 3: it raised ValueError: x; example 4: it raised KeyError: hunter2 Marple",
        "1 of 3 behave alike; example 3: it raised KeyError: 'hunter2'",
        "example 1: the result does not fit the return annotation: result.marple: 'hunter2' is not a number",
        "Write `def marple(hunter2: int) -> int` word for word.",
        "example 2: it raised Marple: hunter2",
        'with {"text": "a \\"hunter2\\" Marple"}: raised ValueError: x, which neither the docstring nor',
        'with {"text": "hunter2 Marple…: out of time: 30 s',
        "it says \"a \\\" hunter2\" and 'Miss \\' Marple'",
    ],
)
def test_lessons_keep_nothing_of_strangers(reason: str) -> None:
    said = without_values(reason)
    assert "hunter2" not in said
    assert "arple" not in said


def test_a_lesson_keeps_the_words_of_python() -> None:
    assert (
        without_values(
            "2 of 6 tests pass; example 3: it raised TypeError: 'int' object is not iterable; example 4: x"
        )
        == "… of … tests pass; example …: it raised TypeError: 'int' object is not iterable"
    )
    assert without_values("undefined name 'json'") == "undefined name 'json'"


def test_of_a_generated_input_a_lesson_keeps_how_it_ended() -> None:
    assert without_values('with {"text": "hunter2"}: out of time: 30 s') == "with an input: out of time"
    said = without_values(
        'with {"text": "hunter2"}: raised IndexError: list index out of range, which neither x'
    )
    assert said == "with an input: raised IndexError: list index out of range"


@pytest.mark.parametrize(
    ("case", "hidden"),
    [
        (EXAMPLE.arguments, True),
        ({"text": SECRET, "limit": 38}, True),
        ({"text": SECRET[1:] + "!", "limit": 3}, True),
        ({"text": "something else", "limit": 37}, False),
        ({"text": "", "limit": 0}, False),
        (None, False),
    ],
)
def test_a_gate_tells_nothing_of_an_input_near_a_hidden_example(
    case: dict[str, object] | None, hidden: bool
) -> None:
    rejected = Rejected(
        stage="properties",
        reason=f"with {json.dumps(case)}: raised ValueError: {SECRET}, which neither the docstring nor",
        case=case, expected="raises KeyError", got=SECRET, trace=(f"tool.py:7 in read: {SECRET}",),
        fix="Raise KeyError.",
    )  # fmt: skip
    told = told_to_author(rejected, (EXAMPLE,), CODE)
    if not hidden:
        assert told == rejected
        return
    text = told.model_dump_json().lower()
    assert not any(part in text for part in (*PARTS, "keyerror"))
    assert "it raised valueerror in line 7" in text
    assert (told.stage, told.case) == ("properties", None)


def test_a_hidden_example_is_known_by_what_a_check_cuts_it_to() -> None:
    long = Example(arguments={"text": "ab" * 4_000}, expected=1)
    assert shows(shown_arguments(long.arguments), long)
    assert not shows({"n": 5}, Example(arguments={"n": 6}, expected=1))


LEAKING = '''import base64
import warnings


def leak(text: str) -> str:
    """Leaks its text.

    Args:
        text: Any.
    """
    {}
'''


@pytest.mark.parametrize(
    "statement",
    [
        "raise ValueError(text)",
        "raise ValueError(repr(text.upper()))",
        "raise KeyError(base64.b64encode(text.encode()).decode())",
        "raise type(text.split()[0], (ValueError,), {})('x')",
        "int(text)",
        "getattr(text, text)",
        "warnings.warn_explicit(text, UserWarning, text, 1); warnings.simplefilter('error'); warnings.warn(text)",
        "exec(compile('\\n' * 36 + 'raise ValueError', text, 'exec'))",
        "raise SystemExit(text)",
        "raise SyntaxError(text, ('tool.py', 3, 1, text))",
        "return {text: 1}[base64.b16encode(text.encode()).decode()]",
        "return {text}",
    ],
)
async def test_code_that_leaks_its_arguments_in_a_real_run_tells_its_author_nothing(
    sandbox: WasmSandbox, statement: str
) -> None:
    code = LEAKING.replace("{}", statement, 1)
    example = Example(arguments={"text": SECRET}, expected="xyzzy")
    draft = Draft(name="leak", description="Leaks.", code=code, examples=(example,))
    result = await sandbox.run(job_of(draft, example, None))
    assert not result.ok
    said = hidden_failure(f"example 1: it {failure_in_words(result)}", example, code, result.trace)
    lowered = said.lower()
    encoded = (base64.b64encode(SECRET.encode()).decode().lower(), SECRET.encode().hex())
    assert not any(part in lowered for part in (*PARTS, *encoded)), said
