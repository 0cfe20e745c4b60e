"""The part of `alita setup` about the model: provider, name and key, tried with one call, then kept."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from alita_mcp.cli.output import Output, has_terminal
from alita_mcp.errors import ExtraMissing, ModelError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from alita_mcp.models.choices import Chosen
    from alita_mcp.settings import Settings


class Provider(NamedTuple):
    """What there is to ask about a provider."""

    prefix: str
    """Of its models, as litellm names them."""
    model: str = ""
    """Suggested; without the prefix."""
    keys_at: str = ""
    """The page on which its keys are made; empty where none is required."""


PROVIDERS = {
    "openai": Provider("openai", "gpt-5.6-terra", "https://platform.openai.com/api-keys"),
    "anthropic": Provider("anthropic", "claude-sonnet-5", "https://platform.claude.com/settings/keys"),
    "google": Provider("gemini", "gemini-flash-latest", "https://aistudio.google.com/apikey"),
    "mistral": Provider("mistral", "mistral-medium-latest", "https://console.mistral.ai/api-keys"),
    "ollama": Provider("ollama", "qwen3"),
    "compatible": Provider("openai"),
}
NONE = "none"
QUESTION = """\
Which model may the server use itself, to write tools and solve tasks? One of these providers; ollama: on this machine;
compatible: another server with OpenAI's API; none: the connected agent writes the code.
Provider"""
HELP = "`alita setup --help` describes the options; --yes takes the rest as it is."
URL = r"https?://[^\s/?#]+(/[^\s?#]*)?"
NAME = r"[A-Za-z0-9_][A-Za-z0-9_.:/@+-]{0,199}"


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
    from alita_mcp.models.keys import store_key
    from alita_mcp.models.trial import try_model
    from alita_mcp.settings import absolute_home
    from alita_mcp.settings_file import change_settings_file

    home = absolute_home(settings.home)
    while True:
        name = answers.provider or output.ask(QUESTION, NONE, choices=[*PROVIDERS, NONE])
        if name == NONE:
            change_settings_file(home, {"model": None, "model_base_url": None})
            output.note("No model: the connected agent writes the code.")
            return {"model": None}
        require_extra("models")
        chosen, key = ask_model(
            PROVIDERS[name], answers._replace(provider=name), home, output, can_ask=can_ask
        )
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
        if place:
            output.note(f"✓ key: kept in {place}")
        return {"model": chosen.name, "base_url": chosen.base_url, "answered_as": answered, "key": place}


def ask_model(
    provider: Provider, answers: ModelAnswers, home: Path, output: Output, *, can_ask: bool
) -> tuple[Chosen, str | None]:
    """The model, and its key where a new one is to be kept; asks for what the answers leave out.

    Raises:
        UsageError: something is left out, and nobody can be asked; the message names the option. Or it is invalid.
    """
    from alita_mcp.models.choices import Chosen
    from alita_mcp.models.keys import check_key

    def settle(
        option: str, question: str, given: str | None, check: Callable[[str], str], *, default: str = ""
    ) -> str:
        if given is not None:
            return check(given)
        if not can_ask:
            raise UsageError(f"There is no terminal to ask on, and {option} is missing.", hint=HELP)
        while True:
            try:
                return check(output.ask(question, default, unseen=question.startswith("Key")))
            except UsageError as invalid:
                output.note(f"✗ {invalid}")

    check_url = partial(check_text, pattern=URL, expected="http://HOST:PORT/v1 or https://HOST/v1")
    check_name = partial(check_text, pattern=NAME, expected="the name of a model, as the provider writes it")
    base_url, model = answers.base_url, answers.model
    if base_url is not None or answers.provider == "compatible":
        question = "Base URL, as in http://127.0.0.1:8000/v1"
        base_url = settle("--base-url URL", question, base_url, check_url).rstrip("/")
    if model is None and not can_ask:
        model = provider.model or None
    model = settle("--model NAME", "Model", model, check_name, default=provider.model)
    name = f"{provider.prefix}/{model.removeprefix(f'{provider.prefix}/')}"
    chosen = Chosen(name=name, base_url=base_url, home=home)
    key = answers.key
    if key is None and provider.keys_at and not chosen.find_key_place():
        key = settle("--key-env VARIABLE", f"Key, made at {provider.keys_at}", None, check_key)
    elif key is None and can_ask and answers.provider != "ollama":
        question = "Key (Enter: none, or the one that is set or stored)"
        key = settle("", question, None, lambda text: text and check_key(text)) or None
    return chosen, key


def check_text(text: str, pattern: str, expected: str) -> str:
    """The text without blanks around it.

    Raises:
        UsageError: it does not fit the pattern.
    """
    if not re.fullmatch(pattern, text.strip()):
        raise UsageError(f"Invalid {text[:80]!r}: expected {expected}.")
    return text.strip()
