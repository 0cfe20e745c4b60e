"""How a client keeps its list of tools, read from the order of what it does and is told."""

from __future__ import annotations

from contextlib import ExitStack
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.server.client.announce import MAX_OBSERVED, Announcer
from alita_mcp.server.client.observed import Observed
from alita_mcp.server.results import visibility

if TYPE_CHECKING:
    from alita_mcp.server.sources import ToolCall


def test_a_list_after_a_hint_follows_it_however_late() -> None:
    client = Observed(0, is_one=True)
    client.list(["a"], 0, 0.0, first=True)
    assert not client.lists_after_hints
    with client.listening():
        client.tell(1, 0.0)
        client.ignores_hints = True
        client.list(["a", "b"], 1, 0.0, first=True)
    assert client.has("b")
    assert client.has_listed(1)
    assert (client.lists_after_hints, client.ignores_hints) == (True, False)


async def test_of_strangers_so_many_are_remembered_and_those_that_listen_longest() -> None:
    known = Announcer()

    def met(name: str) -> Observed:
        info = SimpleNamespace(client_info=SimpleNamespace(name=name, version="1"))
        request = SimpleNamespace(scope={}, client=SimpleNamespace(host="127.0.0.1"))
        session = SimpleNamespace(client_params=info)
        ctx: Any = SimpleNamespace(protocol_version="2026-07-28", request=request, session=session)
        return known.observed(ctx)

    listener, silent = met("listener"), met("silent")
    with listener.listening():
        for number in range(MAX_OBSERVED):
            met(f"stranger {number}")
        assert met("listener") is listener
        assert met("silent") is not silent
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(known.run)
            await anyio.wait_all_tasks_blocked()
            known.library_changed()
            with anyio.fail_after(10):
                await listener.until_told(1)
            tasks.cancel_scope.cancel()
        assert not met("silent").is_told(1)


def test_who_has_no_stream_is_told_of_nothing() -> None:
    client = Observed(0, is_one=True)
    client.tell(1, 0.0)
    assert not client.is_told(1)
    assert not client.can_hear


def test_further_pages_add_to_the_list_and_a_new_list_replaces_it() -> None:
    client = Observed(0, is_one=True)
    client.list(["a"], 0, 0.0, first=True)
    client.list(["b"], 0, 0.0, first=False)
    assert client.has("a")
    assert client.has("b")
    client.list(["c"], 0, 0.0, first=True)
    assert not client.has("b")


@given(st.integers(2, 5), st.integers(0, 8))
def test_of_clients_alike_the_change_is_held_when_each_may_have_listed(streams: int, lists: int) -> None:
    client = Observed(0, is_one=False)
    with ExitStack() as open_streams:
        for _ in range(streams):
            open_streams.enter_context(client.listening())
        client.tell(1, 0.0)
        for _ in range(lists):
            client.list(["a"], 1, 0.0, first=True)
        assert client.has_listed(1) is (lists >= streams)


def test_of_clients_alike_a_tool_is_in_hand_only_when_every_list_held_it() -> None:
    client = Observed(0, is_one=False)
    client.list(["a"], 0, 0.0, first=True)
    client.list(["a", "b"], 1, 0.0, first=True)
    client.list(["c"], 1, 0.0, first=False)
    assert client.has("a")
    assert not client.has("b")
    assert not client.has("c")
    assert not client.has_listed(1)


async def test_a_list_given_before_the_wait_began_is_in_hand_with_the_answer_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slept: list[float] = []

    async def sleep_until(deadline: float) -> None:
        slept.append(deadline)

    monkeypatch.setattr(anyio, "sleep_until", sleep_until)
    client = Observed(0, is_one=True)
    with client.listening():
        client.tell(1, 5.0)
        client.list(["a"], 1, 6.0, first=True)
        call = SimpleNamespace(announcer=SimpleNamespace(changes=1), client=client)
        await visibility.until_listed("a", cast("ToolCall", call))

    assert slept == [6.0 + visibility.IN_HAND_S]
