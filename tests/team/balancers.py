"""Real balancers in front of replicas: each request of the newer era to any, sessions of the older one to their own."""

from __future__ import annotations

import os
import random
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
START_WITHIN_S = 60.0
NGINX = """
daemon off;
error_log {folder}/nginx-error.log;
pid {folder}/nginx.pid;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  {servers}
}}
"""


def free_ports(count: int) -> list[int]:
    """Ports that nothing listens on, each another, below those that connections are given."""
    found: list[int] = []
    for port in random.sample(range(12_000, 32_000), 1_000):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            found.append(port)
        if len(found) == count:
            break
    return found


def find_program(name: str) -> str | None:
    """The program, also where Debian keeps those of the system."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def wait_for(is_so: Callable[[], bool], within_s: float = START_WITHIN_S) -> bool:
    """Asks until it is so; False when the time is over."""
    end = time.monotonic() + within_s
    while not is_so():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def answers(port: int) -> bool:
    """Whether something listens there."""
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def running_haproxy(folder: Path, ports: Sequence[int]) -> Iterator[int]:
    """The port of an haproxy, as we ship it, before the replicas at these ports, which may come and go."""
    (port,) = free_ports(1)
    text = (DEPLOY / "haproxy.cfg").read_text(encoding="utf-8")
    servers = "\n".join(f"    server r{each} 127.0.0.1:{each}" for each in ports)
    text = _replace(r"^resolvers docker\n(    .*\n)+", "", text)
    text = _replace(r"bind :8765", f"bind 127.0.0.1:{port}", text)
    text = _replace(r"^    server-template .*$", servers, text)
    text = _replace(r"inter 2s", "inter 300ms", text)
    written = folder / "haproxy.cfg"
    written.write_text(text, encoding="utf-8")
    with _running([str(find_program("haproxy")), "-db", "-f", str(written)], port, folder):
        yield port


@contextmanager
def running_nginx(folder: Path, ports: Sequence[int]) -> Iterator[int]:
    """The port of an nginx, as we ship it, before the replicas at these ports."""
    (port,) = free_ports(1)
    text = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    servers = "".join(f"    server 127.0.0.1:{each} max_fails=1 fail_timeout=5s;\n" for each in ports)
    text = _replace(r"(    server 127.0.0.1:.*\n)+", servers, text)
    text = _replace(r"listen 8765;", f"listen 127.0.0.1:{port};", text)
    written = folder / "nginx.conf"
    written.write_text(NGINX.format(folder=folder, servers=text), encoding="utf-8")
    with _running([str(find_program("nginx")), "-p", str(folder), "-c", str(written)], port, folder):
        yield port


def _replace(pattern: str, replacement: str, text: str) -> str:
    replaced, count = re.subn(pattern, replacement, text, flags=re.MULTILINE)
    assert count, f"no {pattern!r} in what is shipped"
    return replaced


@contextmanager
def _running(command: Sequence[str], port: int, folder: Path) -> Iterator[None]:
    with (folder / "balancer.log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        assert wait_for(lambda: answers(port)), (folder / "balancer.log").read_text()
        yield
    finally:
        process.terminate()
        process.wait(START_WITHIN_S)
