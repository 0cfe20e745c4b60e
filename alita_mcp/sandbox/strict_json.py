"""Strict JSON: exact types, no NaN, bounded depth and size. Standard library only: it runs inside and outside."""

from __future__ import annotations

import json
from typing import Any

MAX_DEPTH = 64
MAX_NODES = 500_000
MAX_DIGITS = 4_300
_LARGEST = 10**MAX_DIGITS
_LARGEST_BITS = _LARGEST.bit_length()
_INFINITIES = (float("inf"), float("-inf"))


class NotJson(ValueError):
    """The value is not strict JSON; the message says why, for the author of the code."""


def encode_strict(value: Any, limit: int) -> bytes:
    """The value as UTF-8 JSON.

    Raises:
        NotJson: a type that is not JSON (subclasses included), NaN, too deep, too large.
    """
    check_strict(value)
    try:
        data = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (ValueError, RecursionError) as problem:
        raise NotJson(str(problem)) from problem
    if len(data) > limit:
        raise NotJson(f"the result has {len(data)} bytes, more than the limit of {limit} (result_bytes)")
    return data


def decode_strict(data: bytes) -> Any:
    """The value of JSON that came from inside.

    Raises:
        NotJson: it is no UTF-8, no JSON, or breaks a rule of `encode_strict`.
    """
    try:
        value = json.loads(data.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as problem:
        raise NotJson(f"not JSON: {problem}"[:300]) from problem
    check_strict(value)
    return value


def check_strict(value: Any) -> None:
    """Walks the value without recursion and without calling anything of its own.

    Raises:
        NotJson: as `encode_strict`.
    """
    waiting: list[tuple[Any, int]] = [(value, 0)]
    nodes = 0
    while waiting:
        node, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise NotJson(f"the result is nested deeper than {MAX_DEPTH}")
        kind = type(node)
        if kind is dict or kind is list or kind is tuple:
            nodes += len(node)
        if nodes > MAX_NODES:
            raise NotJson(f"the result has more than {MAX_NODES} parts")
        if kind is dict:
            for key in node:
                _check_key(key)
            waiting += [(child, depth + 1) for child in node.values()]
        elif kind is list or kind is tuple:
            waiting += [(child, depth + 1) for child in node]
        else:
            _check_scalar(node)


def _check_key(key: Any) -> None:
    if type(key) is not str:
        raise NotJson(f"an object's key is a {type(key).__name__}, not a string")
    _check_text(key)


def _check_scalar(node: Any) -> None:
    kind = type(node)
    if kind is str:
        _check_text(node)
    elif kind is int:
        if node.bit_length() > _LARGEST_BITS or not -_LARGEST < node < _LARGEST:
            raise NotJson(f"an integer has more than {MAX_DIGITS} digits")
    elif kind is float:
        if node != node or node in _INFINITIES:  # noqa: PLR0124 - NaN is the one float unlike itself
            raise NotJson("NaN and Infinity are not JSON")
    elif kind is not bool and node is not None:
        raise NotJson(f"a value of type {kind.__name__!r} is not JSON")


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as surrogate:
        raise NotJson("a string holds half a surrogate pair, which is not Unicode text") from surrogate


def _refuse_constant(constant: str) -> Any:
    raise NotJson(f"{constant} is not JSON")
