"""Redaction of error messages: only Python's own words and known names remain for readers who may not see the call.

A tool's code may put its arguments into its errors, encoded as it likes. So nothing of a message is passed on but the
words of Python's own messages listed here, and in their gaps names that are known without the call.
"""

from __future__ import annotations

import builtins
import datetime
import decimal
import json
import keyword
import re
import sys
from collections.abc import Iterable
from functools import cache
from typing import Any

MAX_NAMES = 3
"""Of one message; a row of names could spell out a text."""
MAX_MESSAGE = 600
HIDDEN = "…"
_WORD = re.compile(r"\w+")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_LISTED = re.compile(r"'([A-Za-z_]\w*)'")
_GAP = "@"
_ANYTHING = "(.{0,200}?)"
_MESSAGES = """
@() got an unexpected keyword argument '@'
@() got an unexpected keyword argument '@'. Did you mean '@'?
@() got multiple values for argument '@'
@() got some positional-only arguments passed as keyword arguments: '@'
@() missing @ required positional argument: @
@() missing @ required positional arguments: @
@() missing @ required keyword-only argument: @
@() missing @ required keyword-only arguments: @
@() missing required argument '@' (pos @)
@() takes no keyword arguments
@() takes no arguments (@ given)
@() takes exactly one argument (@ given)
@() takes @ positional argument but @ was given
@() takes @ positional argument but @ were given
@() takes @ positional arguments but @ was given
@() takes @ positional arguments but @ were given
@() takes from @ to @ positional arguments but @ were given
@() argument must be a string, a bytes-like object or a real number, not '@'
@() argument must be a string or a real number, not '@'
@() can't convert non-string with explicit base
@() arg is an empty sequence
@() iterable argument is empty
@ expected @ argument, got @
@ expected @ arguments, got @
@ expected at least @ argument, got @
@ expected at least @ arguments, got @
@ expected at most @ argument, got @
@ expected at most @ arguments, got @
'@' is an invalid keyword argument for @()
'@' object has no attribute '@'
'@' object has no attribute '@'. Did you mean: '@'?
type object '@' has no attribute '@'
module '@' has no attribute '@'
module '@' has no attribute '@'. Did you mean: '@'?
cannot import name '@' from '@'
cannot import name '@' from '@' (@)
No module named '@'
No module named '@'; '@' is not a package
name '@' is not defined
name '@' is not defined. Did you mean: '@'?
name '@' is not defined. Did you forget to import '@'?
name '@' is not defined. Did you mean: '@'? Or did you forget to import '@'?
cannot access local variable '@' where it is not associated with a value
cannot access free variable '@' where it is not associated with a value in enclosing scope
'@' object is not callable
'@' object is not iterable
'@' object is not subscriptable
'@' object is not reversible
'@' object is not an iterator
'@' object is not a mapping
'@' object cannot be interpreted as an integer
'@' object does not support item assignment
'@' object does not support item deletion
'@' object does not support the context manager protocol
'@' not supported between instances of '@' and '@'
unsupported operand type(s) for @: '@' and '@'
unsupported operand type(s) for @: '@' and '@'. Did you mean "@"?
bad operand type for unary @: '@'
unhashable type: '@'
cannot use '@' as a dict key (unhashable type: '@')
cannot use '@' as a set element (unhashable type: '@')
can only concatenate @ (not "@") to @
can only join an iterable
sequence item @: expected str instance, @ found
argument of type '@' is not iterable
argument of type '@' is not a container or iterable
object of type '@' has no len()
cannot unpack non-iterable @ object
cannot convert dictionary update sequence element #@ to a sequence
not enough values to unpack (expected @, got @)
not enough values to unpack (expected at least @, got @)
too many values to unpack (expected @)
too many values to unpack (expected @, got @)
must be @, not @
must be real number, not @
must be str or None, not @
expected str, bytes or os.PathLike object, not @
expected string or bytes-like object
expected string or bytes-like object, got '@'
a bytes-like object is required, not '@'
encoding without a string argument
decoding to str: need a bytes-like object, @ found
an integer is required
float expected at least @
list index out of range
list assignment index out of range
string index out of range
tuple index out of range
index out of range
pop from empty list
pop from an empty deque
pop from an empty set
pop index out of range
pop(): dictionary is empty
range() arg @ must not be zero
list indices must be integers or slices, not @
string indices must be integers, not '@'
tuple indices must be integers or slices, not @
slice indices must be integers or None or have an __index__ method
slice step cannot be zero
substring not found
empty separator
list.remove(x): x not in list
list.index(x): x not in list
tuple.index(x): x not in tuple
@ is not in list
dictionary changed size during iteration
deque mutated during iteration
Set changed size during iteration
division by zero
float division by zero
float floor division by zero
integer division or modulo by zero
integer modulo by zero
float modulo
modulo by zero
float modulo by zero
zero to a negative power
math domain error
math range error
math argument must be non-negative
factorial() not defined for negative values
cannot convert float NaN to integer
cannot convert float infinity to integer
cannot convert Infinity to integer
cannot convert NaN to integer
int too large to convert to float
integer division result too large for a float
Python int too large to convert to C @
negative shift count
can't multiply sequence by non-int of type '@'
Exceeds the limit (@ digits) for integer string conversion; use sys.set_int_max_str_digits() to increase the limit
Exceeds the limit (@ digits) for integer string conversion: value has @ digits; use \
sys.set_int_max_str_digits() to increase the limit
invalid literal for int() with base @: @
could not convert string to float: @
Unknown format code '@' for object of type '@'
Invalid format specifier
Invalid format specifier '@' for object of type '@'
unsupported format string passed to @.__format__
not all arguments converted during string formatting
not enough arguments for format string
Replacement index @ out of range for positional args tuple
'@' codec can't encode character @ in position @: @
'@' codec can't encode characters in position @: @
'@' codec can't decode byte @ in position @: @
'@' codec can't decode bytes in position @: @
chr() arg not in range(0x110000)
ord() expected a character, but string of length @ found
maximum recursion depth exceeded
maximum recursion depth exceeded in comparison
maximum recursion depth exceeded while calling a Python object
Object of type @ is not JSON serializable
Out of range float values are not JSON compliant
Out of range float values are not JSON compliant: @
Circular reference detected
keys must be str, int, float, bool or None, not @
the JSON object must be str, bytes or bytearray, not @
Expecting value: line @ column @ (char @)
Expecting ',' delimiter: line @ column @ (char @)
Expecting ':' delimiter: line @ column @ (char @)
Expecting property name enclosed in double quotes: line @ column @ (char @)
Extra data: line @ column @ (char @)
Unterminated string starting at: line @ column @ (char @)
Invalid control character at: line @ column @ (char @)
Invalid \\escape: line @ column @ (char @)
Invalid isoformat string: @
time data @ does not match format @
unconverted data remains: @
month must be in 1..12
month must be in 1..12, not @
day is out of range for month
day @ must be in range 1..@ for month @ in year @
hour must be in 0..23
hour must be in 0..23, not @
minute must be in 0..59
minute must be in 0..59, not @
second must be in 0..59
second must be in 0..59, not @
year @ is out of range
year must be in 1..9999, not @
date value out of range
can't compare offset-naive and offset-aware datetimes
can't subtract offset-naive and offset-aware datetimes
[<class 'decimal.@'>]
Incorrect padding
non-hexadecimal number found in fromhex() arg at position @
missing ), unterminated subpattern at position @
unbalanced parenthesis at position @
unterminated character set at position @
nothing to repeat at position @
bad escape @ at position @
no such group
no median for empty data
alita_tool.@ needs the grant @, which this tool does not have
mean requires at least one data point
'@'
"""
"""Messages of CPython and its library; `@` stands for whatever differs. The last is what a KeyError says."""


@cache
def _templates() -> tuple[tuple[re.Pattern[str], list[str]], ...]:
    lines = _MESSAGES.replace("\\\n", "").replace("\\\\", "\\").strip().splitlines()
    rows = [line.split(_GAP) for line in lines]
    return tuple((re.compile(_ANYTHING.join(map(re.escape, row)), re.DOTALL), row) for row in rows)


@cache
def python_names() -> frozenset[str]:
    """Names that stand in Python itself: builtins, library modules, keywords, what the plain types have."""
    kinds = (str, bytes, int, float, complex, list, tuple, dict, set, range, object, type)
    dated = (datetime.datetime, datetime.timedelta, decimal.Decimal)
    names = {*dir(builtins), *sys.stdlib_module_names, *keyword.kwlist, *dir(datetime), *dir(decimal)}
    names.update(name for kind in (*kinds, *dated) for name in dir(kind))
    names.update(("NoneType", "function", "generator", "coroutine", "method", "module", "dict_keys"))
    names.update(
        ("dict_values", "dict_items", "builtin_function_or_method", "JSONDecodeError", "JSONDecoder")
    )
    return frozenset(names)


def words_of(value: Any) -> frozenset[str]:
    """The words of a value, in small letters."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return frozenset(_WORD.findall(text.casefold()))


def known_message(message: str, known: frozenset[str], hidden: frozenset[str] = frozenset()) -> str:
    """A message of Python with only `known` names in its gaps, none of them `hidden`; empty for any other message."""
    message = message[:MAX_MESSAGE].strip()
    for pattern, fixed in _templates():
        found = pattern.fullmatch(message)
        if found is not None:
            gaps = _filled(found.groups(), known, hidden)
            return "".join(part for pair in zip(fixed, [*gaps, ""], strict=True) for part in pair)
    return ""


def known_type(name: str, known: frozenset[str], hidden: frozenset[str] = frozenset()) -> str:
    """The class of an error by its last name where that is known: its code may name a class as it likes."""
    last = name.rpartition(".")[2]
    return last if last in known and last.casefold() not in hidden else ""


def _filled(gaps: Iterable[str], known: frozenset[str], hidden: frozenset[str]) -> list[str]:
    left = MAX_NAMES
    filled = []
    for gap in gaps:
        names = [gap] if _NAME.fullmatch(gap) else _LISTED.findall(gap)
        shown = [name for name in names if _may_show(name, known, hidden)][:left]
        left -= len(shown)
        filled.append((shown[0] if names == [gap] else ", ".join(map(repr, shown))) if shown else HIDDEN)
    return filled


def _may_show(name: str, known: frozenset[str], hidden: frozenset[str]) -> bool:
    return all(part in known and part.casefold() not in hidden for part in name.split("."))
