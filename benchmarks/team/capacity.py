"""A model of a large team by the utilization law: which part saturates first, given what each operation costs it.

Utilization of a part is the rate of an operation times its demand there (Denning and Buzen, The Operational Analysis
of Queueing Network Models, 1978). A part that would be used more than wholly is where the team stops to grow.
"""

from __future__ import annotations

from typing import Any

from alita_mcp.values import Value


class Demands(Value):
    """Seconds of each part that one operation takes."""

    call_replica_s: float
    """Processor of one server, its sandboxes counted: a call or search."""
    call_postgres_s: float
    """Processor of PostgreSQL."""
    tool_replica_s: float
    """The same for a synthesis from its request to its publication, where it is made."""
    tool_postgres_s: float
    pull_replica_s: float
    """What each of the others takes to have a published tool."""
    pull_postgres_s: float
    lock_s: float
    """How long a publication holds the lock of writers."""


class Extent(Value):
    """How large the team is, and what its clients do."""

    tools: int
    clients: int
    replicas: int
    calls_each_s: float = 1.0
    """Calls and searches of one client in a second."""
    tools_each_s: float = 1 / 600
    """Tools that one client makes in a second."""
    replica_processors: int = 2
    postgres_processors: int = 8
    max_connections: int = 100
    """PostgreSQL's own default."""
    connections_each: int = 22
    """Most that one server opens."""


def estimate(extent: Extent, demands: Demands) -> dict[str, Any]:
    """Utilization of each part, highest first, and how many clients saturate each."""
    calls, tools = extent.clients * extent.calls_each_s, extent.clients * extent.tools_each_s
    others = extent.replicas - 1
    used = {
        "processors of a server": (
            (calls * demands.call_replica_s + tools * demands.tool_replica_s) / extent.replicas
            + tools * demands.pull_replica_s * others / extent.replicas
        )
        / extent.replica_processors,
        "processors of PostgreSQL": (
            calls * demands.call_postgres_s
            + tools * (demands.tool_postgres_s + others * demands.pull_postgres_s)
        )
        / extent.postgres_processors,
        "lock of writers": tools * demands.lock_s,
    }
    ranked = sorted(used, key=lambda part: -used[part])
    connections = extent.replicas * extent.connections_each
    return {
        "extent": f"{extent.tools} tools, {extent.clients} clients, {extent.replicas} servers",
        "first": ranked[0],
        "utilization": {part: round(used[part], 3) for part in ranked},
        "clients_that_saturate": {part: int(extent.clients / used[part]) for part in ranked if used[part]},
        "connections": f"{connections} at most; max_connections is {extent.max_connections} unless set",
    }
