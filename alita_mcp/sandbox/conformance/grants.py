"""Conformance claims about grants: a granted request reaches the broker, any other is refused."""

from __future__ import annotations

from typing import Any

import anyio
from anyio.abc import ByteStream

from alita_mcp.sandbox.conformance.claims import Broken, Claim, Subject, chapter, shown
from alita_mcp.sandbox.interface import EgressPolicy, EgressRefused
from alita_mcp.values import Grants, Limits

_HOST = "granted.example"
_BODY = b"hello from the host"
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(_BODY), _BODY)
_REQUESTS = {
    "model": "alita_tool.complete('x')",
    "tools": "alita_tool.call_tool('other', a=1)",
    "secrets": "alita_tool.secret('x')",
    "workspace": "alita_tool.read_text('x')",
}
_ASKS = "import alita_tool\ndef f():\n    return alita_tool.complete('how many?')\n"
_FETCHES = f"""
import urllib.error
import urllib.request
def f():
    try:
        with urllib.request.urlopen('http://{_HOST}/', timeout=20) as answer:
            return [answer.status, answer.read().decode()]
    except urllib.error.HTTPError as refused:
        return [refused.code, '']
    except OSError as refused:
        return [0, str(refused)]
"""
_FLOOD = """
import alita_tool
def f():
    answered = 0
    for _ in range(40):
        try:
            alita_tool.complete('again')
            answered += 1
        except Exception:
            pass
    return answered
"""


class _WebServerStream(ByteStream):
    """Stream whose other end is a small web server."""

    def __init__(self) -> None:
        self._answered = False
        self._asked = anyio.Event()

    async def receive(self, max_bytes: int = 65536) -> bytes:
        await self._asked.wait()
        if self._answered:
            raise anyio.EndOfStream
        self._answered = True
        return _ANSWER[:max_bytes]

    async def send(self, item: bytes) -> None:
        if item:
            self._asked.set()

    async def send_eof(self) -> None:
        self._asked.set()

    async def aclose(self) -> None:
        self._asked.set()


class _OneHost:
    """Egress policy that allows one host, which exists in this process only."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    async def open(self, host: str, port: int) -> ByteStream:
        self.asked.append((host, port))
        if (host, port) != (_HOST, 80):
            raise EgressRefused(403, f"{host}:{port} is not granted")
        return _WebServerStream()


class _RecordingBroker:
    """Broker that records its requests; it serves `complete` and refuses the rest."""

    def __init__(self, policy: EgressPolicy | None = None) -> None:
        self._policy = policy
        self.asked: list[str] = []

    @property
    def egress_policy(self) -> EgressPolicy | None:
        return self._policy

    async def answer(self, service: str, words: dict[str, Any]) -> Any:
        self.asked.append(service)
        if service != "complete" or words.get("prompt") == "refuse":
            raise PermissionError("the grant does not cover this")
        return "forty-two"


def _names_missing_grant(grant: str, use: str) -> Claim:
    async def attempt(subject: Subject) -> None:
        broker = _RecordingBroker(_OneHost())
        result = await subject.run(f"import alita_tool\ndef f():\n    return {use}\n", broker=broker)
        if (result.status, result.error_type) != ("error", "PermissionError") or grant not in result.message:
            raise Broken(f"without the grant {grant!r}: {shown(result)}")
        if broker.asked:
            raise Broken(f"the broker was asked for {broker.asked[0]!r} by a tool without grants")

    return Claim("", f"names the grant {grant!r} that a tool lacks", attempt)


async def _answers(subject: Subject) -> None:
    broker = _RecordingBroker()
    answer = await subject.value(_ASKS, grants=Grants(model=True), broker=broker)
    if (answer, broker.asked) != ("forty-two", ["complete"]):
        raise Broken(f"the broker was asked {broker.asked} and the tool got {answer!r}")


async def _hands_on_refusals(subject: Subject) -> None:
    code = _ASKS.replace("how many?", "refuse")
    result = await subject.run(code, grants=Grants(model=True), broker=_RecordingBroker())
    if (result.status, result.error_type) != ("error", "PermissionError") or "cover" not in result.message:
        raise Broken(shown(result))


async def _counts(subject: Subject) -> None:
    broker = _RecordingBroker()
    result = await subject.run(
        _FLOOD, grants=Grants(model=True), broker=broker, limits=Limits(broker_calls=10)
    )
    answered = result.value if result.ok else 0
    if len(broker.asked) > 10 or not isinstance(answered, int) or answered > 10:
        raise Broken(
            f"{len(broker.asked)} questions were let through and {answered} answered where 10 may be"
        )


async def _fetches(subject: Subject) -> None:
    policy = _OneHost()
    answer = await subject.value(_FETCHES, grants=Grants(network=(_HOST,)), broker=_RecordingBroker(policy))
    if answer != [200, _BODY.decode()]:
        raise Broken(f"a granted host answered {answer}; the policy was asked for {policy.asked}")


async def _fetches_nothing_else(subject: Subject) -> None:
    code = _FETCHES.replace(f"http://{_HOST}/", "http://other.example/")
    answer = await subject.value(code, grants=Grants(network=(_HOST,)), broker=_RecordingBroker(_OneHost()))
    if answer[0] not in (0, 403):
        raise Broken(f"a host that is not granted answered {answer}")


async def _fetches_nothing_without_a_grant(subject: Subject) -> None:
    policy = _OneHost()
    answer = await subject.value(_FETCHES, broker=_RecordingBroker(policy))
    if answer[0] == 200 or policy.asked:
        raise Broken(f"a tool without grants got {answer}; the policy was asked for {policy.asked}")


GRANTS = chapter(
    "grants",
    *(_names_missing_grant(grant, use) for grant, use in _REQUESTS.items()),
    Claim("", "asks the broker for what was granted", _answers),
    Claim("", "hands the broker's refusals on", _hands_on_refusals),
    Claim("", "lets no more questions through than broker_calls", _counts),
    Claim("", "reaches a granted host through the egress policy", _fetches),
    Claim("", "reaches no other host", _fetches_nothing_else),
    Claim("", "reaches no host without a grant", _fetches_nothing_without_a_grant),
)
