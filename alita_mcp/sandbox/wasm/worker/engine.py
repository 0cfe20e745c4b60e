"""WebAssembly engine: makes instances of the compiled component, each with a store that bounds its resources."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable
from ctypes import byref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from wasmtime import Config, Engine, Store, WasiConfig, WasmtimeError, _ffi
from wasmtime.component import Component, Linker, _types

from alita_mcp.sandbox.wasm.worker.features import OFF, STACK_BYTES

MAX_RANDOM_BYTES = 1 << 20
"""At a time, in a rehearsal; the engine bounds its own source."""
IMPORTS = ("ask", "network")
"""What the component calls: both take a question and give its answer, as JSON."""
_TABLE_ELEMENTS = 200_000
_INSTANCES = 64
_NANO = 1_000_000_000


def new_engine(*, compiles: bool = False) -> Engine:
    """Makes an engine that can interrupt code and has only the WebAssembly features that the component needs."""
    config = Config()
    config.epoch_interruption = True
    config.max_wasm_stack = STACK_BYTES
    config.parallel_compilation = compiles
    for feature in OFF:
        setattr(config, feature, False)
    return Engine(config)


class StringBound:
    """Bound on all strings from instances in this process, checked before they are read.

    One may fill an instance's memory; the engine copies at most 128 MiB in one go, which can become a gigabyte of text
    here. wasmtime has no setting for it.
    """

    def __init__(self, longest: int = 0) -> None:
        self.longest = longest
        """Bytes of UTF-8."""
        convert = _types.String.convert_from_c

        def convert_short(kind: _types.String, value: Any) -> Any:
            size = value.of.string.size
            if size > self.longest:
                _ffi.wasm_byte_vec_delete(byref(value.of.string))
                raise WasmtimeError(f"it gave {size} bytes where {self.longest} may be")
            return convert(kind, value)

        _types.String.convert_from_c = convert_short  # type: ignore[method-assign, assignment]


class OsCallbacks:
    """The wall clock and the random numbers that an instance gets from the host."""

    def __init__(
        self, *, clock_offset_s: int = 0, moment: int | None = None, random_seed: int | None = None
    ) -> None:
        self.is_real = not clock_offset_s and moment is None and random_seed is None
        self._offset = clock_offset_s
        self._moment = moment
        self._seed = random_seed
        self.restart()

    def restart(self) -> None:
        """Sets a rehearsed clock and its random numbers back to their start."""
        self._began = time.monotonic()
        seed = self._seed
        self._random_bytes = secrets.token_bytes if seed is None else random.Random(seed).randbytes  # noqa: S311

    def draw_bytes(self, count: int) -> bytes:
        """So many random bytes; more than may be end the call."""
        if count > MAX_RANDOM_BYTES:
            raise WasmtimeError(f"it asked for {count} random bytes where {MAX_RANDOM_BYTES} may be")
        return self._random_bytes(count)

    def now(self) -> SimpleNamespace:
        """The time, as the engine takes it."""
        if self._moment is not None:
            passed = int(time.monotonic() - self._began)
            return SimpleNamespace(seconds=self._moment + passed, nanoseconds=0)
        seconds, rest = divmod(time.time_ns(), _NANO)
        return SimpleNamespace(seconds=max(0, seconds + self._offset), nanoseconds=rest)


class Instances:
    """Makes instances of one component; all use one `OsCallbacks`, until it is replaced."""

    def __init__(
        self,
        compiled: Path,
        ask: Callable[[str, str], str],
        packaged: Callable[[str], str] = lambda _name: "",
    ) -> None:
        self.engine = new_engine()
        self.strings = StringBound()
        self.os_callbacks = OsCallbacks()
        self._component = Component.deserialize_file(self.engine, str(compiled))
        self._real = self._new_linker(ask, packaged)
        self._rehearsed = self._new_linker(ask, packaged)

        # a rehearsal gets the clock and the random numbers of the callbacks in place of this machine's
        def some(_store: object, count: int) -> bytes:
            return self.os_callbacks.draw_bytes(count)

        def number(_store: object) -> int:
            return int.from_bytes(self.os_callbacks.draw_bytes(8))

        sources: dict[str, dict[str, Callable[..., Any]]] = {
            "wasi:clocks/wall-clock": {
                "now": lambda _store: self.os_callbacks.now(),
                "resolution": lambda _store: SimpleNamespace(seconds=0, nanoseconds=1),
            },
            "wasi:random/random": {"get-random-bytes": some, "get-random-u64": number},
            "wasi:random/insecure": {"get-insecure-random-bytes": some, "get-insecure-random-u64": number},
            "wasi:random/insecure-seed": {"insecure-seed": lambda store: (number(store), number(store))},
        }
        with self._rehearsed.root() as root:
            for name in self._component.type.imports(self.engine):
                functions = sources.get(name.partition("@")[0])
                if functions:
                    with root.add_instance(name) as source:
                        for function, answer in functions.items():
                            source.add_func(function, answer)

    def _new_linker(self, ask: Callable[[str, str], str], packaged: Callable[[str], str]) -> Linker:
        linker = Linker(self.engine)
        linker.add_wasip2()
        linker.allow_shadowing = True
        with linker.root() as root:
            for name in IMPORTS:
                root.add_func(name, lambda _store, question, name=name: ask(name, question))
            root.add_func("packaged", lambda _store, name: packaged(name))
        return linker

    def open_instance(self, memory_bytes: int, write: Callable[[int, bytes], None]) -> tuple[Store, Any]:
        """A store and the new instance in it; the caller closes the store."""
        store, wasi = Store(self.engine), WasiConfig()
        wasi.stdout_custom = lambda data: write(1, data)
        wasi.stderr_custom = lambda data: write(2, data)
        store.set_wasi(wasi)
        store.set_limits(memory_size=memory_bytes, table_elements=_TABLE_ELEMENTS, instances=_INSTANCES)
        store.set_epoch_deadline(1)
        try:
            linker = self._real if self.os_callbacks.is_real else self._rehearsed
            return store, linker.instantiate(store, self._component)
        except BaseException:
            store.close()
            raise
