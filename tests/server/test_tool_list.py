"""How a client keeps its list of tools, read from the order of what it does and is told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from alita_mcp.server.client.announcer import MAX_CLIENTS, Announcer
from alita_mcp.server.client.tool_list import ClientToolList


def test_a_list_after_a_hint_follows_it_however_late() -> None:
    client = ClientToolList(0, is_one=True)
    client.record_list(["a"], 0, 0.0)
    assert not client.follows
    with client.listen():
        client.ignores_hints = True
        client.record_list(["a", "b"], 1, 0.0)
    assert client.has_tool("b")
    assert client.has_change(1)
    assert (client.follows, client.ignores_hints) == (True, False)


def test_of_strangers_so_many_are_remembered_and_those_that_listen_longest() -> None:
    known = Announcer()

    def met(name: str) -> ClientToolList:
        info = SimpleNamespace(client_info=SimpleNamespace(name=name, version="1"))
        request = SimpleNamespace(scope={}, client=SimpleNamespace(host="127.0.0.1"))
        session = SimpleNamespace(client_params=info)
        ctx: Any = SimpleNamespace(protocol_version="2026-07-28", request=request, session=session)
        return known.tool_list_of(ctx)

    listener, silent = met("listener"), met("silent")
    with listener.listen():
        for number in range(MAX_CLIENTS):
            met(f"stranger {number}")
        assert met("listener") is listener
        assert met("silent") is not silent


def test_of_clients_alike_a_tool_is_in_hand_only_when_every_list_held_it() -> None:
    client = ClientToolList(0, is_one=False)
    client.record_list(["a"], 0, 0.0)
    client.record_list(["a", "b"], 1, 0.0)
    assert client.has_tool("a")
    assert not client.has_tool("b")
    assert not client.has_change(1)
