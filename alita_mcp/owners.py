"""Owners: to whom what a client does belongs, and whose records make room where a store is full."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeVar, get_args

T = TypeVar("T")
USER = "user"
"""The operating-system user: over stdio, at the command line, and in records that name no owner."""
ANYONE = "anyone"
"""The owner of all that is done over HTTP where no token is asked for."""
WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}")
"""Names of tokens, teams and subjects."""

ScopeName = Literal["call", "make", "manage", "approve"]
SCOPES: tuple[ScopeName, ...] = get_args(ScopeName)
"""What a token may allow: to call tools, run code and have tasks solved; to make tools; to change tools that are
there; to approve what they ask for."""


class Principal(NamedTuple):
    """Who sends requests over HTTP, and what it may do."""

    owner: str
    scopes: frozenset[str]
    id: str = ""
    """Of its token, or of client and grant where an authorization server issued it; empty for the server's own."""


def team_of(owner: str) -> str:
    """The team of an owner `TEAM/SUBJECT`; empty for one without a team."""
    team, slash, _ = owner.partition("/")
    return team if slash else ""


def token_digest(token: str) -> str:
    """What is kept of a bearer token; it is random, so that no salt is needed, and looking it up tells nothing."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def token_owner(token: str | None) -> str:
    """The owner of the requests that carry the server's own token; without one, everybody."""
    return ANYONE if token is None else f"token:{token_digest(token)[:16]}"


class ClientIdentity(NamedTuple):
    """Identity of a client that searches and calls."""

    key: str = ""
    """What tells this client from all others, as long as it lasts; empty where nothing does."""
    client: str = ""
    """What it calls itself, with its version; anybody may say anything."""
    owner: str = USER
    """To whom what it does belongs; nothing that it says changes that."""

    @property
    def journal_detail(self) -> dict[str, str]:
        """What the journal says of it; nothing of the user without a client."""
        said = {"client": self.client, "owner": "" if self.owner == USER else self.owner}
        return {name: value for name, value in said.items() if value}


UNIDENTIFIED = ClientIdentity()


class Maker(NamedTuple):
    """Maker of a version of a tool, or a client that reads one."""

    name: str = ""
    """What it calls itself, without its version; empty where it is not known."""
    owner: str = USER


UNKNOWN_MAKER = Maker()
"""Of versions in the files of a home that no catalogue knew, or of an earlier alita."""
COMMAND_LINE = Maker("the command line")
"""Of what came in through `alita`."""


def choose_surplus(
    kept: Iterable[tuple[T, str, int]], owner: str, most: int, most_bytes: float = math.inf
) -> list[T]:
    """Items that are too many, or too large together, of items with owners and sizes, the oldest first.

    Each owner has a fair share of the room, at least one item, of which nobody else takes a part. The `owner` who needs
    room loses its own oldest items while it holds more than that, and otherwise the owner that holds most.
    """
    queues: defaultdict[str, deque[tuple[T, int]]] = defaultdict(deque)
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for item, whose, size in kept:
        queues[whose].append((item, size))
        counts[whose] += 1
        sizes[whose] += size
    surplus = []
    for held, limit in ((counts, most), (sizes, most_bytes)):
        while held.total() > max(0, limit):
            has_more = held[owner] * len(queues) > max(limit, len(queues))
            loser = owner if has_more else max(held, key=held.__getitem__)
            item, size = queues[loser].popleft()
            counts[loser] -= 1
            sizes[loser] -= size
            surplus.append(item)
    return surplus
