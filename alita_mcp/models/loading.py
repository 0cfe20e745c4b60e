"""litellm, imported at first use and made quiet: stdout belongs to the protocol, and our own words reach people."""

from __future__ import annotations

import logging
from functools import cache
from importlib import import_module
from typing import Any

from alita_mcp.settings import keep_litellm_to_itself


@cache
def load_litellm() -> Any:
    """The module; takes seconds the first time, so call it from a worker thread."""
    keep_litellm_to_itself()
    _silence_loggers()
    litellm: Any = import_module("litellm")
    _silence_loggers()  # the import gave them handlers that write to stdout
    litellm.suppress_debug_info = True
    litellm.set_verbose = False
    litellm.telemetry = False
    litellm.aclient_session = _session()
    litellm.disable_aiohttp_transport = True  # its sessions outlive their event loop and complain
    return litellm


def _silence_loggers() -> None:
    """What fails is told in our own words; httpx and its like log addresses, which hold keys for some providers."""
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.setLevel(logging.CRITICAL)
    for name in ("httpx", "httpcore", "openai"):
        logging.getLogger(name).setLevel(logging.WARNING)


def _session() -> Any:
    """What litellm speaks to OpenAI-compatible servers through.

    No redirects: they would take prompts, and for some providers keys, to a place that nobody configured. No idle
    connections: the session serves whatever event loop asks, and a connection belongs to one.
    """
    import httpx

    from alita_mcp.models.capped_reply import capped

    return httpx.AsyncClient(
        headers={"accept-encoding": "identity"},
        follow_redirects=False,
        limits=httpx.Limits(max_keepalive_connections=0),
        event_hooks={"response": [capped]},
    )
