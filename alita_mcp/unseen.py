"""Invisible characters: the pattern that finds them, and texts and code as people are shown them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

CODE_COLUMNS = 100
"""Widest row of code where no terminal says how wide it is."""

_EMOJI = "[\u00a9\u00ae\u2000-\u33ff\U0001f000-\U0001faff\ufe0f]"
_CURSIVE = (
    "\u0620-\u065f\u066e-\u06ef\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufefc\u0900-\u0dff\u1000-\u109f"
)
"""Letters of Arabic, Persian and the Indic scripts, which joiners join and part."""
_TAGS = tuple(
    "".join(chr(0xE0000 + ord(letter)) for letter in region) + "\U000e007f"
    for region in ("gbeng", "gbsct", "gbwls")
)
_FLAGS = "|".join(
    f"(?<=\U0001f3f4{tags[:place]}){tags[place:]}" for tags in _TAGS for place in range(len(tags))
)
"""The flags of England, Scotland and Wales, which alone are written with tag characters."""
_HONEST = (
    f"(?<={_EMOJI})\u200d(?={_EMOJI})|(?<=[{_CURSIVE}])[\u200c\u200d](?=[{_CURSIVE}])|"
    f"(?<={_EMOJI})\ufe0f|(?<=[0-9#*])\ufe0f(?=\u20e3)|{_FLAGS}"
)
_UNSEEN = (
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\ufffe\uffff"
    "\U00013441\U00013442\U00016fe4\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
HIDDEN = re.compile(
    f"(?={_UNSEEN})(?!{_HONEST}){_UNSEEN}|\r(?!\n)"
)  # the first look makes it ten times as fast
"""What a reader does not see: control, zero-width, bidirectional, filler, variation and tag characters, surrogates.

Let through is what writing needs: one joiner between two emoji or two letters that it joins or parts, the emoji
selector behind a symbol. Python ends a line at a lone carriage return, which readers do not.
"""

_BLANKS = 40
"""So many blanks in a row are spelled out in code: what follows them could be overlooked."""
_PIECE = re.compile(
    rf"(?P<risky><(?=U\+)| {{{_BLANKS},}})|(?P<ascii>[ -~])|(?P<other>[^ -~])(?P=other)*", re.DOTALL
)


def spell_hidden(text: str) -> str:
    """Prose and results as people are shown them: each hidden character is spelled out, as in `<U+202E>`."""
    return HIDDEN.sub(lambda found: _spell(found.group()), text)


def code_listing(code: str, columns: int = CODE_COLUMNS) -> list[str]:
    """Code as people are shown it before it runs: numbered lines, in rows of at most so many columns.

    A row that goes on with the line above it has `↪` in its margin. Only a line feed breaks a line. What is shown maps
    one to one to the code: see `code_rows`.
    """
    lines = code.split("\n")
    margin = len(str(len(lines)))
    listing = []
    for number, line in enumerate(lines, 1):
        first, *others = code_rows(line, max(1, columns - margin - len(" | ")))
        listing.append(f"{number:>{margin}} | {first}")
        listing += [f"{'':>{margin}} ↪ {row}" for row in others]
    return listing


def code_rows(line: str, columns: int) -> list[str]:
    """One line of code in rows of at most so many columns; together they are the line.

    Spelled out is every character but those that have ink and stay in their place: controls, tabs, blanks of every kind
    but the space, marks, which may cross out a letter, and letters written from right to left, which move what stands
    beside them. A run is spelled once, as in `<U+0020 x300>`. A `<U+` of the code itself is `<U+003C>U+`.
    """
    rows, row, used = [], "", 0
    for piece in _pieces(line):
        width = sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in piece)
        if row and used + width > columns:
            rows.append(row)
            row, used = "", 0
        row, used = row + piece, used + width
    return [*rows, row]


def _pieces(line: str) -> Iterator[str]:
    """A line of code in pieces that stand on one row: characters, and characters that are spelled out."""
    for found in _PIECE.finditer(line):
        run = found.group()
        if found["ascii"] or (found["other"] and _has_ink(run[0])):
            yield from run
        else:
            yield _spell(run[0], len(run))


def _has_ink(character: str) -> bool:
    """Whether a reader sees a character beyond ASCII by itself, and it moves or crosses out no other one."""
    is_one = unicodedata.category(character)[0] in "LNPS" and character != "\u2800"
    return (
        is_one
        and unicodedata.bidirectional(character) not in ("R", "AL", "AN")
        and not HIDDEN.match(character)
    )


def _spell(character: str, times: int = 1) -> str:
    return f"<U+{ord(character):04X}{f' x{times}' if times > 1 else ''}>"
