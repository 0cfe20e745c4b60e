"""Import of litellm at first use, made quiet: stdout belongs to the protocol."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module
from typing import Any

import httpx

from alita_mcp.extras import extra_imports
from alita_mcp.settings import isolate_litellm


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
        follow_redirects=False, limits=httpx.Limits(max_keepalive_connections=0)
    )
    # Other providers are reached through litellm's own clients.
    for kind in (handlers.AsyncHTTPHandler, handlers.HTTPHandler):
        kind.create_client = _without_redirects(kind.create_client)
    return litellm


def _silence_loggers() -> None:
    """Failures are reported in our own words; httpx and its like log addresses, which hold keys for some providers."""
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.setLevel(logging.CRITICAL)
    for name in ("httpx", "httpcore", "openai"):
        logging.getLogger(name).setLevel(logging.WARNING)


def _without_redirects(create: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(create)
    def create_client(*arguments: Any, **options: Any) -> Any:
        client = create(*arguments, **options)
        client.follow_redirects = False
        client.headers["connection"] = "close"
        return client

    return create_client
