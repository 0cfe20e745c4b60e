"""Pattern of invisible characters in texts."""

from __future__ import annotations

import re

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
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\U000e0000-\U000e0fff]"
)
HIDDEN = re.compile(f"(?!{_HONEST}){_UNSEEN}")
"""What a reader does not see: control, zero-width, bidirectional, filler, variation and tag characters, surrogates.

Let through is what writing needs: one joiner between two emoji or two letters that it joins or parts, the emoji
selector behind a symbol.
"""
