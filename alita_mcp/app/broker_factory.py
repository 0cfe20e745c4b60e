"""Factory of the brokers that serve `alita_tool` to a call, each with what its version is granted at that moment."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from alita_mcp.app.secrets_file import SecretsFile
from alita_mcp.errors import InvalidArguments, ModelError, SandboxError, UsageError
from alita_mcp.library.library import Library
from alita_mcp.models.choices import steps_to_a_model
from alita_mcp.models.interface import LanguageModel, Message
from alita_mcp.owners import UNIDENTIFIED, ClientIdentity
from alita_mcp.sandbox.broker.granted import GrantedBroker
from alita_mcp.sandbox.broker.host_services import HostServices
from alita_mcp.sandbox.interface import RunResult
from alita_mcp.settings import Settings
from alita_mcp.values import Grants, Limits, StoredVersion

CallTool = Callable[[str, dict[str, Any], tuple[str, ...], ClientIdentity], Awaitable[RunResult]]
"""The flow of a call: name, arguments, the tools that led to it, outermost first, and the client behind all of them;
raises as `Calls.run_tool`."""

_log = logging.getLogger(__name__)


class BrokerFactory:
    """Makes the broker of each call with the rights that its version was granted, and no more."""

    def __init__(
        self, settings: Settings, library: Library, model: LanguageModel | None, call_tool: CallTool
    ) -> None:
        """Reads the secrets and checks the workspace.

        Raises:
            UsageError: the secrets file or the workspace cannot be used; no message holds a secret.
        """
        self._library = library
        self._model = model
        self._call_tool = call_tool
        self._secrets = SecretsFile(settings.secrets_file)
        self._workspace = find_workspace(settings)
        self._settings = settings

    def secret_values(self) -> tuple[str, ...]:
        """All secrets of the person, so that they can be kept out of what is stored."""
        return tuple(self._secrets.values().values())

    def lacks(self, grants: Grants) -> list[str]:
        """What these grants need and the settings do not give, each as in `needs a model: set ALITA_MODEL`."""
        lacks = []
        if grants.model and self._model is None:
            lacks.append(f"needs a model: {self._how_to_get_a_model}")
        if grants.workspace != "none" and self._workspace is None:
            lacks.append("needs a folder: set ALITA_WORKSPACE")
        try:
            known = self._secrets.read() if grants.secrets else {}
        except UsageError as unfit:
            return [*lacks, f"needs the secret {grants.secrets[0]!r}: {unfit.message.rstrip('.')}"]
        unknown = [name for name in grants.secrets if name not in known]
        return lacks + [f"needs the secret {name!r}: add it to ALITA_SECRETS_FILE" for name in unknown]

    @cached_property
    def _how_to_get_a_model(self) -> str:
        return steps_to_a_model(self._settings)

    def broker_for(
        self, stored: StoredVersion, chain: tuple[str, ...] = (), identity: ClientIdentity = UNIDENTIFIED
    ) -> GrantedBroker | None:
        """The broker of one call; None for a tool that asks for nothing. `chain`: the tools that led to the call.

        Raises:
            ToolUnavailable: something that the version asks for is not granted; the hint says how to grant it.
        """
        manifest = stored.manifest
        if manifest.grants.is_pure:
            return None
        granted = self._library.effective_grants.of(manifest)
        if granted is None:
            raise self._library.effective_grants.not_granted(manifest)
        return self.broker_of(granted, manifest.limits, (*chain, manifest.name), identity=identity)

    def broker_of(
        self,
        granted: Grants,
        limits: Limits,
        chain: tuple[str, ...],
        workspace: Path | None = None,
        identity: ClientIdentity = UNIDENTIFIED,
    ) -> GrantedBroker:
        """The broker of one call with these rights; `chain` ends with what runs in it.

        `workspace` is the folder of this call alone, in place of the one in the settings.
        """
        secrets = self._secrets.values() if granted.secrets else {}
        services = HostServices(
            complete=self._complete if self._model else None,
            call_tool=partial(self._call_other_tool, identity),
            # No other secret is in reach.
            secrets={name: secrets[name] for name in granted.secrets if name in secrets},
            workspace=workspace or self._workspace,
            chain=chain,
        )
        return GrantedBroker(granted, limits, services)

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

    async def _call_other_tool(
        self, identity: ClientIdentity, name: str, arguments: dict[str, Any], *, chain: tuple[str, ...]
    ) -> Any:
        try:
            result = await self._call_tool(name, arguments, chain[:-1], identity)
        except InvalidArguments as wrong:
            raise ValueError(f"{name}: {wrong.message}") from wrong
        except SandboxError as failure:
            raise RuntimeError(f"the sandbox of {name} failed: {failure.message}") from failure
        from alita_mcp.verification.rehearsal.rehearsal import value_of  # few calls come here

        return value_of(name, result)


def find_workspace(settings: Settings) -> Path | None:
    """The folder that tools may use; None where none is set.

    Raises:
        UsageError: it is not a folder, or a tool could read secrets or grant itself rights through it.
    """
    if settings.workspace is None:
        return None
    folder, shown = settings.workspace.expanduser().resolve(), f"ALITA_WORKSPACE={str(settings.workspace)!r}"
    if not folder.is_dir():
        raise UsageError(f"{shown} is not a folder.", hint="Create it first.")
    private = {
        "ALITA_HOME": settings.home,
        "ALITA_SECRETS_FILE": settings.secrets_file,
    }
    for name, place in private.items():
        if place is not None and place.expanduser().resolve().is_relative_to(folder):
            raise UsageError(
                f"{name} is inside {shown}, where tools read and write.",
                hint="Choose a folder that contains only what tools may see.",
            )
    if folder.is_relative_to(settings.home.expanduser().resolve()):
        raise UsageError(
            f"{shown} is inside ALITA_HOME, where tools are kept.", hint="Choose another folder."
        )
    return folder
