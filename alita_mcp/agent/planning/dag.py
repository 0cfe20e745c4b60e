"""Dependency graph of a plan's steps: their order, and their time when run in parallel."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def in_order(
    needed: Sequence[Collection[int]],
) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...], tuple[str, ...]]:
    """Steps in an executable order, their dependencies in the new numbers, and the repairs made.

    Of steps that could come next, the first as they were given does (Kahn 1962). References to the step itself and to
    steps that do not exist are dropped; where all that are left wait for one another, the first stops waiting.
    """
    repairs: list[str] = []
    waits: list[set[int]] = []
    for at, named in enumerate(needed):
        real = {other for other in named if 0 <= other < len(needed) and other != at}
        if len(real) < len(set(named)):
            repairs.append(f"step {at + 1} waited for steps that do not exist")
        waits.append(real)
    order: list[int] = []
    while len(order) < len(needed):
        rest = [at for at in range(len(needed)) if at not in order]
        following = next((at for at in rest if waits[at] <= set(order)), None)
        if following is None:
            following = rest[0]
            waits[following] &= set(order)
            repairs.append(f"step {following + 1} waited in a circle")
        order.append(following)
    place = {at: new for new, at in enumerate(order)}
    return tuple(order), tuple(tuple(sorted(place[o] for o in waits[at])) for at in order), tuple(repairs)


def added_seconds(needed: Sequence[Collection[int]], seconds: Sequence[float]) -> tuple[float, ...]:
    """Seconds by which each step delays the end when steps begin as soon as possible; they add up.

    Each step needs earlier ones only, counted from 0.
    """
    ends: list[float] = []
    added: list[float] = []
    for named, own in zip(needed, seconds, strict=True):
        end = max((ends[other] for other in named), default=0.0) + own
        added.append(max(0.0, end - max(ends, default=0.0)))
        ends.append(end)
    return tuple(added)
