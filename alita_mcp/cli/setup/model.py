"""The part of `alita setup` about the model: provider, name and key, tried with one call, then kept."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from alita_mcp.cli.output import Output, has_terminal
from alita_mcp.errors import ExtraMissing, ModelError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from alita_mcp.models.choices import Chosen
    from alita_mcp.settings import Settings


class Provider(NamedTuple):
    """What there is to ask about a provider."""

    title: str
    prefix: str
    """Of its models, as litellm names them."""
    model: str = ""
    """Suggested where the server does not list its own; without the prefix."""
    keys_at: str = ""
    """The page on which its keys are made; empty where none is required."""
    list_at: str = ""
    """Path below the base URL that lists its models, for servers of one's own."""


PROVIDERS = {
    "openai": Provider("OpenAI", "openai", "gpt-5.6-terra", "https://platform.openai.com/api-keys"),
    "anthropic": Provider(
        "Anthropic", "anthropic", "claude-sonnet-5", "https://platform.claude.com/settings/keys"
    ),
    "google": Provider(
        "Google Gemini", "gemini", "gemini-flash-latest", "https://aistudio.google.com/apikey"
    ),
    "mistral": Provider("Mistral", "mistral", "mistral-medium-latest", "https://console.mistral.ai/api-keys"),
    "ollama": Provider("Ollama, on this machine", "ollama", "qwen3", list_at="/v1/models"),
    "compatible": Provider("another OpenAI-compatible server", "openai", list_at="/models"),
}
NONE = "none"
OLLAMA_URL = "http://localhost:11434"
LIST_WITHIN_S = 3.0
MAX_LIST_BYTES = 1 << 20
SHOWN_MODELS = 12
_NAME = re.compile(r"\w[\w.:/@+-]{0,199}", re.ASCII)


class ModelAnswers(NamedTuple):
    """What the options say; what they leave out is asked."""

    provider: str | None = None
    model: str | None = None
    base_url: str | None = None
    key: str | None = None


def find_missing_options(answers: ModelAnswers, settings: Settings) -> list[str]:
    """The options that would be needed where nothing can be asked."""
    from alita_mcp.models.keys import stored_keys
    from alita_mcp.settings import absolute_home, key_from

    if answers.provider is None:
        return [f"--provider {'|'.join((*PROVIDERS, NONE))}"]
    if answers.provider == NONE:
        return []
    provider = PROVIDERS[answers.provider]
    missing = []
    if answers.provider == "compatible" and not answers.base_url:
        missing.append("--base-url URL")
    if not (provider.model or answers.model):
        missing.append("--model NAME")
    chosen = _choose(provider, answers.model or provider.model, answers.base_url, settings)
    is_stored = chosen.stored_as in stored_keys(absolute_home(settings.home))
    if provider.keys_at and not (answers.key or is_stored or key_from(chosen.key_variable)):
        missing.append("--key-env VARIABLE or --key-stdin")
    return missing


def offer_model(output: Output, *, once: bool = False) -> bool:
    """Where no model is configured and a person can answer, asks whether to set one up; whether there is one then.

    With `once`, whoever has a settings file is not asked: setting up, and saying no here, makes one.
    """
    from alita_mcp.models.choices import model_problem
    from alita_mcp.settings import absolute_home, read_settings
    from alita_mcp.settings_file import SETTINGS_FILE, change_settings_file

    settings = read_settings()
    home, problem = absolute_home(settings.home), model_problem(settings)
    if problem is None or isinstance(problem, ExtraMissing) or output.as_json or not has_terminal():
        return problem is None
    if once and (home / SETTINGS_FILE).exists():
        return False
    if output.ask_yes("No model is configured. Set one up now?"):
        set_up_model(ModelAnswers(), settings, output, can_ask=True)
    elif once:
        change_settings_file(home, {})
    return model_problem(read_settings()) is None


def set_up_model(
    answers: ModelAnswers, settings: Settings, output: Output, *, can_ask: bool
) -> dict[str, Any]:
    """Asks what the answers leave out, tries the model, and keeps it in `alita.toml`; returns what was kept.

    Raises:
        ModelError: the model does not answer, and nobody can be asked what to do; nothing was kept.
        ExtraMissing: the packages that reach models are not installed; nothing was kept.
        UsageError: an answer is invalid, or a file cannot be used.
    """
    import anyio

    from alita_mcp.extras import require_extra
    from alita_mcp.models.keys import KEYS_FILE, store_key
    from alita_mcp.models.trial import try_model
    from alita_mcp.settings import absolute_home, key_from, read_settings
    from alita_mcp.settings_file import change_settings_file

    home = absolute_home(settings.home)
    while True:
        name = answers.provider or ask_provider(output)
        if name == NONE:
            change_settings_file(home, {"model": None, "model_base_url": None})
            output.note("No model: the connected agent writes the code.")
            return {"provider": NONE, "model": None}
        require_extra("models")
        chosen, key = ask_model(PROVIDERS[name], answers, settings, output, can_ask=can_ask)
        try:
            with output.progress(f"trying {chosen.name}"):
                answered = anyio.run(try_model, chosen, key)
        except ModelError as failed:
            if not can_ask:
                raise
            output.note(f"✗ {failed}")
            match output.ask(
                "Try again (t), keep these answers all the same (k), or go on without a model (w)?", "t"
            ):
                case "w":
                    return {"provider": name, "model": settings.model, "problem": failed.message}
                case "k":
                    answered = ""
                case _:
                    answers = ModelAnswers()
                    continue
        # The key first: whoever interrupts between the two has a key that nothing uses yet.
        place = store_key(home, chosen.stored_as, key) if key else None
        path = change_settings_file(home, {"model": chosen.name, "model_base_url": chosen.base_url})
        output.note(f"{'✓' if answered else ' '} model {chosen.name}: kept in {path}")
        places = {"keyring": "the system keyring", "file": f"{home / KEYS_FILE}, which only you can read"}
        if place:
            output.note(f"✓ key: kept in {places[place]}")
        if key and key_from(chosen.key_variable) not in (None, key):
            output.note(f"warning: {chosen.key_variable} is set here, and goes before the stored key.")
        after = read_settings()
        if (after.model, after.model_base_url) != (chosen.name, chosen.base_url):
            output.note("warning: ALITA_MODEL or ALITA_MODEL_BASE_URL is set here, and goes before the file.")
        about = {"model": chosen.name, "base_url": chosen.base_url, "answered": bool(answered)}
        return {"provider": name, **about, "key": place, "file": str(path)}


def ask_provider(output: Output) -> str:
    """The provider that a person chooses."""
    names = (*PROVIDERS, NONE)
    output.note("Which model may the server use itself, to write tools and solve tasks?")
    for number, name in enumerate(names, 1):
        title = PROVIDERS[name].title if name != NONE else "none; the connected agent writes the code"
        output.note(f"  {number}  {title}")
    while True:
        answer = output.ask("Number", str(len(names))).lower()
        if answer in names:
            return answer
        if answer.isdecimal() and 1 <= int(answer) <= len(names):
            return names[int(answer) - 1]
        output.note(f"{answer[:40]!r} is none of them.")


def ask_model(
    provider: Provider, answers: ModelAnswers, settings: Settings, output: Output, *, can_ask: bool
) -> tuple[Chosen, str | None]:
    """The model, and its key where a new one is to be kept; asks for what the answers leave out."""
    base_url = answers.base_url
    if base_url is None and can_ask and provider == PROVIDERS["compatible"]:
        base_url = _until_valid(output, "Base URL, as in http://127.0.0.1:8000/v1", check_url)
    base_url = check_url(base_url) if base_url is not None else None
    key = answers.key
    if key is None and can_ask and provider != PROVIDERS["ollama"]:
        key = ask_key(provider, _choose(provider, "?", base_url, settings), output)
    listed = list_models(provider, base_url, key)
    model, suggested = answers.model, listed[0] if listed else provider.model
    if model is None and can_ask:
        if listed:
            more = ", …" if len(listed) > SHOWN_MODELS else ""
            output.note(f"The server has: {', '.join(listed[:SHOWN_MODELS])}{more}")
        model = _until_valid(output, "Model", check_name, default=suggested)
    model = check_name(model or suggested)
    if model not in listed:
        model = model.removeprefix(f"{provider.prefix}/")
    return _choose(provider, model, base_url, settings), key


def ask_key(provider: Provider, chosen: Chosen, output: Output) -> str | None:
    """The key that a person types unseen, or the one of this shell; None: the stored one, or none at all."""
    from alita_mcp.models.keys import check_key, stored_keys
    from alita_mcp.settings import key_from

    own = key_from(chosen.key_variable)
    if own and provider.keys_at:
        question = f"{chosen.key_variable} is set here. Keep its key for clients, which may not see it?"
        return check_key(own) if output.ask_yes(question) else None
    is_stored = chosen.home is not None and chosen.stored_as in stored_keys(chosen.home)
    is_optional = is_stored or not provider.keys_at

    def check(text: str) -> str:
        return "" if is_optional and not text.strip() else check_key(text)

    where = f"Key, made at {provider.keys_at}" if provider.keys_at else "Key, if the server requires one"
    empty = " (Enter: the one that is stored)" if is_stored else ""
    return _until_valid(output, where + empty, check, unseen=True) or None


def check_url(text: str) -> str:
    """The base URL of a server.

    Raises:
        UsageError: it is none.
    """
    url = text.strip().rstrip("/")
    if not re.fullmatch(r"https?://[^\s/?#]+(/[^\s?#]*)?", url):
        raise UsageError(f"Invalid base URL {text[:80]!r}: expected http://HOST:PORT/v1 or https://HOST/v1.")
    return url


def check_name(text: str) -> str:
    """The name of a model.

    Raises:
        UsageError: it is none.
    """
    if not _NAME.fullmatch(text.strip()):
        raise UsageError(f"Invalid name of a model {text[:80]!r}: expected one as the provider writes it.")
    return text.strip()


def list_models(provider: Provider, base_url: str | None, key: str | None) -> list[str]:
    """The models that a server of one's own has; none where it does not say."""
    import json

    import httpx

    if not provider.list_at:
        return []
    headers = {"authorization": f"Bearer {key}"} if key else {}
    content = b""
    try:
        url = f"{base_url or OLLAMA_URL}{provider.list_at}"
        with httpx.stream("GET", url, headers=headers, timeout=LIST_WITHIN_S) as reply:
            for chunk in reply.iter_bytes():
                content += chunk
                if len(content) > MAX_LIST_BYTES:
                    return []
        return [each["id"] for each in json.loads(content)["data"] if _NAME.fullmatch(each["id"])]
    except (httpx.HTTPError, ValueError, RecursionError, LookupError, TypeError):
        return []


def _choose(provider: Provider, model: str, base_url: str | None, settings: Settings) -> Chosen:
    from alita_mcp.models.choices import Chosen
    from alita_mcp.settings import absolute_home

    return Chosen(name=f"{provider.prefix}/{model}", base_url=base_url, home=absolute_home(settings.home))


def _until_valid(
    output: Output, question: str, check: Callable[[str], str], *, default: str = "", unseen: bool = False
) -> str:
    while True:
        try:
            return check(output.ask_unseen(question) if unseen else output.ask(question, default))
        except UsageError as invalid:
            output.note(f"✗ {invalid}")
