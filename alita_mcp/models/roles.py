"""Models by role: one client for each role in a process, opened on a budget for each piece of work."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import anyio

from alita_mcp.errors import UsageError
from alita_mcp.models.budget import Meter, MeteredModel, synthesis_budget
from alita_mcp.models.choices import HOW_TO_SET_ONE, ROLES, Role, choose_model, model_problem
from alita_mcp.models.interface import LanguageModel
from alita_mcp.models.litellm.backoff import Patience
from alita_mcp.settings import Settings
from alita_mcp.values import Usage

__all__ = ["ROLES", "Models", "Role", "RoleModels"]

CONCURRENT_CALLS = 8
"""Of all syntheses together; more at once mostly meet a provider's rate limit."""

Source = Callable[[Role | None], LanguageModel]
"""Gives the model of a role; None stands for no role in particular."""


class Models:
    """Models of all roles for one piece of work, on one budget."""

    def __init__(
        self,
        source: Source,
        meter: Meter,
        limiter: anyio.CapacityLimiter,
        identities: Mapping[Role, str],
    ) -> None:
        self.identities = identities
        """Names and server addresses of the configured models; empty for scripted ones, whose names prove nothing."""
        self._models = {role: MeteredModel(source(role), meter, limiter) for role in ROLES}
        self._meter = meter

    def role(self, role: Role) -> LanguageModel:
        """The model of a role; its calls raise `BudgetSpent` once the budget is spent."""
        return self._models[role]

    @property
    def usage(self) -> Usage:
        """Usage of all roles so far."""
        return self._meter.usage


class ConfiguredModels:
    """The models that the settings name: one object for a role and process, which learns what its server takes."""

    def __init__(self, settings: Settings, patience: Patience | None = None) -> None:
        self._settings = settings
        self._patience = patience
        self._models: dict[Role | None, LanguageModel] = {}

    def __call__(self, role: Role | None) -> LanguageModel:
        """The model of a role.

        Raises:
            UsageError: no model is configured.
        """
        if role not in self._models:
            chosen = choose_model(self._settings, role)
            if chosen is None:
                raise UsageError("No model is configured.", hint=HOW_TO_SET_ONE)
            from alita_mcp.models.litellm.provider import LitellmModel  # brings httpx

            self._models[role] = LitellmModel(chosen, self._patience)
        return self._models[role]


class RoleModels:
    """Models of one process by role; each synthesis opens them on a budget of its own."""

    def __init__(
        self,
        settings: Settings,
        *,
        source: Source | None = None,
        patience: Patience | None = None,
        limiter: anyio.CapacityLimiter | None = None,
        within: Meter | None = None,
    ) -> None:
        """Nothing is loaded or asked yet.

        Args:
            settings: Which models and budgets.
            source: Gives the models instead of the settings, such as a script.
            patience: How failures that may pass are tried again.
            limiter: Bounds the calls at a time, beside other `RoleModels` of the process.
            within: The meter of a larger piece of work, which pays for them.
        """
        self._settings = settings
        self._source = source or ConfiguredModels(settings, patience)
        self._limiter = limiter or anyio.CapacityLimiter(CONCURRENT_CALLS)
        self._within = within

    @property
    def is_configured(self) -> bool:
        """Whether there is a model to ask."""
        return self.problem is None

    @property
    def problem(self) -> UsageError | None:
        """Why there is no model to ask; None where there is one."""
        return model_problem(self._settings) if isinstance(self._source, ConfiguredModels) else None

    def within(self, meter: Meter) -> RoleModels:
        """The same models for parts of one larger piece of work, which pays for them."""
        return RoleModels(self._settings, source=self._source, limiter=self._limiter, within=meter)

    def open_models(self, meter: Meter | None = None) -> Models:
        """The models for work on a meter, by default that of one synthesis.

        Raises:
            UsageError: no model is configured, or its packages are not installed.
        """
        meter = meter or Meter(synthesis_budget(self._settings), within=self._within)
        is_own = isinstance(self._source, ConfiguredModels)
        chosen = {role: choose_model(self._settings, role) for role in ROLES if is_own}
        identities = {role: each.identity for role, each in chosen.items() if each is not None}
        return Models(self._source, meter, self._limiter, identities)

    def default_model(self) -> LanguageModel:
        """The model for no role in particular, without a budget.

        Raises:
            UsageError: no model is configured, or its packages are not installed.
        """
        return self._source(None)
