"""Import of litellm at first use, made quiet, and with bounded replies: stdout belongs to the protocol."""

from __future__ import annotations

import gc
import logging
from collections.abc import AsyncIterator, Callable
from functools import cache, wraps
from importlib import import_module
from typing import Any

import httpx

from alita_mcp.extras import extra_imports
from alita_mcp.settings import isolate_litellm

MAX_REPLY_BYTES = 16 << 20
"""No answer of a model comes near."""
MAX_COMPRESSED_BYTES = 64 << 10
"""Compression is not requested, and could make a thousand bytes of one."""


@cache
def load_litellm() -> Any:
    """The module; takes seconds the first time, so call it from a worker thread.

    Raises:
        ExtraMissing: it is not installed, or damaged.
    """
    isolate_litellm()
    _silence_loggers()
    gc.disable()  # looking for garbage in a million new objects takes a quarter of the import, and finds none
    try:
        with extra_imports("models"):
            litellm: Any = import_module("litellm")
            handlers = import_module("litellm.llms.custom_httpx.http_handler")
        gc.freeze()
    finally:
        gc.enable()
    _silence_loggers()  # the import gave them handlers that write to stdout
    litellm.suppress_debug_info = True
    litellm.set_verbose = False
    litellm.telemetry = False
    litellm.DEFAULT_MAX_RETRIES = 0  # for embeddings it takes max_retries=0 for unset
    litellm.disable_aiohttp_transport = True  # its sessions outlive their event loop and complain
    # OpenAI-compatible servers are reached through a session of ours. No redirects: they would take prompts, and for
    # some providers keys, to a place that nobody configured. No idle connections: the session serves whatever event
    # loop asks, and a connection belongs to one.
    litellm.aclient_session = httpx.AsyncClient(
        headers={"accept-encoding": "identity"},
        follow_redirects=False,
        limits=httpx.Limits(max_keepalive_connections=0),
        event_hooks={"response": [limit_reply]},
    )
    # Other providers are reached through litellm's own clients. Synchronous ones get no limit on the size of a reply.
    for kind, is_async in ((handlers.AsyncHTTPHandler, True), (handlers.HTTPHandler, False)):
        kind.create_client = _with_limits(kind.create_client, is_async=is_async)
    return litellm


def _silence_loggers() -> None:
    """Failures are reported in our own words; httpx and its like log addresses, which hold keys for some providers."""
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.setLevel(logging.CRITICAL)
    for name in ("httpx", "httpcore", "openai"):
        logging.getLogger(name).setLevel(logging.WARNING)


def _with_limits(create: Callable[..., Any], *, is_async: bool) -> Callable[..., Any]:
    @wraps(create)
    def create_client(*arguments: Any, **options: Any) -> Any:
        client = create(*arguments, **options)
        client.follow_redirects = False
        client.headers.update({"accept-encoding": "identity", "connection": "close"})
        if is_async:
            hooks = client.event_hooks
            client.event_hooks = hooks | {"response": [*hooks.get("response", ()), limit_reply]}
        return client

    return create_client


class ReplyTooLarge(httpx.TransportError):
    """Failure of a server that sent more than any answer of a model holds."""


async def limit_reply(response: httpx.Response) -> None:
    """Makes a reply end at the limit when it is read; an event hook, called once its headers are there.

    Raises:
        ReplyTooLarge: it is compressed in a way that bounds nothing.
    """
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "deflate"):
        raise ReplyTooLarge(f"the reply is compressed ({encoding[:20]}), which was not requested")
    limit = MAX_REPLY_BYTES if encoding == "identity" else MAX_COMPRESSED_BYTES
    if isinstance(response.stream, httpx.AsyncByteStream):
        response.stream = _LimitedStream(response.stream, limit)


class _LimitedStream(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream, limit: int) -> None:
        self._inner = inner
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received = 0
        async for chunk in self._inner:
            received += len(chunk)
            if received > self._limit:
                raise ReplyTooLarge(f"the reply is larger than {self._limit >> 10} kB")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
