"""Translation of litellm's failures: whether one may pass, how long to wait, and what to tell a person."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from itertools import takewhile
from typing import Any, TypeVar

import anyio

from alita_mcp.errors import ModelError
from alita_mcp.models.choices import Chosen
from alita_mcp.models.litellm.backoff import Patience, retry_after_seconds
from alita_mcp.models.redaction import presentable

T = TypeVar("T")

UNAUTHORIZED, TIMED_OUT, TOO_MANY = 401, 408, 429
REFUSED = (400, 422)
MAX_CHAIN = 20
OPTIONAL = ("response_format", "temperature", "seed")
"""Options that a request may do without."""
_LASTING = ("insufficient_quota", "exceeded your current quota", "billing", "credit balance")
"""Sent with 429, though waiting does not help."""
_WRAPPING = re.compile(r"^(?:(?:litellm\.)?\w*(?:Error|Exception|Timeout)(?: APIError)?\s*[:-]\s*)+")
_NO_KEY = re.compile(r"(?i)missing (?:credentials|[\w ]{0,30}api[ _]key)")
"""Raised by litellm and openai with status 500 before anything is sent."""


async def call_with_retries(call: Callable[[], Awaitable[T]], patience: Patience, chosen: Chosen) -> T:
    """What `call` returns; rate limits, server errors, time-outs and lost connections are tried again.

    Raises:
        ModelError: it failed for good; as `translate_failure`.
    """
    for attempt in range(patience.attempts):
        try:
            return await call()
        except Exception as failure:  # noqa: BLE001 - whatever the vendor raises is tried again or translated
            if not may_pass(failure) or attempt == patience.attempts - 1:
                raise translate_failure(failure, chosen) from None  # the vendor's words may hold keys
            pause = patience.pause(attempt, retry_after_seconds(headers_of(failure)))
        await anyio.sleep(pause)
    raise ModelError(f"The model {chosen.name!r} was not asked.", hint="Allow at least one attempt.")


def status_of(failure: Exception) -> int | None:
    """The status that the server answered with, where litellm knows one; 401 where no key is set at all."""
    if _NO_KEY.search(str(failure)):
        return UNAUTHORIZED
    if isinstance(failure, TimeoutError):
        return TIMED_OUT
    # Of some providers' redirects litellm makes a lost connection.
    for cause in _chain(failure):
        redirect = getattr(getattr(cause, "response", None), "status_code", None)
        if isinstance(redirect, int) and 300 <= redirect < 400:
            return redirect
    status = getattr(failure, "status_code", None)
    return status if isinstance(status, int) else None


def headers_of(failure: Exception) -> Mapping[str, str] | None:
    """The headers that the server answered with; litellm keeps them in one of two places."""
    response = getattr(failure, "response", None)
    for headers in (getattr(failure, "litellm_response_headers", None), getattr(response, "headers", None)):
        if headers:
            return {str(name).lower(): str(value) for name, value in dict(headers).items()}
    return None


def may_pass(failure: Exception) -> bool:
    """Whether the same request may succeed a moment later."""
    if isinstance(failure, ConnectionError):
        return True
    status = status_of(failure)
    if status == TOO_MANY:
        return not any(word in str(failure).lower() for word in _LASTING)
    return status is not None and (status == TIMED_OUT or status >= 500)


def options_to_drop(failure: Exception, options: Mapping[str, Any]) -> set[str]:
    """Options to leave out before a refused request is sent again; empty: none, it stays refused."""
    if status_of(failure) not in REFUSED:
        return set()
    # Two cases: the server names options; it says nothing of use, and most often it is the schema that is unknown.
    sent = set(OPTIONAL) & options.keys()
    return {option for option in sent if option in str(failure).lower()} or {"response_format"} & sent


def translate_failure(failure: Exception, chosen: Chosen) -> ModelError:
    """The failure in our words; nothing in it is or looks like a key."""
    status = status_of(failure)
    if status == TIMED_OUT:
        why = f"no whole answer within {chosen.timeout_s:g} s"
    elif _NO_KEY.search(str(failure)):
        why = "no key is set"
    else:
        words = _WRAPPING.sub("", str(failure)).partition("Traceback (most recent call last)")[0]
        if words.strip(" .") in (
            "Connection error",
            "All connection attempts failed",
        ):  # what started it says more
            words = str(list(takewhile(str, _chain(failure)))[-1]) or words
            refused = next(
                (each for each in _chain(failure) if isinstance(each, ConnectionRefusedError)), None
            )
            words = "connection refused" if refused is not None else words
        why = presentable(words).strip(" .") or type(failure).__name__
    number = (
        f" (status {status})" if headers_of(failure) else ""
    )  # without headers litellm made the status up
    address = address_of(failure)
    place = f" at {presentable(address)}" if address else ""
    why = f"The model {chosen.name!r} did not answer{place}{number}: {why}."
    return ModelError(why, hint=_hint(status, failure, chosen))


def address_of(failure: Exception) -> str:
    """The address that was tried, without credentials and query; empty where nothing was sent."""
    for cause in reversed(list(_chain(failure))):
        vendor = type(cause).__module__.partition(".")[0]
        # litellm makes up requests for its own exceptions; httpx raises where there is none
        if vendor in ("httpx", "openai") and (
            request := getattr(cause, "_request", None) or vars(cause).get("request")
        ):
            return f"{request.url.scheme}://{request.url.netloc.decode()}{request.url.path}"
    return ""


def _chain(failure: BaseException) -> Iterator[BaseException]:
    """The failure and its causes."""
    cause: BaseException | None = failure
    for _ in range(MAX_CHAIN):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__ or cause.__context__


def _hint(status: int | None, failure: Exception, chosen: Chosen) -> str:
    where = "its base URL (ALITA_MODEL_BASE_URL)" if chosen.base_url else "the network"
    if "LLM Provider NOT provided" in str(failure):
        return f"Write {chosen.setting} as provider/model: openai/NAME for any OpenAI-compatible server."
    if any(isinstance(each, ConnectionRefusedError) for each in _chain(failure)):
        own = " (ollama serve)" if chosen.name.startswith("ollama") else ""
        return f"Start the server{own}, or check {where}."
    match status:
        case 401 | 403:
            return f"Set {chosen.key_variable} to a key that may use this model, or run `alita setup`."
        case 404:
            return f"Check the model's name in {chosen.setting} and {where}."
        case 400 | 422:
            return f"Check {chosen.setting}: the provider refuses this request, so it was not retried."
        case 402 | 429:
            return "The provider's limit is reached: wait, raise it there, or set another model."
        case 408:
            return f"Raise timeout_s= in the role's setting, or check {where}."
        case code if code is not None and 300 <= code < 400:
            return f"The server redirects elsewhere, which is not followed: check {where}."
        case _:
            return f"Check {chosen.setting} and {where}."
