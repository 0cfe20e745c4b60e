"""RoleModels: the metered model of each role, opened on a budget for each piece of work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy

import anyio

from alita_mcp.errors import UsageError
from alita_mcp.models.budget import Meter, budget_of
from alita_mcp.models.choices import ROLES, Role, choose, model_problem
from alita_mcp.models.interface import LanguageModel
from alita_mcp.models.litellm.backoff import Patience
from alita_mcp.models.litellm.provider import LitellmModel
from alita_mcp.models.metered import MeteredModel
from alita_mcp.settings import Settings
from alita_mcp.values import Usage

__all__ = ["ROLES", "Models", "Role", "RoleModels"]

CALLS_AT_ONCE = 8
"""Questions of all syntheses together; more at once mostly meet a provider's rate limit."""

Source = Callable[[Role | None], LanguageModel]
"""Where another model than the configured ones comes from; None stands for no role in particular."""


class Models:
    """Models of all roles of one piece of work, on one budget."""

    def __init__(
        self,
        models: dict[Role, LanguageModel],
        meter: Meter,
        at_once: anyio.CapacityLimiter,
        *,
        identities: Mapping[Role, str] | None = None,
    ) -> None:
        self._identities = identities or {}
        self._metered = {role: MeteredModel(model, role, meter, at_once) for role, model in models.items()}
        self._meter = meter

    def role(self, role: Role) -> LanguageModel:
        """The model of a role; raises `BudgetSpent` once the work may not ask any more."""
        return self._metered[role]

    @property
    def own(self) -> bool:
        """Whether the settings name them: what scripted or lent models call themselves proves nothing."""
        return bool(self._identities)

    def identity(self, role: Role) -> str:
        """Name and server address of one of the own models."""
        return self._identities[role]

    @property
    def usage(self) -> Usage:
        """Usage of all roles so far."""
        return self._meter.usage


class RoleModels:
    """Models of one process by role; each synthesis opens them on a budget of its own."""

    def __init__(
        self,
        settings: Settings,
        *,
        source: Source | None = None,
        patience: Patience | None = None,
    ) -> None:
        """Nothing is loaded or asked yet.

        Args:
            settings: Which models and budgets.
            source: Gives the models instead of the settings, such as a script.
            patience: How failures that may pass are tried again.
        """
        self._settings = settings
        self._patience = patience
        self._source = source
        self._own: dict[Role | None, LanguageModel] = {}
        self._at_once = anyio.CapacityLimiter(CALLS_AT_ONCE)
        self._within: Meter | None = None

    @property
    def is_configured(self) -> bool:
        """Whether there is a model to ask."""
        return self.problem is None

    @property
    def problem(self) -> UsageError | None:
        """Why there is no model to ask; None where there is one."""
        return None if self._source is not None else model_problem(self._settings)

    def within(self, meter: Meter) -> RoleModels:
        """The same models for parts of one larger piece of work, which pays for them."""
        other = copy(self)
        other._within = meter  # noqa: SLF001 - its own
        return other

    def open(self) -> Models:
        """The models for one synthesis.

        Raises:
            UsageError: no model is configured, or its packages are not installed.
        """
        models = {role: self._model(role) for role in ROLES}
        chosen = {role: choose(self._settings, role) for role in ROLES if self._source is None}
        identities = {role: each.identity for role, each in chosen.items() if each is not None}
        meter = Meter(budget_of(self._settings), within=self._within)
        return Models(models, meter, self._at_once, identities=identities)

    def open_on(self, meter: Meter) -> Models:
        """The models for work that has limits of its own.

        Raises:
            UsageError: no model is configured, or its packages are not installed.
        """
        models = {role: self._model(role) for role in ROLES}
        return Models(models, meter, self._at_once)

    def plain(self) -> LanguageModel:
        """The model for work that is no synthesis: no budget.

        Raises:
            UsageError: no model is configured, or its packages are not installed.
        """
        return self._model(None)

    def _model(self, role: Role | None) -> LanguageModel:
        """One model object for a role for the whole process: it learns which options its server takes."""
        if self._source is not None:
            return self._source(role)
        if role not in self._own:
            chosen = choose(self._settings, role)
            if chosen is None:
                raise model_problem(self._settings) or AssertionError("no model is chosen")
            self._own[role] = LitellmModel(chosen, self._patience)
        return self._own[role]
