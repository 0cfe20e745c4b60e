"""A loaded tool: a zygote that imported it once and forks a child for each call."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import Any, NoReturn

from alita_mcp.sandbox.runner.supervisor.child_process import ChildProcess
from alita_mcp.sandbox.runner.supervisor.facts import oom_kills
from alita_mcp.sandbox.runner.supervisor.loop import HostLink, Loop
from alita_mcp.sandbox.runner.supervisor.processes import Reaper, kill, others
from alita_mcp.sandbox.runner.supervisor.scratch import Scratch, WipeFailed, too_many_files
from alita_mcp.sandbox.runner.supervisor.tunnel import Tunnel
from alita_mcp.sandbox.runner.supervisor.zygote import Zygote
from alita_mcp.sandbox.wire.frames import MAX_PAYLOAD, Frame, Kind, pieces
from alita_mcp.sandbox.wire.reports import Output, read_report

FORK_SECONDS = 10.0
"""How long a zygote may take for a fork; then this sandbox is given up."""
LOOK_SECONDS = 0.05
"""How often the files of a call are counted, where the kernel does not limit them."""
HEADER_BYTES = 64 << 10
FLOOD = 16
"""How many times `output_bytes` a call may print."""
_STREAMS = {Kind.OPEN, Kind.DATA, Kind.END, Kind.RESET, Kind.CREDIT}
_CRASHED = {"status": "crashed", "message": "wrote invalid data to its channel"}
_CLEAN = json.dumps({"clean": True}).encode()


class WarmTool:
    """A tool that is loaded and runs one call at a time; the next call's child is forked ahead."""

    def __init__(self, loop: Loop, options: dict[str, Any], attestation: dict[str, object]) -> None:
        self._loop = loop
        self._link = HostLink(loop, bytes.fromhex(options["token"]), self._on_frame)
        self._reaper = Reaper()
        self._tunnel = Tunnel(loop, self._link) if options["egress"] else None
        self._scratch = Scratch()
        self._boot, self._bundle = options["boot"], options["zygote"]
        self._payload = bytearray()
        self._order: dict[str, Any] = {}
        self._code = b""
        self._zygote: Zygote | None = None
        self._child: ChildProcess | None = None
        self._running = False
        self._arguments: bytes | None = None
        """Of a call that waits for its child."""
        self._load_seconds = 0.0
        """Counted as the first call's."""
        self._serves_once = False
        """Whether the next call would share something with this one."""
        self._has_served = self._is_lost = False
        self._deadline = 0.0
        self._oom_before: int | None = None
        """How often the kernel had killed for want of memory before the call that is prepared or runs."""
        self._output = Output(0, 0)
        self._asked = 0
        self._unanswered = 0
        self._link.send_json(Kind.HELLO, attestation)

    @property
    def _files(self) -> int:
        limit: int = self._order["options"]["limits"]["scratch_files"]
        return limit

    def _on_frame(self, frame: Frame) -> None:
        if frame.kind == Kind.PAYLOAD:
            self._payload += frame.payload
        elif frame.kind == Kind.CALL:
            self._call()
        elif frame.kind == Kind.LOAD:
            self._order, self._code = json.loads(frame.payload), self._take_payload()
            self._oom_before = oom_kills()
            self._begin_output()
            self._load()
        elif frame.kind == Kind.ANSWER:
            # one that comes too late is dropped
            if self._running and self._child is not None and frame.stream == self._unanswered != 0:
                self._unanswered = 0
                self._child.tell(b"A", frame.payload)
        elif self._tunnel is not None and frame.kind in _STREAMS:
            self._tunnel.on_frame(frame)

    def _take_payload(self) -> bytes:
        payload, self._payload = bytes(self._payload), bytearray()
        return payload

    def _begin_output(self) -> None:
        self._output = Output(self._order["output_bytes"], FLOOD * self._order["output_bytes"])

    def _call(self) -> None:
        """Calls the function; the host has heard CLEAN or LOADED before."""
        self._running = True
        self._arguments = self._take_payload()
        self._begin_output()
        self._asked = self._unanswered = 0
        if self._tunnel is not None:
            self._tunnel.begin()
        self._deadline = time.monotonic() + self._order["wall_seconds"] - self._load_seconds
        if self._is_lost:
            self._on_zygote_lost()
        else:
            self._watch()
            self._begin()

    def on_child_signal(self) -> None:
        """A process died or was stopped."""
        self._reaper.collect()
        child = self._child
        if child is not None and child.has_ended():
            # children that it left behind may keep its end of the channel open for ever
            child.collect()
            self._on_child_end(child)
        elif child is not None and not self._running and self._reaper.is_stopped(child.pid):
            self._on_zygote_lost()
        if self._zygote is not None:
            self._zygote.check()

    def _load(self) -> None:
        zygote = self._zygote = Zygote(self._loop, self._reaper, self._order)
        zygote.on_loaded = self._on_loaded
        zygote.on_lost = self._on_zygote_lost
        wall = self._order["wall_seconds"]
        message = f"took more than {wall:g} s (wall_seconds), while the module was imported"
        late = {"status": "timeout", "message": message}
        self._loop.alarm(time.monotonic() + wall, lambda: self._on_loaded(zygote, late))
        zygote.start(self._boot, self._bundle, self._code)

    def _on_loaded(self, zygote: Zygote, head: dict[str, Any]) -> None:
        self._loop.quiet()
        self._load_seconds = zygote.seconds()
        if head["status"] != "ok":
            # the sandbox is of no further use: a failing import is the code's, so the host hears how it failed
            kill(-1)
            zygote.close()
            self._queue_output(zygote.output)
            self._link.send_json(Kind.LOADED, head | {"seconds": self._load_seconds})
            self._die()
        self._serves_once = zygote.leaves_something_shared()
        self._wipe_scratch()
        self._prepare(zygote)
        self._link.send_json(Kind.LOADED, {"status": "ok", "seconds": self._load_seconds})

    def _on_zygote_lost(self) -> None:
        # 1. While a child of it works: that one may end in peace.
        # 2. Before a later call has its child: a call before may have killed it, so the host takes another sandbox.
        # 3. While the first call waits for its child: it has failed.
        # 4. Before the first call: that is the import's fault, and would be in every sandbox, so the call hears of it.
        if self._has_served and (self._arguments is not None or not self._running):
            self._die()
        elif self._running and self._arguments is not None:
            message = "the process that imported the module died"
            ended = {"status": "crashed", "signal": int(signal.SIGKILL), "message": message}
            self._finish({"status": "memory"} if self._lacks_memory() else ended)
        elif not self._running:
            self._is_lost = True
            self._loop.quiet()

    def _prepare(self, zygote: Zygote) -> None:
        largest = max(self._order["result_bytes"] + HEADER_BYTES, MAX_PAYLOAD)
        child = self._child = ChildProcess(self._loop, self._reaper, largest_message=largest)
        child.on_output = lambda stream, data: self._on_output(child, stream, data)
        child.on_message = lambda kind, payload: self._on_message(child, kind, payload)
        child.on_end = lambda: self._on_child_end(child)
        ends = child.open(introduces_itself=True)
        self._oom_before = oom_kills()
        zygote.hand_over(ends)
        for fd in ends:
            os.close(fd)
        self._loop.alarm(time.monotonic() + FORK_SECONDS, self._on_zygote_lost)

    def _begin(self) -> None:
        """Hands the arguments to the child once both are there."""
        child, arguments = self._child, self._arguments
        if child is not None and child.pid and arguments is not None:
            self._arguments = None
            child.begin(self._oom_before)
            child.tell(b"C", arguments)

    def _on_output(self, child: ChildProcess, stream: int, data: bytes) -> None:
        self._output.add(stream, data)
        if child is not self._child or not self._output.is_flood:
            return
        if not self._running:
            self._on_zygote_lost()
        else:
            limit = FLOOD * self._order["output_bytes"]
            message = f"wrote more than {limit} bytes to stdout and stderr ({FLOOD} x output_bytes)"
            self._finish({"status": "output_flood", "message": message})

    def _on_message(self, child: ChildProcess, kind: bytes, payload: bytes) -> None:
        # 1. From the child of a call that is over: nobody waits for it.
        # 2. Before the call: the child that was forked ahead introduces itself, once, and is none that is known.
        # 3. During the call: its result, or a question to the host, one at a time; anything else is garbage.
        if child is not self._child:
            return
        if self._arguments is not None or not self._running:
            imported = self._zygote.pid if self._zygote is not None else 0
            if kind != b"H" or child.pid in {0, 1, imported} or child.introduced:
                self._on_zygote_lost()
                return
            child.introduced = True
            if self._running:
                self._begin()
            else:
                self._loop.quiet()
        elif kind == b"R":
            length = int.from_bytes(payload[:4])
            try:
                head = read_report(payload[4 : 4 + length])
            except ValueError:
                self._finish(_CRASHED)
                return
            self._finish(head, payload[4 + length :])
        elif kind != b"A" or self._unanswered or len(payload) > MAX_PAYLOAD:
            self._finish(_CRASHED)
        elif self._asked >= self._order["broker_calls"]:
            self._asked += 1
            words = f"asked more than {self._order['broker_calls']} times in one call (broker_calls)"
            child.tell(b"A", json.dumps({"error": ["RuntimeError", words]}).encode())
        else:
            self._asked += 1
            self._unanswered = self._asked
            self._link.send(Kind.ASK, self._asked, payload)

    def _on_child_end(self, child: ChildProcess) -> None:
        if child is not self._child:
            return
        if not self._running or self._arguments is not None:
            self._on_zygote_lost()
            return
        self._finish(child.describe_end(self._order["rlimits"]["cpu_seconds"]))

    def _watch(self) -> None:
        """Looks at the clock and at the scratch again and again, while a call runs."""
        if time.monotonic() >= self._deadline:
            wall = self._order["wall_seconds"]
            self._finish({"status": "timeout", "message": f"took more than {wall:g} s (wall_seconds)"})
        elif self._scratch.holds_more_than(self._files):
            self._finish(too_many_files(self._files))
        else:
            self._loop.alarm(min(self._deadline, time.monotonic() + LOOK_SECONDS), self._watch)

    def _finish(self, head: dict[str, Any], result: bytes = b"") -> None:
        """Tells the host first, cleans up then."""
        child = self._child
        if not self._running:
            return
        self._running = False
        self._loop.quiet()
        if self._scratch.holds_more_than(self._files):
            head, result = too_many_files(self._files), b""
        seconds = self._load_seconds + (child.seconds() if child is not None else 0.0)
        self._load_seconds = 0.0
        self._child = self._arguments = None
        if child is not None:
            child.drain()
        if self._tunnel is not None:
            self._tunnel.admits = False
            self._tunnel.close_all()
        self._queue_output(self._output)
        for piece in pieces(result):
            self._link.queue(Kind.CHUNK, 0, piece)
        written = [*self._output.written.values()]
        self._link.send_json(Kind.RESULT, head | {"seconds": seconds, "written": written})
        if child is not None:
            child.close()
        self._clean()

    def _queue_output(self, output: Output) -> None:
        for stream, text in output.kept.items():
            for piece in pieces(bytes(text)):
                self._link.queue(Kind.OUTPUT, stream, piece)

    def _clean(self) -> None:
        zygote = self._zygote
        self._reaper.collect()
        if zygote is None or not zygote.is_fit() or self._serves_once or others(1, zygote.pid):
            self._die()
        self._reaper.forget_all_but(zygote.pid)
        self._prepare(zygote)
        self._wipe_scratch()
        self._has_served = True
        self._link.send(Kind.CLEAN, 0, _CLEAN)

    def _wipe_scratch(self) -> None:
        try:
            self._scratch.wipe()
        except WipeFailed:
            self._die()

    def _lacks_memory(self) -> bool:
        return (oom_kills() or 0) > (self._oom_before or 0)

    def _die(self) -> NoReturn:
        """What is not clean is never used again."""
        self._link.send_json(Kind.CLEAN, {"clean": False, "memory": self._lacks_memory()})
        self._link.drain()
        os._exit(0)
