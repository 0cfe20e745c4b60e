"""Translation of litellm's failures: whether one may pass, how long to wait, and what to tell a person."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, TypeVar

import anyio

from alita_mcp.errors import ModelError
from alita_mcp.models.choices import Chosen
from alita_mcp.models.interface import ToolsRefused
from alita_mcp.models.litellm.backoff import Patience, asked_pause
from alita_mcp.models.redaction import presentable

T = TypeVar("T")

UNAUTHORIZED = 401
TIMED_OUT = 408
TOO_MANY = 429
REFUSED = (400, 422)
TOOLS_REFUSED = (404, 500, 501)
"""Besides: what routers say of a model without tools (404), and llama.cpp (500)."""
MAX_CHAIN = 20
ECHO_CHARACTERS = 16
"""So many of a text's first characters in a reply are no coincidence."""
_OPTION_WORDS = {
    "response_format": ("response_format", "json_schema", "schema", "structured", "grammar"),
    "temperature": ("temperature",),
    "seed": ("seed",),
}
_TOOL_WORDS = re.compile(r"\btools?\b|\btool[_-]|\bfunctions?\b|\bfunction[_-]call")
"""How servers name the options that they may do without."""
_STAYS = ("insufficient_quota", "exceeded your current quota", "billing", "credit balance")
"""Said with 429, though waiting does not help."""

_WRAPPING = re.compile(r"^(?:(?:litellm\.)?\w*(?:Error|Exception|Timeout)(?: APIError)?\s*[:-]\s*)+")
_NO_KEY = re.compile(r"(?i)missing (?:credentials|[\w ]{0,30}api[ _]key)")
"""Said by litellm and openai with status 500 before anything is sent."""


async def tried(
    ask: Callable[[], Awaitable[T]], patience: Patience, chosen: Chosen, texts: Sequence[str] = ()
) -> T:
    """What `ask` returns; rate limits, server errors, time-outs and lost connections are tried again.

    Raises:
        ToolsRefused: as `ask` raised it.
        ModelError: it failed for good; as `translated`.
    """
    for attempt in range(patience.attempts):
        try:
            return await ask()
        except ToolsRefused:
            raise
        except Exception as failure:  # noqa: BLE001 - whatever the vendor raises is tried again or translated
            if not may_pass(failure) or attempt == patience.attempts - 1:
                raise translated(failure, chosen, texts) from None  # the vendor's own words may hold keys
            pause = patience.pause(attempt, asked_pause(headers_of(failure)))
        await anyio.sleep(pause)
    raise ModelError(f"The model {chosen.name!r} was not asked.", hint="Allow at least one attempt.")


def status_of(failure: Exception) -> int | None:
    """The status that the server answered with, as far as litellm knows one; 401 where no key is set at all."""
    if _NO_KEY.search(str(failure)):
        return UNAUTHORIZED
    if isinstance(failure, TimeoutError):
        return TIMED_OUT
    status = getattr(failure, "status_code", None)
    if redirected := [code for code in map(_answered, _chain(failure)) if 300 <= code < 400]:
        return redirected[0]  # which litellm makes a lost connection of, for some providers
    return status if isinstance(status, int) else None


def _answered(failure: BaseException) -> int:
    status = getattr(getattr(failure, "response", None), "status_code", None)
    return status if isinstance(status, int) else 0


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
    """Options to leave out before a request that was refused is sent again; empty: none, it stays refused."""
    status, said = status_of(failure), str(failure).lower()
    tools = {"tools"} & options.keys()
    if status not in REFUSED:
        return tools if status in TOOLS_REFUSED and _TOOL_WORDS.search(said) else set()
    words = {option: _OPTION_WORDS[option] for option in _OPTION_WORDS.keys() & options.keys()}
    named = {option for option, told in words.items() if any(word in said for word in told)}
    about_tools = tools if _TOOL_WORDS.search(said) else set()
    return named or about_tools or {"response_format"} & options.keys() or tools


def names_tools(failure: Exception) -> bool:
    """Whether a refusal is about tools as such: not about something else, and not about the schema of one of them."""
    said = str(failure).lower()
    return bool(_TOOL_WORDS.search(said)) and "schema" not in said


def translated(failure: Exception, chosen: Chosen, texts: Sequence[str] = ()) -> ModelError:
    """The failure in our words; nothing in it is or looks like a key, or repeats one of `texts`."""
    status = status_of(failure)
    said = f"no whole answer within {chosen.timeout_s:g} s" if status == TIMED_OUT else _words(failure)
    if any(text[:ECHO_CHARACTERS] in str(failure) for text in texts if len(text) >= ECHO_CHARACTERS):
        said = f"{type(failure).__name__}; its words repeat what was asked"
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
    """What started it, as far back as there are words."""
    return list(takewhile(str, _chain(failure)))[-1]


def _chain(failure: BaseException) -> Iterator[BaseException]:
    """The failure and what led to it."""
    at: BaseException | None = failure
    for _ in range(MAX_CHAIN):
        if at is None:
            return
        yield at
        at = at.__cause__ or at.__context__


def _hint(status: int | None, failure: Exception, chosen: Chosen) -> str:
    where = f"its base URL ({chosen.url_setting})" if chosen.base_url else "the network"
    longer = f"Give it longer with {chosen.timeout_setting}, or check" if chosen.timeout_setting else "Check"
    if "LLM Provider NOT provided" in str(failure):
        return (
            f"Write {chosen.setting} as provider/model, as in openai/NAME for any OpenAI-compatible server."
        )
    match status:
        case 401 | 403:
            return f"Set {chosen.key_variable} to a key that may use this model."
        case 404:
            return f"Check the model's name in {chosen.setting} and {where}."
        case 400 | 422:
            return f"Check {chosen.setting}: the provider refuses this request, so it was not tried again."
        case 402 | 429:
            return "The provider's limit is reached: wait, raise it there, or set another model."
        case 408:
            return f"{longer} {where}."
        case code if code is not None and 300 <= code < 400:
            return f"The server redirects elsewhere, which is not followed: check {where}."
        case _:
            key = chosen.key_variable
            return f"Check {chosen.setting}, {where}, and {key} if this provider wants a key."
