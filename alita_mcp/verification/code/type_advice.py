"""Advice for types that JSON or the clients cannot carry."""

from __future__ import annotations

from collections.abc import Sequence

GENERAL_ADVICE = (
    'Write one of: str int float bool list[T] dict[str, T] Literal["a", "b"] T | None, '
    "or a TypedDict of these."
)

FLATTEN = "Flatten the type, or carry the inner part as JSON text in a str."

_LIST = "Write list[str] (or another item type)."
_DICT = "Write dict[str, str] (or another value type), or a TypedDict when the keys are known."
_ANY = "Write the concrete type; for JSON of any shape take or return its text as a str."
_TIME = "Write str and use ISO 8601 text."
_TEXT = "Write str and convert inside the function."
_LITERAL = 'Write Literal["a", "b"] of the values.'
_RECORD = "Write a TypedDict with the same keys."

_ADVICE = {
    **dict.fromkeys(
        ("list", "List", "set", "Set", "frozenset", "FrozenSet", "tuple", "Tuple", "Sequence"), _LIST
    ),
    **dict.fromkeys(
        ("Iterable", "Iterator", "Generator", "Collection", "AsyncIterator", "deque", "ndarray"), _LIST
    ),
    **dict.fromkeys(
        ("dict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict", "Counter"), _DICT
    ),
    **dict.fromkeys(("Any", "object", "JSON", "DataFrame"), _ANY),
    **dict.fromkeys(("datetime", "date", "time", "timedelta", "tzinfo"), _TIME),
    **dict.fromkeys(("Decimal", "Fraction", "UUID", "Path", "PurePath", "Pattern"), _TEXT),
    **dict.fromkeys(("bytes", "bytearray", "memoryview"), "Write str and use base64 text."),
    **dict.fromkeys(("Enum", "StrEnum", "IntEnum", "Flag"), _LITERAL),
    **dict.fromkeys(("NamedTuple", "BaseModel", "namedtuple"), _RECORD),
    "complex": "Write two floats, or list[float].",
    "Callable": "Functions cannot be sent as JSON: take a str that names the choice.",
    "Literal": _LITERAL,
}


def advice_for(name: str, bases: Sequence[str] = ()) -> str:
    """The advice for a type of that dotted name, or for a class with those bases."""
    for candidate in (name, *bases):
        known = _ADVICE.get(candidate.rsplit(".", 1)[-1])
        if known:
            return known
    return GENERAL_ADVICE
