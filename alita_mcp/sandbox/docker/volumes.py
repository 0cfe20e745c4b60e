"""Environments as named volumes: filled through a container that is never started, complete when a marker says so."""

from __future__ import annotations

from functools import partial
from typing import Any

import anyio
import anyio.to_thread

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.docker.engine import OWNER_LABEL, Engine, remove_container
from alita_mcp.sandbox.packages.cache import Store
from alita_mcp.sandbox.packages.lockfile import digest_name
from alita_mcp.sandbox.packages.tar import plain_tar, tar_of_file
from alita_mcp.sandbox.wire.link import PACKAGES

MARKER = ".alita-complete"
_LABEL = "alita.environment"


def volume_name(digest: str) -> str:
    """Name of an environment's volume.

    Raises:
        SandboxError: the digest cannot be a name.
    """
    return f"alita-env-{digest_name(digest)}"


class Volumes(Store):
    """Store of environments as volumes of an engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def has_environment(self, digest: str) -> str | None:
        """The volume's name, when it was filled completely."""
        await self._engine.ensure_image()
        volume = volume_name(digest)
        complete = await self._engine.call(partial(_is_complete, engine=self._engine, volume=volume))
        return volume if complete else None

    async def store_environment(self, digest: str, tar: bytes) -> str:
        """Fills the volume through a container, unless it is complete."""
        if (complete := await self.has_environment(digest)) is not None:
            return complete
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
    remove_container(client, _holder(volume))  # of a builder that was killed
    client.volumes.create(volume, labels={_LABEL: volume})
    holder = _create_container(client, engine, volume, _holder(volume))
    client.api.put_archive(holder, PACKAGES, tar)
    client.api.put_archive(holder, PACKAGES, tar_of_file(MARKER, b"", 0o444))


def _is_complete(client: Any, engine: Engine, volume: str) -> bool:
    import docker.errors

    if not client.volumes.list(filters={"name": volume}):
        return False
    # unnamed: anybody may look at the same time
    reader = _create_container(client, engine, volume)
    try:
        parts, _ = client.api.get_archive(reader, f"{PACKAGES}/{MARKER}")
        parts.close()
    except docker.errors.NotFound:
        return False
    finally:
        remove_container(client, reader)
    return True


def _drop(client: Any, volume: str) -> bool:
    import docker.errors

    try:
        if _LABEL not in (client.api.inspect_volume(volume)["Labels"] or {}):
            raise SandboxError(f"The volume {volume} is not one of ours.")
        remove_container(client, _holder(volume))
        client.api.remove_volume(volume)
    except docker.errors.NotFound:
        return True
    except docker.errors.APIError as refused:
        if refused.status_code == 409:
            return False
        raise
    return True


def _create_container(client: Any, engine: Engine, volume: str, name: str | None = None) -> str:
    """A container that is never started and has the volume mounted; its name."""
    binds = {volume: {"bind": PACKAGES, "mode": "rw"}}
    mount = client.api.create_host_config(binds=binds, network_mode="none")
    labels = {OWNER_LABEL: str(engine.owner)}
    created = client.api.create_container(engine.image, ["true"], name=name, host_config=mount, labels=labels)
    return str(created["Id"])
