"""Egress policies: granted hosts and no others, at public addresses and no others, within a budget and at a pace."""

from __future__ import annotations

import ipaddress

import anyio
import pytest
from anyio.abc import ByteStream
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.errors import UsageError
from alita_mcp.sandbox.interface import BrokerEvent, EgressRefused
from alita_mcp.sandbox.network.egress_policies import AllowList, GrantedHosts, MeteredStream
from alita_mcp.sandbox.network.host_patterns import read_pattern
from alita_mcp.sandbox.network.public_addresses import address_problem
from alita_mcp.values import Limits
from tests.sandbox.sites import HERE, resolved, running_site
from tests.tables import each_case

WAIT_SECONDS = 60


@each_case(
    "pattern, host, port, covered",
    [
        ("api.example.org", "api.example.org", 443, True),
        ("api.example.org", "api.example.org", 80, True),
        ("API.Example.org.", "api.example.org", 80, True),
        ("api.example.org", "api.example.org", 8080, False),
        ("api.example.org", "example.org", 443, False),
        ("api.example.org", "xapi.example.org", 443, False),
        ("api.example.org", "api.example.org.evil.test", 443, False),
        ("api.example.org:8443", "api.example.org", 8443, True),
        ("api.example.org:8443", "api.example.org", 443, False),
        ("*.example.org", "api.example.org", 443, True),
        ("*.example.org", "a.b.example.org", 443, True),
        ("*.example.org", "example.org", 443, False),
        ("*.example.org", ".example.org", 443, False),
        ("*.example.org", "evilexample.org", 443, False),
        ("*.example.org", "a..example.org", 443, False),
        ("*.example.org:8080", "a.example.org", 8080, True),
        ("*.example.org:8080", "a.example.org", 80, False),
        ("localhost:8080", "localhost", 8080, True),
    ],
)
def test_a_granted_host_covers_what_it_says(pattern: str, host: str, port: int, covered: bool) -> None:
    assert read_pattern(pattern).covers(host, port) is covered


@each_case(
    "pattern",
    [
        "*", "*.", "*.org", "*.co.uk", "*.com.au", "*.*.org", "a.*.org", "", ".", "a b.org", "http://a.org",
        "a.org/x", "a.org:", "a.org:0", "a.org:x", "a.org:99999", "a.org:80:80", "u@a.org", "a.org.*", "-a.org",
        "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "017700000001", "a.0x1", "[::1]", "::1",
        "*.0.0.1", "\u00e4.org", "a" * 64 + ".org", "a." * 130 + "org",
    ],
)  # fmt: skip
def test_everybodys_names_and_addresses_in_any_notation_cannot_be_granted(pattern: str) -> None:
    with pytest.raises(UsageError, match=r"granted|different owners"):
        read_pattern(pattern)


@each_case(
    "name",
    [
        "github.io", "s3.amazonaws.com", "vercel.app", "pages.dev", "googleapis.com", "GitHub.io.",
        "amazonaws.com", "core.windows.net", "kobe.jp",  # above names under which anybody may have one
        "a.kobe.jp", "anything.ck", "r.appspot.com", "eu-west.r.appspot.com",  # under wildcards of the list
        "xn--55qx5d.cn", "xn--j6w193g", "uk", "ac.uk", "gov.au", "internal",
    ],
)  # fmt: skip
def test_a_wildcard_over_a_public_suffix_stands_for_names_of_everybody(name: str) -> None:
    assert read_pattern(name).host == name.lower().removesuffix(".")
    for wildcard in (f"*.{name}", f"*.{name}:8443"):
        with pytest.raises(UsageError, match="different owners"):
            read_pattern(wildcard)


@each_case(
    "name",
    [
        "github.com", "me.github.io", "bucket.s3.amazonaws.com", "example.co.uk", "www.ck", "city.kobe.jp",
        "xn--bcher-kva.example", "api.internal", "wikipedia.org", "xn--55qx5d.xn--55qx5d.cn", "xn--99999.org",
    ],
)  # fmt: skip
def test_a_wildcard_over_a_registered_name_can_be_granted(name: str) -> None:
    assert read_pattern(f"*.{name}").covers(f"api.{name}", 443)


@given(st.text(alphabet="01279.x-abf", min_size=1, max_size=20))
def test_no_pattern_is_an_address_to_any_resolver(text: str) -> None:
    try:
        pattern = read_pattern(text)
    except UsageError:
        return
    with pytest.raises(ValueError, match="does not appear to be"):
        ipaddress.ip_address(pattern.host)
    last = pattern.host.split(".")[-1]
    assert not last.isdigit()
    assert not last.startswith("0x") or set(last[2:]) - set("0123456789abcdef")


@each_case(
    "address",
    [
        "127.0.0.1", "127.255.0.1", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254",
        "100.64.0.1", "100.100.100.200", "192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
        "192.88.99.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "168.63.129.16",
        "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:0:8.8.8.8",
        "64:ff9b::7f00:1", "64:ff9b::8.8.8.8", "64:ff9b:1::1",
        "2002:7f00:1::", "2002:808:808::", "2001:0:1::1",
        "2001:db8::1", "fe80::1", "fe80::1%eth0", "2606:4700::1%1", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1",
        "100::1", "3fff::1", "5f00::1", "4000::1",
        "192.31.196.1", "192.52.193.1", "192.175.48.1", "2620:4f:8000::1",
        "2001:1::1", "2001:3::1", "2001:4:112::1", "2001:20::1", "2001:30::1",
        "", "localhost", "2130706433", "127.1", "0x7f000001",
    ],
)  # fmt: skip
def test_addresses_that_are_not_public_are_refused(address: str) -> None:
    assert address_problem(address)


@each_case(
    "address", ["8.8.8.8", "93.184.215.14", "2606:4700:4700::1111", "2a00:1450:4001::8a", "2001:200::1"]
)
def test_public_addresses_are_fine(address: str) -> None:
    assert address_problem(address) == ""


class Kept:
    """A policy of granted hosts and what it recorded."""

    def __init__(self, *hosts: str, answers: dict[str, list[str]] | None = None, **limits: int) -> None:
        self.events: list[BrokerEvent] = []
        self.asked: list[str] = []
        self._answers = answers

        self.egress_policy = GrantedHosts(
            hosts, Limits(**limits), record=self.events.append, resolve=self._resolve, reachable=HERE
        )

    async def _resolve(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        return await resolved(host, port) if self._answers is None else self._answers[host]

    async def refusal(self, host: str, port: int) -> tuple[int, str]:
        with anyio.fail_after(WAIT_SECONDS), pytest.raises(EgressRefused) as closed:
            await self.egress_policy.open(host, port)
        return closed.value.status, closed.value.reason


async def drained(stream: ByteStream) -> None:
    async for _ in stream:
        continue


async def test_a_host_that_is_not_granted_is_named_and_never_resolved() -> None:
    kept = Kept("api.test")
    assert await kept.refusal("evil.test", 443) == (403, 'grant "network": evil.test is not granted')
    assert await kept.refusal("api.test", 8080) == (403, 'grant "network": api.test:8080 is not granted')
    assert await kept.refusal("127.0.0.1", 80) == (403, 'grant "network": 127.0.0.1 is not granted')
    assert kept.asked == []
    assert [(event.target, event.status) for event in kept.events] == [
        ("evil.test:443", "refused"), ("api.test:8080", "refused"), ("127.0.0.1:80", "refused"),
    ]  # fmt: skip


@each_case(
    "addresses",
    [["10.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["::ffff:10.0.0.1"], ["169.254.169.254"], ["127.0.0.2"]],
)
async def test_a_granted_name_with_any_address_that_is_not_public_is_refused(addresses: list[str]) -> None:
    kept = Kept("api.test", answers={"api.test": addresses})
    status, reason = await kept.refusal("api.test", 443)
    assert status == 403
    assert addresses[-1] in reason
    assert kept.events[0].status == "refused"


async def test_the_name_is_resolved_once_and_the_connection_goes_to_what_was_checked() -> None:
    with running_site() as site:
        kept = Kept(f"api.test:{site.port}")
        async with await kept.egress_policy.open("api.test", site.port) as stream:
            assert isinstance(stream, MeteredStream)
            await stream.send(b"GET /checked HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            answer = await stream.receive()
    assert answer.startswith(b"HTTP/1.1 200")
    assert kept.asked == ["api.test"]


async def test_addresses_are_tried_in_turn() -> None:
    with running_site() as site:
        kept = Kept(f"api.test:{site.port}", answers={"api.test": ["127.0.0.1", "127.0.0.1"]})
        await (await kept.egress_policy.open("api.test", site.port)).aclose()
    assert await kept.refusal("api.test", site.port) == (502, f"api.test:{site.port} cannot be reached")


async def test_a_name_that_does_not_resolve_says_so() -> None:
    kept = Kept("nowhere.example", "empty.test", answers=None)
    assert await kept.refusal("nowhere.example", 443) == (502, "nowhere.example does not resolve")
    kept = Kept("empty.test", answers={"empty.test": []})
    assert (await kept.refusal("empty.test", 443))[0] == 502
    assert kept.events[0].status == "failed"


async def test_bytes_both_ways_are_counted_and_the_budget_ends_the_connection() -> None:
    with running_site() as site:
        kept = Kept(f"api.test:{site.port}", network_bytes=1_000)
        stream = await kept.egress_policy.open("api.test", site.port)
        await stream.send(b"GET /big/5000 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        with pytest.raises(EgressRefused, match=r"more than 1000 bytes over the network \(network_bytes\)"):
            await drained(stream)
        await stream.aclose()
        await stream.aclose()
        status, reason = await kept.refusal("api.test", site.port)
    assert (status, "network_bytes" in reason) == (403, True)
    moved, refused = kept.events
    assert moved.bytes_out == 54
    assert moved.bytes_in > 900
    assert refused.status == "refused"


async def test_a_connection_that_is_cancelled_is_recorded_and_closed() -> None:
    async def forever(host: str, port: int) -> list[str]:
        await anyio.sleep_forever()
        return []

    events: list[BrokerEvent] = []
    policy = GrantedHosts(["api.test"], Limits(), record=events.append, resolve=forever)
    with anyio.move_on_after(0.01):
        await policy.open("api.test", 443)
    assert [(event.door, event.target, event.status) for event in events] == [
        ("network", "api.test:443", "failed")
    ]


async def test_the_list_of_a_builder_takes_private_addresses_and_nothing_that_is_not_on_it() -> None:
    with running_site() as site:
        policy = AllowList({f"127.0.0.1:{site.port}", "LocalHost:1"})
        await (await policy.open("127.0.0.1", site.port)).aclose()
    for host, port, status in (("127.0.0.1", site.port, 502), ("localhost", 1, 502), ("localhost", 2, 403)):
        with pytest.raises(EgressRefused) as closed:
            await policy.open(host, port)
        assert closed.value.status == status
