"""Factory of the brokers that serve `alita_tool` to a call, each with what its version was granted.

A version that asks for something not granted gets no broker. What is granted is looked up at each call.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from alita_mcp.app.secrets_file import SecretsFile
from alita_mcp.errors import InvalidArguments, ModelError, SandboxError, UsageError
from alita_mcp.library.library import Library
from alita_mcp.models.choices import steps_to_a_model
from alita_mcp.models.interface import LanguageModel, Message
from alita_mcp.sandbox.broker.granted import GrantedBroker
from alita_mcp.sandbox.broker.host_services import HostServices
from alita_mcp.sandbox.interface import RunResult
from alita_mcp.settings import Settings
from alita_mcp.values import Grants, Limits, StoredVersion
from alita_mcp.verification.rehearsal.rehearsal import value_of

CallTool = Callable[[str, dict[str, Any], tuple[str, ...]], Awaitable[RunResult]]
"""The flow of a call: name, arguments and the tools that led to it, outermost first; raises as `Calls.run_tool`."""

_log = logging.getLogger(__name__)


class BrokerFactory:
    """Makes the broker of each call with the rights that its version was granted, and no more."""

    def __init__(
        self, settings: Settings, library: Library, model: LanguageModel | None, call_tool: CallTool
    ) -> None:
        """Reads the secrets and looks at the workspace.

        Raises:
            UsageError: the secrets file or the workspace is not fit for it; no message holds a secret.
        """
        self._library = library
        self._model = model
        self._call_tool = call_tool
        self._secrets = SecretsFile(settings.secrets_file)
        self._workspace = _workspace_of(settings)
        self._settings = settings

    def secret_values(self) -> tuple[str, ...]:
        """All secrets of the person, so that they can be kept out of what is stored."""
        return self._secrets.values()

    def lacks(self, grants: Grants) -> list[str]:
        """What these grants need and the settings do not give, each as in `needs a model: set ALITA_MODEL`."""
        lacks = []
        if grants.model and self._model is None:
            lacks.append(f"needs a model: {self._way_to_a_model}")
        if grants.workspace != "none" and self._workspace is None:
            lacks.append("needs a folder: set ALITA_WORKSPACE")
        unknown = [name for name in grants.secrets if self._secrets.value(name) is None]
        return lacks + [f"needs the secret {name!r}: put it into ALITA_SECRETS_FILE" for name in unknown]

    @cached_property
    def _way_to_a_model(self) -> str:
        return steps_to_a_model(self._settings)

    def broker_for(self, stored: StoredVersion, chain: tuple[str, ...] = ()) -> GrantedBroker | None:
        """The broker of one call; None for a tool that asks for nothing. `chain`: the tools that led to the call.

        Raises:
            ToolUnavailable: something that the version asks for is not granted; the hint says how it is.
        """
        manifest = stored.manifest
        if manifest.grants.is_pure:
            return None
        granted = self._library.effective_grants.of(manifest)
        if granted is None:
            raise self._library.effective_grants.not_granted(manifest)
        return self.broker_of(granted, manifest.limits, (*chain, manifest.name))

    def broker_of(
        self, granted: Grants, limits: Limits, chain: tuple[str, ...], workspace: Path | None = None
    ) -> GrantedBroker:
        """The broker of one call with these rights; `chain` ends with what runs in it.

        `workspace` is the folder of this call alone, in place of the one that the settings name.
        """
        return GrantedBroker(granted, limits, self._services(granted, chain, workspace or self._workspace))

    def _services(self, granted: Grants, chain: tuple[str, ...], workspace: Path | None) -> HostServices:
        """All that could be asked for; the secrets are those that were granted, so that no other one is in reach."""
        values = {name: self._secrets.value(name) for name in granted.secrets}
        return HostServices(
            complete=self._complete if self._model else None,
            call_tool=self._called,
            secrets={name: value for name, value in values.items() if value is not None},
            workspace=workspace,
            chain=chain,
        )

    async def _complete(
        self, prompt: str, *, system: str | None, max_tokens: int | None, temperature: float | None
    ) -> str:
        if self._model is None:
            raise AssertionError("no model serves this call")
        messages = [Message(role="system", content=system)] if system else []
        messages.append(Message(role="user", content=prompt))
        try:
            answer = await self._model.complete(messages, max_tokens=max_tokens, temperature=temperature)
        except ModelError as failure:
            _log.warning("%s", failure)
            raise RuntimeError("the model did not answer") from None  # its words may name keys and hosts
        return answer.text

    async def _called(self, name: str, arguments: dict[str, Any], *, chain: tuple[str, ...]) -> Any:
        try:
            result = await self._call_tool(name, arguments, chain[:-1])
        except InvalidArguments as wrong:
            raise ValueError(f"{name}: {wrong.message}") from wrong
        except SandboxError as failure:
            raise RuntimeError(f"the sandbox of {name} failed: {failure.message}") from failure
        return value_of(name, result)


def _workspace_of(settings: Settings) -> Path | None:
    """The folder that tools may use, as far away from what decides about tools as can be.

    Raises:
        UsageError: it is no folder, or a tool could read secrets or grant itself rights through it.
    """
    if settings.workspace is None:
        return None
    folder = settings.workspace.expanduser().resolve()
    if not folder.is_dir():
        raise UsageError(f"ALITA_WORKSPACE={str(settings.workspace)!r} is no folder.", hint="Make it first.")
    ours = {"ALITA_HOME": settings.home, "ALITA_GRANTS_FILE": settings.grants_file}
    for name, place in {**ours, "ALITA_SECRETS_FILE": settings.secrets_file}.items():
        if place is not None and place.expanduser().resolve().is_relative_to(folder):
            raise UsageError(
                f"{name} lies inside ALITA_WORKSPACE={str(settings.workspace)!r}, where tools read and write.",
                hint="Choose a folder that holds nothing but what tools may see.",
            )
    if folder.is_relative_to(settings.home.expanduser().resolve()):
        raise UsageError(
            f"ALITA_WORKSPACE={str(settings.workspace)!r} lies inside ALITA_HOME, where tools are kept.",
            hint="Choose a folder elsewhere.",
        )
    return folder
