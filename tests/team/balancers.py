"""Real balancers in front of replicas: each request of the newer era to any, sessions of the older one to their own."""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

START_WITHIN_S = 60.0
HAPROXY = """
global
  maxconn 8192
defaults
  mode http
  timeout connect 2s
  timeout check 10s
  timeout client 1h
  timeout server 1h
  timeout http-keep-alive 1h
  option redispatch 1
  retries 3
frontend clients
  bind 127.0.0.1:{port}
  default_backend replicas
backend replicas
  balance {balance}
  option httpchk
  http-check send meth GET uri {health} ver HTTP/1.1 hdr Host localhost
  http-check expect status 200
  stick-table type string len 64 size 100k expire 30m
  stick match req.hdr(mcp-session-id)
  stick store-response res.hdr(mcp-session-id)
{servers}
"""
HAPROXY_SERVER = (
    "  server r{port} 127.0.0.1:{port} check inter 300ms fall 2 rise 1"
)
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
  # A session's id is made by its replica, which nginx cannot ask: a client's address leads to the same one.
  upstream sessions {{ hash $http_authorization$remote_addr consistent; {servers} }}
  upstream replicas {{ {servers} }}
  map $http_mcp_protocol_version $pool {{ "2026-07-28" replicas; default sessions; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://$pool;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      proxy_buffering off;
      proxy_read_timeout 1h;
      proxy_next_upstream error non_idempotent;
    }}
  }}
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
def running_haproxy(
    folder: Path, ports: Sequence[int], *, health: str = "/healthz", balance: str = "roundrobin"
) -> Iterator[int]:
    """The port of an haproxy before the replicas at these ports, which may come and go."""
    (port,) = free_ports(1)
    servers = "\n".join(HAPROXY_SERVER.format(port=each) for each in ports)
    written = folder / "haproxy.cfg"
    written.write_text(HAPROXY.format(port=port, balance=balance, health=health, servers=servers))
    with _running([str(find_program("haproxy")), "-db", "-f", str(written)], port, folder):
        yield port


@contextmanager
def running_nginx(folder: Path, ports: Sequence[int]) -> Iterator[int]:
    """The port of an nginx before the replicas at these ports."""
    (port,) = free_ports(1)
    servers = " ".join(f"server 127.0.0.1:{each} max_fails=1 fail_timeout=1s;" for each in ports)
    written = folder / "nginx.conf"
    written.write_text(NGINX.format(port=port, folder=folder, servers=servers))
    with _running([str(find_program("nginx")), "-p", str(folder), "-c", str(written)], port, folder):
        yield port


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
