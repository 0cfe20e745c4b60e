"""PYTHONHASHSEED of calls: derived from code and clock, unpredictable outside this process."""

from __future__ import annotations

import hashlib
import secrets
from functools import cache


def hash_seed(code: str, clock_offset_s: int) -> int:
    """Hash seed of all calls of this code under this clock, constant while this process lives.

    Gates and real calls get theirs here, so that code cannot tell a rehearsal by it; another clock is another seed.
    """
    word = f"{clock_offset_s} {code}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(word, key=_key(), digest_size=4).digest(), "big")


@cache
def _key() -> bytes:
    return secrets.token_bytes(32)
