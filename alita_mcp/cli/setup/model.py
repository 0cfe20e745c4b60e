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
    """Suggested; without the prefix."""
    keys_at: str = ""
    """The page on which its keys are made; empty where none is required."""


PROVIDERS = {
    "openai": Provider("OpenAI", "openai", "gpt-5.6-terra", "https://platform.openai.com/api-keys"),
    "anthropic": Provider(
        "Anthropic", "anthropic", "claude-sonnet-5", "https://platform.claude.com/settings/keys"
    ),
    "google": Provider(
        "Google Gemini", "gemini", "gemini-flash-latest", "https://aistudio.google.com/apikey"
    ),
    "mistral": Provider("Mistral", "mistral", "mistral-medium-latest", "https://console.mistral.ai/api-keys"),
    "ollama": Provider("Ollama, on this machine", "ollama", "qwen3"),
    "compatible": Provider("another OpenAI-compatible server", "openai"),
}
NONE = "none"
HELP = "`alita setup --help` describes the options; --yes takes the rest as it is."
_NAME = re.compile(r"\w[\w.:/@+-]{0,199}", re.ASCII)


class ModelAnswers(NamedTuple):
    """What the options say; what they leave out is asked."""

    provider: str | None = None
    model: str | None = None
    base_url: str | None = None
    key: str | None = None


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
            return {"model": None}
        require_extra("models")
        chosen, key = ask_model(PROVIDERS[name], answers, settings, output, can_ask=can_ask)
        try:
            with output.progress(f"trying {chosen.name}"):
                answered = anyio.run(try_model, chosen, key)
        except ModelError as failed:
            if not can_ask:
                raise
            output.note(f"✗ {failed}")
            if not output.ask_yes("Try again with other answers? Otherwise the model stays as it is."):
                return {"model": settings.model, "problem": failed.message}
            answers = ModelAnswers()
            continue
        # The key first: whoever interrupts between the two has a key that nothing uses yet.
        place = store_key(home, chosen.stored_as, key) if key else None
        path = change_settings_file(home, {"model": chosen.name, "model_base_url": chosen.base_url})
        output.note(f"✓ model {chosen.name}: kept in {path}")
        places = {"keyring": "the system keyring", "file": f"{home / KEYS_FILE}, which only you can read"}
        if place:
            output.note(f"✓ key: kept in {places[place]}")
        if key and key_from(chosen.key_variable) not in (None, key):
            output.note(f"warning: {chosen.key_variable} is set here, and goes before the stored key.")
        after = read_settings()
        if (after.model, after.model_base_url) != (chosen.name, chosen.base_url):
            output.note("warning: ALITA_MODEL or ALITA_MODEL_BASE_URL is set here, and goes before the file.")
        return {"model": chosen.name, "base_url": chosen.base_url, "answered_as": answered, "key": place}


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
    """The model, and its key where a new one is to be kept; asks for what the answers leave out.

    Raises:
        UsageError: something is left out, and nobody can be asked; the message names the option.
    """
    from alita_mcp.models.choices import Chosen
    from alita_mcp.models.keys import check_key
    from alita_mcp.settings import absolute_home

    def ask(
        option: str, question: str, check: Callable[[str], str], *, default: str = "", unseen: bool = False
    ) -> str:
        if not can_ask:
            raise UsageError(f"There is no terminal to ask on, and {option} is missing.", hint=HELP)
        while True:
            try:
                return check(output.ask_unseen(question) if unseen else output.ask(question, default))
            except UsageError as invalid:
                output.note(f"✗ {invalid}")

    is_own = provider == PROVIDERS["compatible"]
    base_url = None if answers.base_url is None else check_url(answers.base_url)
    if base_url is None and is_own:
        base_url = ask("--base-url URL", "Base URL, as in http://127.0.0.1:8000/v1", check_url)
    model = answers.model or ("" if can_ask else provider.model)
    model = check_name(model) if model else ask("--model NAME", "Model", check_name, default=provider.model)
    name = f"{provider.prefix}/{model.removeprefix(f'{provider.prefix}/')}"
    chosen = Chosen(name=name, base_url=base_url, home=absolute_home(settings.home))
    key = answers.key
    if key is None and provider.keys_at and not chosen.find_key_place():
        key = ask("--key-env VARIABLE", f"Key, made at {provider.keys_at}", check_key, unseen=True)
    elif key is None and can_ask and (is_own or provider.keys_at):
        question = "Key (Enter: none, or the one that is set or stored)"
        key = ask("", question, lambda text: text and check_key(text), unseen=True) or None
    return chosen, key


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
