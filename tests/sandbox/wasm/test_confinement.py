"""What a worker process drops: tried by native code in a process that dropped it, as one that broke out would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.runner.supervisor import hardening
from alita_mcp.sandbox.wasm.attestation import check_attestation
from alita_mcp.sandbox.wasm.process import minimal_environment
from alita_mcp.sandbox.wasm.worker import confinement
from tests.tables import each_case

ROOT = Path(confinement.__file__).parents[4]
linux = pytest.mark.skipif(sys.platform != "linux", reason="rights of Linux")
ESCAPED = """
import ctypes, errno, json, mmap, os, resource, signal, socket, subprocess, sys, threading, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from alita_mcp.sandbox.runner.supervisor import hardening
from alita_mcp.sandbox.wasm.worker import confinement
ATTEMPTS = {
    "socket": lambda: socket.socket(),
    "unix socket": lambda: socket.socket(socket.AF_UNIX),
    "vsock": lambda: socket.socket(socket.AF_VSOCK),
    "read": lambda: open("/etc/hostname"),
    "read itself": lambda: open(sys.argv[2]),
    "write": lambda: open("/tmp/alita-escaped", "w"),
    "list": lambda: os.listdir("/"),
    "remove": lambda: os.unlink(sys.argv[2]),
    "fork": lambda: os.fork() or os._exit(0),
    "start": lambda: subprocess.run(["/bin/true"]),
    "replace": lambda: os.execv("/bin/true", ["true"]),
    "signal parent": lambda: os.kill(os.getppid(), 0),
    "signal all": lambda: os.kill(-1, 0),
    "trace": lambda: call(101, 16, os.getppid(), 0, 0),
    "read memory": lambda: call(310, os.getppid(), 0, 0, 0, 0, 0),
    "thread of another": lambda: call(234, os.getppid(), os.getppid(), 0),
    "signal by descriptor": lambda: call(72, 0, 8, os.getppid()),
    "io_uring": lambda: call(425, 8, 0),
    "bpf": lambda: call(321, 0, 0, 0),
    "namespace": lambda: call(272, 0x10000000),
    "memory file": lambda: call(319, b"x", 0),
    "new process": lambda: call(56, 17, 0, 0, 0, 0),
    "clone3": lambda: call(435, 0, 0),
    "code": lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC),
    "limit raised": lambda: resource.setrlimit(resource.RLIMIT_CORE, (1, 1)),
    "dumpable": lambda: call(157, 4, 1, 0, 0, 0),
    "root again": lambda: os.setuid(0),
    "x32": lambda: call(0x40000000 + 41, 2, 1, 0),
}
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *words):
    if libc.syscall(ctypes.c_long(number), *[w if isinstance(w, bytes) else ctypes.c_long(w) for w in words]) < 0:
        raise OSError(ctypes.get_errno(), "refused")
def outcome(attempt):
    try:
        attempt()
    except OSError as refused:
        return errno.errorcode[refused.errno]
    return "OK"
exec(sys.argv[3])
found = confinement.confine(Path(sys.argv[2]))
refused = {name: outcome(attempt) for name, attempt in ATTEMPTS.items()}
thread = threading.Thread(target=time.sleep, args=(0.01,))
thread.start()
thread.join()
os.write(1, json.dumps({"found": found, "refused": refused}).encode())
os._exit(0)
"""


def escaped(loaded: Path, before: str = "") -> dict[str, Any]:
    """What a confined process attests, and what came of its attempts."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", ESCAPED, str(ROOT), str(loaded), before],
        env=minimal_environment(), capture_output=True, check=False, stdin=subprocess.DEVNULL, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.fixture
def loaded(tmp_path: Path) -> Path:
    file = tmp_path / "loaded"
    file.touch()
    return file


@linux
def test_code_that_broke_out_of_the_engine_can_do_nothing_but_compute(loaded: Path) -> None:
    told = escaped(loaded)
    refused = told["refused"]
    if os.uname().machine != "x86_64":  # the numbers in the program are those of x86_64
        refused = {name: how for name, how in refused.items() if how not in {"EINVAL", "EFAULT", "EBADF"}}
    assert set(refused.values()) <= {"ENOSYS", "EPERM"}, refused
    assert loaded.exists()
    found = check_attestation(json.dumps(told["found"]).encode(), loaded.name)
    assert found.linux is not None
    assert (found.linux.status["Seccomp"], found.linux.status["NoNewPrivs"]) == ("2", "1")
    assert "0" not in found.linux.status["Uid"].split()


@linux
def test_where_no_namespace_can_be_made_sockets_are_refused_all_the_same(loaded: Path) -> None:
    before = """
from alita_mcp.sandbox.wasm.worker import linux
class Refusing:
    def __getattr__(self, name):
        return (lambda *words: -1) if name == "unshare" else getattr(libc, name)
linux._libc = Refusing()
"""
    told = escaped(loaded, before)
    assert told["refused"]["socket"] in {"ENOSYS", "EPERM"}
    found = check_attestation(json.dumps(told["found"]).encode(), loaded.name)
    assert found.linux is not None
    assert not found.linux.own_network


@linux
@pytest.mark.parametrize(
    ("before", "words"),
    [
        ("os.environ['SECRET'] = 'x'", "inherited variables (SECRET)"),
        ("os.dup2(0, 7)", "holds descriptors (7)"),
        ("confinement.engine_version = lambda: '1.0'", "runs wasmtime '1.0'"),
    ],
)
def test_a_worker_that_is_weaker_is_refused(loaded: Path, before: str, words: str) -> None:
    told = escaped(loaded, before)
    with pytest.raises(SandboxError) as weak:
        check_attestation(json.dumps(told["found"]).encode(), loaded.name)
    assert words in weak.value.message


@pytest.mark.slow
@linux
@each_case(
    "change, words",
    [
        ({"compiled": "another"}, "it loaded 'another'"),
        ({"linux": None}, "it dropped nothing"),
        ({"status": {"Seccomp": "0"}}, "no seccomp filter"),
        ({"status": {"Threads": "2"}}, "had threads before"),
        ({"status": {"NoNewPrivs": "0"}}, "gain new privileges"),
        ({"status": {"CapEff": "0000000000000400"}}, "holds capabilities (CapEff)"),
        ({"dumpable": 1}, "may be dumped"),
        ({"interfaces": ["lo", "eth0"], "own_network": True}, "network interfaces (eth0)"),
        ({"surprise": 1}, "no valid attestation"),
    ],
)
def test_each_right_that_is_left_is_named(loaded: Path, change: dict[str, Any], words: str) -> None:
    told = escaped(loaded)["found"]
    facts = told["linux"]
    for name, value in change.items():
        if name == "status":
            facts["status"] |= value
        elif name in facts:
            facts[name] = value
        else:
            told[name] = value
    with pytest.raises(SandboxError) as weak:
        check_attestation(json.dumps(told).encode(), loaded.name)
    assert words in weak.value.message


@each_case("payload", [b"", b"[]", b"{", b"\xff", b'{"engine": 1}'])
def test_what_is_no_attestation_is_refused(payload: bytes) -> None:
    with pytest.raises(SandboxError, match="no valid attestation"):
        check_attestation(payload, "")


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_elsewhere_the_process_itself_is_enough(system: str) -> None:
    told = {
        "engine": confinement.engine_version(),
        "compiled": "x",
        "system": system,
        "variables": ["SYSTEMROOT"],
    }
    assert check_attestation(json.dumps(told).encode(), "x").linux is None


@linux
def test_both_architectures_have_a_filter_and_others_have_none() -> None:
    rules = import_module("alita_mcp.sandbox.wasm.worker.linux").worker_rules
    for machine in ("x86_64", "aarch64"):
        assert len(hardening.assemble(machine, rules)) % 8 == 0
    with pytest.raises(KeyError):
        hardening.assemble("riscv64", rules)
