"""Worker process: carries out orders, and runs each call in an instance that is made before the call comes.

It speaks the wire of `frames.py` as the supervisors of other sandboxes do. The code that it is given runs in the
engine alone; a call that the engine cannot end, since it waits for the host, is ended with this process.
"""

from __future__ import annotations

import encodings.cp437  # noqa: F401 - zipfile reads names by it, and a worker opens no files later
import io
import json
import os
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from wasmtime import Store, WasmtimeError

from alita_mcp.sandbox.wasm.worker import confinement
from alita_mcp.sandbox.wasm.worker.deadline import Deadline
from alita_mcp.sandbox.wasm.worker.engine import Instances, OsCallbacks
from alita_mcp.sandbox.wasm.worker.features import BASE_BYTES
from alita_mcp.sandbox.wasm.worker.link import Link
from alita_mcp.sandbox.wire.frames import MAX_PAYLOAD, Kind
from alita_mcp.sandbox.wire.reports import Output, read_report

FLOOD = 16
"""How many times as much output as is kept may be written."""
MAX_HEAD = 64 << 10
_CALLBACK_OPTIONS = ("clock_offset_s", "moment", "random_seed")


class Ready(NamedTuple):
    """Instance that has imported the code and waits for its call."""

    store: Store
    call: Any
    seconds: float


class Worker:
    """Worker that carries out one order after the other, with one instance at a time."""

    def __init__(self, link: Link, compiled: Path) -> None:
        self._link = link
        self._instances = Instances(compiled, self._ask, self._read_package)
        self._deadline = Deadline(self._instances.engine.increment_epoch, self._abandon)
        self._order: dict[str, Any] = {}
        self._packages: zipfile.ZipFile | None = None
        self._code = ""
        self._output = Output(0, 0)
        self._ready: Ready | None = None
        self._payload = bytearray()
        self._may_ask = self._asked = self._number = 0
        self._kind = Kind.LOADED
        self._imported = 0.0
        """Seconds of the import that no call's time holds yet."""

    def run(self) -> None:
        """Serves until the host closes the wire."""
        self._deadline.start_thread()
        while True:
            frame = self._link.receive()
            if frame.kind == Kind.PAYLOAD:
                self._payload += frame.payload
            elif frame.kind == Kind.PACKAGES:
                self._close_ready()
                archive = self._take_payload()
                self._packages = zipfile.ZipFile(io.BytesIO(archive)) if archive else None
            elif frame.kind == Kind.LOAD:
                self._load(json.loads(frame.payload), json.loads(self._take_payload()))
            elif frame.kind == Kind.CALL:
                self._call(self._take_payload().decode())

    def _take_payload(self) -> bytes:
        payload, self._payload = bytes(self._payload), bytearray()
        return payload

    def _load(self, order: dict[str, Any], code: str) -> None:
        self._close_ready()
        self._order, self._code, self._kind = order, code, Kind.LOADED
        self._instances.strings.longest = max(order["result_bytes"], MAX_PAYLOAD) + MAX_HEAD
        self._instances.os_callbacks = OsCallbacks(
            **{name: order["options"][name] for name in _CALLBACK_OPTIONS}
        )
        head = self._make_ready()
        self._imported = head["seconds"]
        if head["status"] != "ok":
            self._send_output()
        self._link.send_json(Kind.LOADED, head)

    def _make_ready(self) -> dict[str, Any]:
        """Makes the instance of the next call; how the import went."""
        opened: list[Any] = []

        def load() -> str:
            memory_bytes = BASE_BYTES + self._order["memory_bytes"]
            store, instance = self._instances.open_instance(memory_bytes, self._take_output)
            opened.extend((store, instance.get_func(store, "call")))
            words = {"code": self._code, "options": self._order["options"]}
            answer: str = instance.get_func(store, "load")(store, json.dumps(words))
            return answer

        head, _, seconds = self._enter_engine(load, 0.0, loading=True)
        if head["status"] == "ok":
            self._ready = Ready(opened[0], opened[1], seconds)
        elif opened:
            opened[0].close()
        return {**head, "seconds": seconds}

    def _call(self, arguments: str) -> None:
        self._kind = Kind.RESULT
        if self._ready is None:
            self._link.send_json(Kind.CLEAN, {"clean": False})
            os._exit(0)
        ready, self._ready = self._ready, None
        self._may_ask, self._asked, self._number = self._order["broker_calls"], 0, 0
        head, result, seconds = self._enter_engine(
            lambda: ready.call(ready.store, arguments), ready.seconds, loading=False
        )
        self._may_ask = 0
        seconds, self._imported = seconds + self._imported, 0.0
        largest = self._order["result_bytes"] + MAX_HEAD
        if head["status"] == "ok" and len(result) <= largest:
            self._link.send(Kind.CHUNK, result)
        elif head["status"] == "ok":
            message = f"the interpreter gave {len(result)} bytes, more than the limit of {largest}"
            head = {"status": "crashed", "message": message}
        self._send_output()
        written = [*self._output.written.values()]
        self._link.send_json(Kind.RESULT, {**head, "seconds": seconds, "written": written})
        ready.store.close()
        # the instance of the next call is made while the caller reads
        is_clean = self._order["once"] or self._make_ready()["status"] == "ok"
        self._link.send_json(Kind.CLEAN, {"clean": bool(is_clean)})

    def _enter_engine(
        self, enter: Callable[[], str], spent: float, *, loading: bool
    ) -> tuple[dict[str, Any], bytes, float]:
        """Runs code against the clock, of which some is spent: its report, its result and the seconds it took."""
        order, started, result = self._order, time.monotonic(), b""
        self._output = Output(order["output_bytes"], FLOOD * order["output_bytes"])
        self._instances.os_callbacks.restart()
        self._deadline.start_clock(order["wall_seconds"] - spent, order["rlimits"]["cpu_seconds"])
        try:
            first, _, result = enter().encode("utf-8", "replace").partition(b"\n")
            head = _read_head(first)
        except (WasmtimeError, MemoryError) as trap:
            head = self._trap_report(trap, loading=loading)
        if limit := self._deadline.stop_clock():
            head = self._timeout_report(limit, loading=loading)
        return head, result, time.monotonic() - started

    def _close_ready(self) -> None:
        if self._ready is not None:
            self._ready.store.close()
            self._ready = None

    def _send_output(self) -> None:
        for stream, kept in self._output.kept.items():
            if kept:
                self._link.send(Kind.OUTPUT, bytes(kept), stream)

    def _take_output(self, stream: int, data: bytes) -> None:
        self._output.add(stream, data)
        if self._output.is_flood:
            self._instances.engine.increment_epoch()

    def _trap_report(self, trap: Exception, *, loading: bool) -> dict[str, Any]:
        """How a call ended that the engine ended."""
        if self._output.is_flood:
            limit = FLOOD * self._order["output_bytes"]
            message = f"wrote more than {limit} bytes to stdout and stderr ({FLOOD} x output_bytes)"
            return {"status": "output_flood", "message": message}
        reason = str(trap)
        if "call stack exhausted" in reason:
            status = "load_failed" if loading else "error"
            kinds = [f"builtins.{kind.__name__}" for kind in RecursionError.__mro__[:-1]]
            return {"status": status, "error_type": "RecursionError", "error_kinds": kinds,
                    "message": "the stack of the engine is exhausted"}  # fmt: skip
        status, where = ("load_failed", " while the module was imported") if loading else ("crashed", "")
        return {"status": status, "message": f"the interpreter ended{where}: {reason[-300:].strip()}"}

    def _timeout_report(self, limit: str, *, loading: bool) -> dict[str, Any]:
        where = ", while the module was imported" if loading else ""
        wall = limit == "wall_seconds"
        seconds = f"{self._order[limit]:g} s" if wall else f"{self._order['rlimits'][limit]:g} s of CPU time"
        return {"status": "timeout", "message": f"took more than {seconds} ({limit}){where}"}

    def _abandon(self, limit: str) -> None:
        """Ends a call that the engine cannot end, and this process with it."""
        head = self._timeout_report(limit, loading=self._kind == Kind.LOADED)
        self._send_output()
        self._link.send_json(self._kind, {**head, "seconds": self._order["wall_seconds"]})
        os._exit(0)

    def _ask(self, name: str, question: str) -> str:
        """What the host answers to a question of the call that runs; what it may not ask is refused here."""
        if len(question) > MAX_PAYLOAD or len(payload := question.encode("utf-8", "replace")) > MAX_PAYLOAD:
            return _refusal("ValueError", f"a question is longer than {MAX_PAYLOAD} bytes")
        limit = self._may_ask
        if not limit:
            return _refusal("PermissionError", "only a call with grants is answered, and only while it runs")
        if name == "ask":
            self._asked += 1
            if self._asked > limit:
                return _refusal("RuntimeError", f"asked more than {limit} times in one call (broker_calls)")
        self._number += 1
        self._link.send(Kind.ASK if name == "ask" else Kind.NETWORK, payload, self._number, whole=True)
        while True:
            frame = self._link.receive()
            if frame.kind == Kind.ANSWER and frame.stream == self._number:
                return frame.payload.decode()

    def _read_package(self, name: str) -> str:
        """A file of the packages, each byte as one character, since the engine is slow at lists; else nothing."""
        if self._packages is None or not self._order["options"]["packages"]:
            return ""
        try:
            return self._packages.read(name).decode("latin-1")
        except KeyError:
            return ""


def _read_head(data: bytes) -> dict[str, Any]:
    """What the inside says about itself, as far as it may."""
    try:
        if len(data) <= MAX_HEAD:
            return read_report(data)
    except ValueError:
        pass
    return {"status": "crashed", "message": "the interpreter gave an invalid answer"}


def _refusal(name: str, message: str) -> str:
    return json.dumps({"error": [name, message]})


def main() -> None:
    """Entry point: the first frame names the compiled file and the token of this worker."""
    link = Link(0, 1)
    compiled = Path(link.admit()["compiled"])
    worker = Worker(link, compiled)
    link.send_json(Kind.HELLO, confinement.confine(compiled))
    link.listen()
    worker.run()
