"""Claims about grants: a door opens for the matching grant, through the broker and no other way."""

from __future__ import annotations

from typing import Any

import anyio
from anyio.abc import ByteStream

from alita_mcp.sandbox.conformance.claims import Broken, Claim, Subject, chapter, shown
from alita_mcp.sandbox.interface import Gate, GateClosed
from alita_mcp.values import Grants, Limits

_HOST = "granted.example"
_BODY = b"hello from the gate"
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(_BODY), _BODY)
_DOORS = {
    "model": "alita_tool.complete('x')",
    "tools": "alita_tool.call_tool('other', a=1)",
    "secrets": "alita_tool.secret('x')",
    "workspace": "alita_tool.workspace / 'x'",
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


class _Answering(ByteStream):
    """A stream whose other end is a small web server."""

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
    """A gate to a host that exists in this process only."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    async def open(self, host: str, port: int) -> ByteStream:
        self.asked.append((host, port))
        if (host, port) != (_HOST, 80):
            raise GateClosed(403, f"{host}:{port} is not granted")
        return _Answering()


class _Noting:
    """A broker that notes what it is asked; `complete` is answered, the rest refused."""

    def __init__(self, gate: Gate | None = None) -> None:
        self._gate = gate
        self.asked: list[str] = []

    @property
    def gate(self) -> Gate | None:
        return self._gate

    async def answer(self, door: str, words: dict[str, Any]) -> Any:
        self.asked.append(door)
        if door != "complete" or words.get("prompt") == "refuse":
            raise PermissionError("the grant does not cover this")
        return "forty-two"


def _shut(grant: str, use: str) -> Claim:
    async def attempt(subject: Subject) -> None:
        broker = _Noting(_OneHost())
        result = await subject.run(f"import alita_tool\ndef f():\n    return {use}\n", broker=broker)
        if (result.status, result.error_type) != ("error", "PermissionError") or grant not in result.message:
            raise Broken(f"without the grant {grant!r}: {shown(result)}")
        if broker.asked:
            raise Broken(f"the broker was asked for {broker.asked[0]!r} by a tool without grants")

    return Claim("", f"names the grant {grant!r} that a tool lacks", attempt)


async def _answers(subject: Subject) -> None:
    broker = _Noting()
    answer = await subject.value(_ASKS, grants=Grants(model=True), broker=broker)
    if (answer, broker.asked) != ("forty-two", ["complete"]):
        raise Broken(f"the broker was asked {broker.asked} and the tool got {answer!r}")


async def _hands_on_refusals(subject: Subject) -> None:
    code = _ASKS.replace("how many?", "refuse")
    result = await subject.run(code, grants=Grants(model=True), broker=_Noting())
    if (result.status, result.error_type) != ("error", "PermissionError") or "cover" not in result.message:
        raise Broken(shown(result))


async def _counts(subject: Subject) -> None:
    broker = _Noting()
    result = await subject.run(
        _FLOOD, grants=Grants(model=True), broker=broker, limits=Limits(broker_calls=10)
    )
    answered = result.value if result.ok else 0
    if len(broker.asked) > 10 or not isinstance(answered, int) or answered > 10:
        raise Broken(
            f"{len(broker.asked)} questions were let through and {answered} answered where 10 may be"
        )


async def _fetches(subject: Subject) -> None:
    gate = _OneHost()
    answer = await subject.value(_FETCHES, grants=Grants(network=(_HOST,)), broker=_Noting(gate))
    if answer != [200, _BODY.decode()]:
        raise Broken(f"a granted host answered {answer}; the gate was asked for {gate.asked}")


async def _fetches_nothing_else(subject: Subject) -> None:
    code = _FETCHES.replace(f"http://{_HOST}/", "http://other.example/")
    answer = await subject.value(code, grants=Grants(network=(_HOST,)), broker=_Noting(_OneHost()))
    if answer[0] not in (0, 403):
        raise Broken(f"a host that is not granted answered {answer}")


async def _fetches_nothing_without_a_grant(subject: Subject) -> None:
    gate = _OneHost()
    answer = await subject.value(_FETCHES, broker=_Noting(gate))
    if answer[0] == 200 or gate.asked:
        raise Broken(f"a tool without grants got {answer}; the gate was asked for {gate.asked}")


DOORS = chapter(
    "grants",
    *(_shut(grant, use) for grant, use in _DOORS.items()),
    Claim("", "asks the broker for what was granted", _answers),
    Claim("", "hands the broker's refusals on", _hands_on_refusals),
    Claim("", "lets no more questions through than broker_calls", _counts),
    Claim("", "reaches a granted host through the gate", _fetches),
    Claim("", "reaches no other host", _fetches_nothing_else),
    Claim("", "reaches no host without a grant", _fetches_nothing_without_a_grant),
)
