"""Environments as named volumes, filled through a container that is never started."""

from __future__ import annotations

from functools import partial
from typing import Any

import anyio
import anyio.to_thread

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.docker.engine import OWNER_LABEL, Engine, remove_container
from alita_mcp.sandbox.packages.cache import Store
from alita_mcp.sandbox.packages.tar import plain_tar
from alita_mcp.sandbox.wire.link import PACKAGES

_LABEL = "alita.environment"


def volume_name(digest: str) -> str:
    """Name of an environment's volume."""
    return f"alita-env-{digest}"


class Volumes(Store):
    """Store of environments as volumes of an engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def has_environment(self, digest: str) -> str | None:
        """The volume's name, when it is there."""
        volume = volume_name(digest)
        return volume if await self._engine.call(partial(_exists, volume=volume)) else None

    async def store_environment(self, digest: str, tar: bytes) -> str:
        """Fills the volume through a container."""
        await self._engine.ensure_image()
        volume = volume_name(digest)
        tar = await anyio.to_thread.run_sync(plain_tar, tar)
        filled = False

        def let_go(client: Any) -> None:
            remove_container(client, _holder(volume))
            if not filled:
                _drop(client, volume)

        try:
            await self._engine.call(partial(_fill, engine=self._engine, volume=volume, tar=tar))
            filled = True
        finally:
            with anyio.CancelScope(shield=True):
                await self._engine.call(let_go)
        return volume

    async def drop_environment(self, digest: str) -> bool:
        """Removes the volume; raises as well when the volume of that name is not ours."""
        return await self._engine.call(partial(_drop, volume=volume_name(digest)))


def _holder(volume: str) -> str:
    return f"{volume}-filling"


def _fill(client: Any, engine: Engine, volume: str, tar: bytes) -> None:
    # a builder that was killed may have left a container, and part of the same files
    remove_container(client, _holder(volume))
    if not _exists(client, volume):
        client.volumes.create(volume, labels={_LABEL: volume})
    # a container that is never started
    mount = client.api.create_host_config(
        binds={volume: {"bind": PACKAGES, "mode": "rw"}}, network_mode="none"
    )
    labels = {OWNER_LABEL: str(engine.owner)}
    client.api.create_container(
        engine.image, ["true"], name=_holder(volume), host_config=mount, labels=labels
    )
    client.api.put_archive(_holder(volume), PACKAGES, tar)


def _exists(client: Any, volume: str) -> bool:
    """Whether there is a volume of that name.

    Raises:
        SandboxError: there is one, which is not ours.
    """
    import docker.errors

    try:
        labels = client.api.inspect_volume(volume)["Labels"] or {}
    except docker.errors.NotFound:
        return False
    if _LABEL not in labels:
        raise SandboxError(f"The volume {volume} is not one of ours.")
    return True


def _drop(client: Any, volume: str) -> bool:
    import docker.errors

    remove_container(client, _holder(volume))
    if _exists(client, volume):
        try:
            client.api.remove_volume(volume)
        except docker.errors.APIError as refused:
            if refused.status_code == 409:  # a container has it
                return False
            raise
    return True
