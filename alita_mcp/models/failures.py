"""What went wrong between litellm and a provider: whether it may pass, how long to wait, and what to tell a person."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from alita_mcp.errors import ModelError
from alita_mcp.models.choices import Chosen
from alita_mcp.models.redaction import presentable

UNAUTHORIZED = 401
TIMED_OUT = 408
TOO_MANY = 429
REFUSED = (400, 422)
MAX_CHAIN = 20
_OPTION_WORDS = {
    "response_format": ("response_format", "json_schema", "schema", "structured", "grammar"),
    "temperature": ("temperature",),
    "seed": ("seed",),
}
"""How servers name the options that they may do without."""
_STAYS = ("insufficient_quota", "exceeded your current quota", "billing", "credit balance")
"""Said with 429, though waiting does not help."""

_WRAPPING = re.compile(r"^(?:(?:litellm\.)?\w*(?:Error|Exception|Timeout)(?: APIError)?\s*[:-]\s*)+")
_NO_KEY = re.compile(r"(?i)missing (?:credentials|[\w ]{0,30}api[ _]key)")
"""Said by litellm and openai with status 500 before anything is sent."""


def status_of(failure: Exception) -> int | None:
    """The status that the server answered with, as far as litellm knows one; 401 where no key is set at all."""
    if _NO_KEY.search(str(failure)):
        return UNAUTHORIZED
    if isinstance(failure, TimeoutError):
        return TIMED_OUT
    status = getattr(failure, "status_code", None)
    return status if isinstance(status, int) else None


def headers_of(failure: Exception) -> Mapping[str, str] | None:
    """The headers that the server answered with; litellm keeps them in one of two places."""
    for headers in (
        getattr(failure, "litellm_response_headers", None),
        getattr(getattr(failure, "response", None), "headers", None),
    ):
        if headers:
            return {str(name).lower(): str(value) for name, value in dict(headers).items()}
    return None


def may_pass(failure: Exception) -> bool:
    """Whether the same request may succeed a moment later."""
    if isinstance(failure, ConnectionError):
        return True
    status = status_of(failure)
    if status == TOO_MANY:
        return not any(word in str(failure).lower() for word in _STAYS)
    return status is not None and (status == TIMED_OUT or status >= 500)


def refused_options(failure: Exception, options: Mapping[str, Any]) -> set[str]:
    """Which options to leave out before a request that was refused is sent again; empty: none, it stays refused."""
    if status_of(failure) not in REFUSED:
        return set()
    said = str(failure).lower()
    named = {
        option
        for option, words in _OPTION_WORDS.items()
        if option in options and any(word in said for word in words)
    }
    return named or {"response_format"} & options.keys()


def translated(failure: Exception, chosen: Chosen) -> ModelError:
    """The failure in our words; nothing in it is or looks like a key."""
    status = status_of(failure)
    said = f"no whole answer within {chosen.timeout_s:g} s" if status == TIMED_OUT else _words(failure)
    number = f" (status {status})" if headers_of(failure) else ""  # without them litellm made the status up
    return ModelError(
        f"The model {chosen.name!r} did not answer{number}: {said}.", hint=_hint(status, failure, chosen)
    )


def _words(failure: Exception) -> str:
    """What the provider said, without litellm's wrapping around it; of a lost connection, what became of it."""
    said = _WRAPPING.sub("", str(failure)).partition("Traceback (most recent call last)")[0]
    if said.strip(" .") == "Connection error":
        said = str(_deepest(failure)) or said
    return presentable(said).strip(" .") or type(failure).__name__


def _deepest(failure: BaseException) -> BaseException:
    for _ in range(MAX_CHAIN):
        before = failure.__cause__ or failure.__context__
        if before is None or not str(before):
            break
        failure = before
    return failure


def _hint(status: int | None, failure: Exception, chosen: Chosen) -> str:
    where = "its base URL (ALITA_MODEL_BASE_URL)" if chosen.base_url else "the network"
    if "LLM Provider NOT provided" in str(failure):
        return (
            f"Write {chosen.setting} as provider/model, as in openai/NAME for any OpenAI-compatible server."
        )
    match status:
        case 401 | 403:
            return f"Set {key_variable(chosen)} to a key that may use this model."
        case 404:
            return f"Check the model's name in {chosen.setting} and {where}."
        case 400 | 422:
            return f"Check {chosen.setting}: the provider refuses this request, so it was not tried again."
        case 402 | 429:
            return "The provider's limit is reached: wait, raise it there, or set another model."
        case 408:
            return f"Give it longer with timeout_s= in the role's setting, or check {where}."
        case code if code is not None and 300 <= code < 400:
            return f"The server redirects elsewhere, which is not followed: check {where}."
        case _:
            return (
                f"Check {chosen.setting}, {where}, and {key_variable(chosen)} if this provider wants a key."
            )


def key_variable(chosen: Chosen) -> str:
    """The variable that the provider's key is read from."""
    provider = chosen.name.partition("/")[0] if "/" in chosen.name else "openai"
    return chosen.key_from or f"{provider.upper().replace('-', '_')}_API_KEY"
