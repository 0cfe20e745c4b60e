"""Import of litellm at first use, made quiet: stdout belongs to the protocol."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module
from typing import Any

from alita_mcp.extras import importing
from alita_mcp.settings import keep_litellm_to_itself


@cache
def load_litellm() -> Any:
    """The module; takes seconds the first time, so call it from a worker thread.

    Raises:
        ExtraMissing: it is not installed, or damaged.
    """
    keep_litellm_to_itself()
    _silence_loggers()
    with importing("models"):
        litellm: Any = import_module("litellm")
        handlers = import_module("litellm.llms.custom_httpx.http_handler")
    _silence_loggers()  # the import gave them handlers that write to stdout
    litellm.suppress_debug_info = True
    litellm.set_verbose = False
    litellm.telemetry = False
    litellm.DEFAULT_MAX_RETRIES = 0  # for embeddings it takes max_retries=0 for unset
    litellm.aclient_session = _session()
    litellm.disable_aiohttp_transport = True  # its sessions outlive their event loop and complain
    for kind, capped_too in ((handlers.AsyncHTTPHandler, True), (handlers.HTTPHandler, False)):
        kind.create_client = _bounded(kind.create_client, capped_too)
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

    from alita_mcp.models.litellm.capped_reply import capped

    return httpx.AsyncClient(
        headers={"accept-encoding": "identity"},
        follow_redirects=False,
        limits=httpx.Limits(max_keepalive_connections=0),
        event_hooks={"response": [capped]},
    )


def _bounded(create: Callable[..., Any], capped_too: bool) -> Callable[..., Any]:
    """Litellm's own way to a client, which it takes for providers that it speaks to without OpenAI's library.

    What comes out has the same bounds as `_session`; where litellm is synchronous, the size of a reply has none.
    """
    from alita_mcp.models.litellm.capped_reply import capped

    @wraps(create)
    def created(*arguments: Any, **options: Any) -> Any:
        client = create(*arguments, **options)
        client.follow_redirects = False
        client.headers.update({"accept-encoding": "identity", "connection": "close"})
        if capped_too:
            hooks = client.event_hooks
            client.event_hooks = hooks | {"response": [*hooks.get("response", ()), capped]}
        return client

    return created
