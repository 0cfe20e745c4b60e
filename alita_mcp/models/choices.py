"""Choice of the model for each role: its name, address and options, from the settings."""

from __future__ import annotations

from typing import Literal, get_args
from urllib.parse import urlsplit

from alita_mcp.errors import UsageError
from alita_mcp.extras import find_installation, find_problem, missing
from alita_mcp.settings import ModelChoice, Settings, key_from
from alita_mcp.values import Value

Role = Literal["planner", "tester", "coder", "judge", "implementer"]
ROLES: tuple[Role, ...] = get_args(Role)
_OPTIONS = {"key_from", "temperature", "max_tokens", "timeout_s"}
_SET = ("planner", "tester", "coder", "judge")
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
    """The variable to look at when this model does not work."""
    url_setting: str = "ALITA_MODEL_BASE_URL"
    timeout_setting: str | None = "timeout_s= in the role's setting"
    """None: how long it may take cannot be set."""

    @property
    def identity(self) -> str:
        """Its name and its server's address, without what a URL may hold of a secret; for the journal."""
        if not self.base_url:
            return self.name
        parts = urlsplit(self.base_url)
        return f"{self.name} at {parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"

    @property
    def key_variable(self) -> str:
        """The variable that the provider's key is read from."""
        provider = self.name.partition("/")[0] if "/" in self.name else "openai"
        return self.key_from or f"{provider.upper().replace('-', '_')}_API_KEY"

    @property
    def key_to_send(self) -> str | None:
        """A key of its own; None: litellm looks for the provider's. Servers of one's own often want none at all."""
        if self.key_from:
            return key_from(self.key_from)
        keyless = self.base_url and self.name.startswith("openai/") and not key_from(self.key_variable)
        return "none" if keyless else None


def choose(settings: Settings, role: Role | None = None) -> Chosen | None:
    """The model for a role, or for no role in particular; None where no model is configured.

    A role that names no model takes that of `ALITA_MODEL`, or, where that is not set, of the first role that names
    one. The tester who names none takes one that is not the coder's, if another one is configured.
    """
    configured = _configured(settings)
    if not configured or role is None:
        return configured[0] if configured else None
    role = "coder" if role == "implementer" else role
    own: ModelChoice = getattr(settings, f"model_{role}")
    if own.name is not None:
        return _of_role(settings, role, own, own.name)
    lent = _for_tester(settings, configured) if role == "tester" else configured[0]
    address = {"base_url": own.base_url or lent.base_url, "key_from": own.key_from or lent.key_from}
    return lent.model_copy(update={**own.model_dump(include=_OPTIONS), **address})


def model_problem(settings: Settings) -> UsageError | None:
    """Why there is no model to ask: none is named, or the packages that reach one are not installed (ExtraMissing)."""
    chosen = choose(settings)
    if chosen is None:
        return UsageError("No model is configured.", hint="Set ALITA_MODEL, as in ollama/qwen3.")
    if problem := find_problem("models"):
        return missing("models", f"{chosen.setting}={chosen.name!r}", problem)
    return None


def no_model_for_tasks(settings: Settings) -> UsageError:
    """The error for a task where there is no model to work on it."""
    problem = model_problem(settings) or UsageError("None is open.")
    return type(problem)(f"Solving a task needs a model. {problem.message}", hint=problem.hint)


def what_to_do_for_a_model(settings: Settings) -> str:
    """What a person does so that there is a model, as in `set ALITA_MODEL`; empty where there is one."""
    steps = [f"run `{find_installation().command('models')}`"] if find_problem("models") else []
    return ", then ".join([*steps, *([] if choose(settings) else ["set ALITA_MODEL"])])


def _for_tester(settings: Settings, configured: list[Chosen]) -> Chosen:
    coder = choose(settings, "coder")
    if coder is None:
        return configured[0]
    others = (each for each in configured if (each.name, each.base_url) != (coder.name, coder.base_url))
    return next(others, coder)


def _configured(settings: Settings) -> list[Chosen]:
    """All models that are named, `ALITA_MODEL` first."""
    models = []
    if settings.model:
        models.append(Chosen(name=settings.model, base_url=settings.model_base_url))
    for role in _SET:
        own: ModelChoice = getattr(settings, f"model_{role}")
        if own.name is not None:
            models.append(_of_role(settings, role, own, own.name))
    return models


def _of_role(settings: Settings, role: str, own: ModelChoice, name: str) -> Chosen:
    return Chosen(
        name=name,
        base_url=own.base_url or _shared_url(settings, name),
        setting=f"ALITA_MODEL_{role.upper()}",
        **own.model_dump(include=_OPTIONS),
    )


def _shared_url(settings: Settings, name: str) -> str | None:
    """`ALITA_MODEL_BASE_URL` for models of one provider only: no other one's key is sent to that server."""
    named = [settings.model, *(getattr(settings, f"model_{role}").name for role in _SET)]
    first = next(model for model in named if model)
    return settings.model_base_url if name.partition("/")[0] == first.partition("/")[0] else None
