"""Choice of the model for each role: its name, address and options, from the settings."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args
from urllib.parse import urlsplit

from alita_mcp.errors import UsageError
from alita_mcp.extras import find_extra_problem, find_installation, missing_extra_error
from alita_mcp.models.keys import KEYS_FILE, find_key, stored_keys
from alita_mcp.settings import ModelChoice, Settings, absolute_home, key_from
from alita_mcp.values import Value

Role = Literal["planner", "tester", "coder", "judge", "implementer"]
ROLES: tuple[Role, ...] = get_args(Role)
HOW_TO_SET_ONE = "Run `alita setup`, or set ALITA_MODEL, as in ollama/qwen3."
_OPTIONS = {"key_from", "temperature", "max_tokens", "timeout_s"}
_SETTABLE = ("planner", "tester", "coder", "judge")
"""Roles with a setting of their own; the implementer, who carries out the steps of tasks, has the coder's model."""


class Chosen(Value):
    """A model for a role, everything decided."""

    name: str
    base_url: str | None = None
    """None: the provider's own."""
    key_from: str | None = None
    """Variable that holds the key; None: the provider's usual one."""
    temperature: float | None = None
    max_tokens: int | None = None
    timeout_s: float = ModelChoice().timeout_s
    setting: str = "ALITA_MODEL"
    """The variable to check when this model does not work."""
    home: Path | None = None
    """Where stored keys are; None: nowhere."""

    @property
    def identity(self) -> str:
        """Its name and its server's address without credentials; for the journal."""
        provider = self.key_variable.removesuffix("_API_KEY") if not self.key_from else ""
        # without a setting, litellm takes the address from one of these
        named = (f"{provider}{end}" for end in ("_BASE_URL", "_API_BASE"))
        url = self.base_url or next(filter(None, map(key_from, named)), None)
        if not url:
            return self.name
        parts = urlsplit(url)
        return f"{self.name} at {parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"

    @property
    def key_variable(self) -> str:
        """The variable that the provider's key is read from."""
        provider = self.name.partition("/")[0] if "/" in self.name else "openai"
        return self.key_from or f"{provider.upper().replace('-', '_')}_API_KEY"

    @property
    def stored_as(self) -> str:
        """Name of its key among the stored ones: a key goes to no other address than the one it was given for."""
        if not self.base_url:
            return self.key_variable
        parts = urlsplit(self.base_url)
        return f"{self.key_variable} at {parts.scheme}://{parts.netloc.rpartition('@')[2]}"

    def find_key_place(self) -> str:
        """Where its key comes from, for people; empty where there is none. No keyring is asked.

        Raises:
            UsageError: the file of stored keys cannot be used.
        """
        if key_from(self.key_variable):
            return self.key_variable
        kept = stored_keys(self.home) if self.home is not None else {}
        if self.stored_as not in kept:
            return ""
        return "the system keyring" if kept[self.stored_as] is None else f"{self.home}/{KEYS_FILE}"

    def find_key_to_send(self) -> str | None:
        """The key to hand to litellm; None: litellm looks for the provider's. May wait for the system keyring.

        Raises:
            UsageError, ModelError: a stored key cannot be read; as `find_key`.
        """
        # In this order: the variable (litellm reads the provider's usual one itself), the stored key, and for a server
        # of one's own, which often needs none, a word in its place.
        if key := key_from(self.key_variable):
            return key if self.key_from else None
        if self.home is not None and (key := find_key(self.home, self.stored_as)):
            return key
        return "none" if self.base_url and self.name.startswith("openai/") and not self.key_from else None


def choose_model(settings: Settings, role: Role | None = None) -> Chosen | None:
    """The model for a role, or for no role in particular; None where no model is configured."""
    named = [(each, getattr(settings, f"model_{each}")) for each in _SETTABLE]
    configured = [_model_for_role(settings, each, of, of.name) for each, of in named if of.name is not None]
    if settings.model:
        home = absolute_home(settings.home)
        configured.insert(0, Chosen(name=settings.model, base_url=settings.model_base_url, home=home))
    if not configured or role is None:
        return configured[0] if configured else None
    role = "coder" if role == "implementer" else role
    own: ModelChoice = getattr(settings, f"model_{role}")
    # Three cases: the role names a model; a tester that names none takes one that is not the coder's, if another is
    # configured; any other role takes that of ALITA_MODEL or, where it is not set, of the first role that names one.
    if own.name is not None:
        return _model_for_role(settings, role, own, own.name)
    shared = configured[0]
    if role == "tester" and (coder := choose_model(settings, "coder")):
        taken = (coder.name, coder.base_url)
        shared = next((each for each in configured if (each.name, each.base_url) != taken), coder)
    address = {"base_url": own.base_url or shared.base_url, "key_from": own.key_from or shared.key_from}
    return shared.model_copy(update={**own.model_dump(include=_OPTIONS), **address})


def _model_for_role(settings: Settings, role: str, own: ModelChoice, name: str) -> Chosen:
    # ALITA_MODEL_BASE_URL counts for models of one provider only: no other one's key is sent to that server.
    names = [settings.model, *(getattr(settings, f"model_{each}").name for each in _SETTABLE)]
    provider = next(filter(None, names)).partition("/")[0]
    shared_url = settings.model_base_url if name.partition("/")[0] == provider else None
    return Chosen(
        name=name,
        base_url=own.base_url or shared_url,
        setting=f"ALITA_MODEL_{role.upper()}",
        home=absolute_home(settings.home),
        **own.model_dump(include=_OPTIONS),
    )


def model_problem(settings: Settings) -> UsageError | None:
    """Why there is no model to ask: none is named, or the packages that reach one are not installed (ExtraMissing)."""
    chosen = choose_model(settings)
    if chosen is None:
        return UsageError("No model is configured.", hint=HOW_TO_SET_ONE)
    if problem := find_extra_problem("models"):
        return missing_extra_error("models", f"{chosen.setting}={chosen.name!r}", problem)
    return None


def no_model_for_tasks(settings: Settings) -> UsageError:
    """The error for a task where there is no model to work on it."""
    problem = model_problem(settings) or UsageError("None is open.")
    return type(problem)(f"Solving a task needs a model. {problem.message}", hint=problem.hint)


def steps_to_a_model(settings: Settings) -> str:
    """What a person does so that there is a model, as in `set ALITA_MODEL`; empty where there is one."""
    steps = [f"run `{find_installation().command('models')}`"] if find_extra_problem("models") else []
    return ", then ".join([*steps, *([] if choose_model(settings) else ["set ALITA_MODEL"])])
