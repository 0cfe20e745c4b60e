"""Broker of one call: carries out or refuses each request of a tool by the grants of its version."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from anyio import to_thread

from alita_mcp.sandbox.broker.host_services import MAX_CHAIN, HostServices
from alita_mcp.sandbox.broker.redaction import redact
from alita_mcp.sandbox.broker.requests import (
    BrokerRequest,
    CallToolRequest,
    ChangeRequest,
    CompleteRequest,
    ListRequest,
    ReadRequest,
    SecretRequest,
    parse_request,
)
from alita_mcp.sandbox.broker.workspace import SETTING, Workspace
from alita_mcp.sandbox.interface import MAX_TARGET, Broker, BrokerEvent, EgressPolicy, RunResult
from alita_mcp.sandbox.network.egress_policies import GrantedHosts
from alita_mcp.sandbox.runner.tool.grants import lacks
from alita_mcp.sandbox.runner.tool.workspace import READ_ONLY
from alita_mcp.values import Grants, Limits

MAX_PROMPT_BYTES = 256 << 10
"""Prompt and system prompt together."""
MAX_COMPLETIONS = 20
"""How many completions one call may ask for."""
_V = TypeVar("_V")
_Reply = tuple[Any, int, int]
"""What the tool gets, and how many bytes went out and came in."""


class GrantedBroker(Broker):
    """Broker of one call; `events` records its requests and connections."""

    def __init__(self, grants: Grants, limits: Limits, services: HostServices) -> None:
        """Reads the grants.

        Raises:
            UsageError: a granted host is none.
        """
        self.events: list[BrokerEvent] = []
        self._grants = grants
        self._services = services
        self._hosts = GrantedHosts(
            grants.network,
            limits,
            record=self._record,
            resolve=services.resolve,
            reachable=services.reachable,
        )
        self._workspace = Workspace(services.workspace) if services.workspace else None
        self._completions = 0
        self._handlers: dict[str, tuple[type[BrokerRequest], Callable[[Any], Awaitable[_Reply]]]] = {
            "complete": (CompleteRequest, self._complete),
            "call_tool": (CallToolRequest, self._call_tool),
            "secret": (SecretRequest, self._secret),
            "workspace.list": (ListRequest, self._list),
            "workspace.read": (ReadRequest, self._read),
            "workspace.change": (ChangeRequest, self._change),
        }

    @property
    def egress_policy(self) -> EgressPolicy | None:
        """Where its connections may go; None: nowhere."""
        return self._hosts if self._grants.network else None

    async def answer(self, service: str, words: dict[str, Any]) -> Any:
        """The value that a request gets; see the interface."""
        started = time.monotonic()
        status, bytes_out, bytes_in = "failed", 0, 0
        try:
            if service not in self._handlers:
                raise PermissionError(lacks(service))  # noqa: TRY301 - noted below as any refusal
            kind, handle = self._handlers[service]
            value, bytes_out, bytes_in = await handle(
                parse_request(kind, f"alita_tool.{service.partition('.')[0]}", words)
            )
            status = "ok"
        except PermissionError:
            status = "refused"
            raise
        finally:
            target = words.get("name", words.get("path", ""))
            values = self._services.secrets.values()
            self.events.append(
                BrokerEvent(
                    door=redact(service.partition(".")[0], values)[:MAX_TARGET],
                    target=redact(target, values)[:MAX_TARGET] if isinstance(target, str) else "",
                    status=status,
                    bytes_out=bytes_out,
                    bytes_in=bytes_in,
                    seconds=round(time.monotonic() - started, 4),
                )
            )
        return value

    def redact_result(self, result: RunResult) -> RunResult:
        """The result as it may leave: without the secrets, and with the limit that ended the call's connections."""
        values = [
            self._services.secrets[name] for name in self._grants.secrets if name in self._services.secrets
        ]
        spent = self._hosts.budget.limit_message
        message = f"{result.message} (the call moved {spent})" if spent and not result.ok else result.message
        if not values and message == result.message:
            return result
        texts = ("value", "error_type", "error_kinds", "trace", "stdout", "stderr")
        redacted = {name: redact(getattr(result, name), values) for name in texts}
        return result.model_copy(update=redacted | {"message": redact(message, values)})

    def holds_secret(self, data: bytes) -> bool:
        """Whether a secret that the call was given stands in some bytes."""
        values = (self._services.secrets.get(name) for name in self._grants.secrets)
        return any(value.encode() in data for value in values if value)

    async def _complete(self, request: CompleteRequest) -> _Reply:
        if not self._grants.model:
            raise PermissionError(lacks("complete"))
        if self._services.complete is None:
            raise RuntimeError("alita_tool.complete is granted, but no model is set up (setting ALITA_MODEL)")
        size = len(f"{request.system or ''}{request.prompt}".encode())
        if size > MAX_PROMPT_BYTES:
            raise ValueError(f"a prompt of {size} bytes is longer than {MAX_PROMPT_BYTES}")
        self._completions += 1
        if self._completions > MAX_COMPLETIONS:
            raise RuntimeError(f"more than {MAX_COMPLETIONS} completions in one call")
        text = await _from_app(
            self._services.complete(
                request.prompt,
                system=request.system,
                max_tokens=request.max_tokens,
                temperature=request.temperature,
            )
        )
        return text, size, len(text.encode())

    async def _call_tool(self, request: CallToolRequest) -> _Reply:
        if request.name not in self._grants.tools:
            raise PermissionError(lacks("call_tool", request.name if self._grants.tools else ""))
        if self._services.call_tool is None:
            raise RuntimeError("alita_tool.call_tool is granted, but no library is open")
        chain = (*self._services.chain, request.name)
        if request.name in self._services.chain:
            raise RuntimeError(f"tools cannot call themselves: {' → '.join(chain)}")
        if len(chain) > MAX_CHAIN:
            raise RuntimeError(f"more than {MAX_CHAIN} nested tool calls: {' → '.join(chain)}")
        value = await _from_app(self._services.call_tool(request.name, request.arguments, chain=chain))
        return value, _size(request.arguments), _size(value)

    async def _secret(self, request: SecretRequest) -> _Reply:
        if request.name not in self._grants.secrets:
            raise PermissionError(lacks("secret", request.name if self._grants.secrets else ""))
        if request.name not in self._services.secrets:
            raise RuntimeError(
                f"the secret {request.name!r} is granted, but it has no value (setting ALITA_SECRETS_FILE)"
            )
        return self._services.secrets[request.name], 0, 0

    async def _list(self, request: ListRequest) -> _Reply:
        names = await to_thread.run_sync(self._open_workspace("read").names, request.path)
        return names, 0, 0

    async def _read(self, request: ReadRequest) -> _Reply:
        piece = await to_thread.run_sync(
            self._open_workspace("read").read, request.path, request.offset, request.length
        )
        return piece, 0, len(piece["data"]) * 3 // 4

    async def _change(self, request: ChangeRequest) -> _Reply:
        workspace = self._open_workspace("write")
        workspace.stage(request.operations)
        # abandoning the thread would leave half of the changes to nobody's knowledge
        written = await to_thread.run_sync(workspace.commit) if request.last else 0
        return None, written, 0

    def _open_workspace(self, what: str) -> Workspace:
        if self._grants.workspace == "none":
            raise PermissionError(lacks("workspace"))
        if what == "write" and self._grants.workspace != "write":
            raise PermissionError(READ_ONLY)
        if self._workspace is None:
            raise RuntimeError(f"the workspace is granted, but no folder is set up (setting {SETTING})")
        return self._workspace

    def _record(self, event: BrokerEvent) -> None:
        target = redact(event.target, self._services.secrets.values())
        self.events.append(event.model_copy(update={"target": target}))


async def _from_app(answer: Awaitable[_V]) -> _V:
    """What the app gives; the text of an error of the system, paths of the host in it, stays here.

    An error without a number was put into words by the app, for the tool's author.
    """
    try:
        return await answer
    except OSError as problem:
        if problem.errno is None:
            raise
        raise RuntimeError(f"the host failed with {type(problem).__name__}") from problem


def _size(value: Any) -> int:
    return len(json.dumps(value, default=str))
