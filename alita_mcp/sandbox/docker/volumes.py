"""Environments as named volumes: filled through a container that is never started, complete when a marker says so."""

from __future__ import annotations

import io
import tarfile
from functools import partial
from typing import Any

import anyio
import anyio.to_thread

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.docker.engine import OWNER_LABEL, Engine, remove_container
from alita_mcp.sandbox.owner import ProcessOwner
from alita_mcp.sandbox.packages.lockfile import digest_name
from alita_mcp.sandbox.packages.tar import plain_tar
from alita_mcp.sandbox.wire.link import PACKAGES

MARKER = ".alita-complete"
FILL_SECONDS = 600.0
_LABEL = "alita.environment"


def volume_name(digest: str) -> str:
    """Name of an environment's volume.

    Raises:
        SandboxError: the digest cannot be a name.
    """
    return f"alita-env-{digest_name(digest)}"


async def has_volume(engine: Engine, digest: str) -> str | None:
    """The volume's name, when it was filled completely."""
    volume = volume_name(digest)
    return volume if await engine.call(partial(_is_complete, engine=engine, volume=volume)) else None


async def store_volume(engine: Engine, digest: str, tar: bytes) -> str:
    """Fills the volume; of several builders one does it and the others wait.

    Raises:
        SandboxError: the engine refused, or another builder took too long.
    """
    volume = volume_name(digest)
    tar = await anyio.to_thread.run_sync(plain_tar, tar)
    with anyio.move_on_after(FILL_SECONDS):
        while not await engine.call(partial(_is_complete, engine=engine, volume=volume)):
            if await _fill(engine, volume, tar):
                return volume
            await anyio.sleep(0.2)
        return volume
    raise SandboxError(f"Another process has been filling {volume} for {FILL_SECONDS:g} s.")


async def drop_volume(engine: Engine, digest: str) -> bool:
    """Removes the volume, complete or not; False when a container uses it.

    Raises:
        SandboxError: the engine refused, or the volume of that name is not ours.
    """
    return await engine.call(partial(_drop, volume=volume_name(digest)))


async def _fill(engine: Engine, volume: str, tar: bytes) -> bool:
    """Fills it while holding the container of that name, which only one process can; False when another has it."""
    holder = f"{volume}-filling"
    held = filled = False

    def take(client: Any) -> bool:
        return _create(client, engine, volume, holder) or _drop_if_abandoned(client, holder)

    def fill(client: Any) -> None:
        container = client.containers.get(holder)
        container.put_archive(PACKAGES, tar)
        container.put_archive(PACKAGES, _marker())

    def let_go(client: Any) -> None:
        remove_container(client, holder)
        if not filled:
            _drop(client, volume)

    try:
        held = await engine.call(take)
        if held:
            await engine.call(fill)
            filled = True
        return held
    finally:
        if held:
            with anyio.CancelScope(shield=True):
                await engine.call(let_go)


def _is_complete(client: Any, engine: Engine, volume: str) -> bool:
    import docker.errors

    if not client.volumes.list(filters={"name": volume}):
        return False
    # unnamed: anybody may look at the same time
    reader = client.api.create_container(
        engine.image, ["true"], host_config=_mount(client, volume), labels={OWNER_LABEL: str(engine.owner)}
    )["Id"]
    try:
        parts, _ = client.api.get_archive(reader, f"{PACKAGES}/{MARKER}")
        parts.close()
    except docker.errors.NotFound:
        return False
    finally:
        remove_container(client, reader)
    return True


def _create(client: Any, engine: Engine, volume: str, holder: str) -> bool:
    import docker.errors

    try:
        client.volumes.create(volume, labels={_LABEL: volume})
        client.api.create_container(
            engine.image,
            ["true"],
            name=holder,
            host_config=_mount(client, volume),
            labels={OWNER_LABEL: str(engine.owner)},
        )
    except docker.errors.APIError as refused:
        if refused.status_code == 409:
            return False
        raise
    return True


def _drop(client: Any, volume: str) -> bool:
    import docker.errors

    try:
        if _LABEL not in (client.api.inspect_volume(volume)["Labels"] or {}):
            raise SandboxError(f"The volume {volume} is not one of ours.")
        client.api.remove_volume(volume)
    except docker.errors.NotFound:
        return True
    except docker.errors.APIError as refused:
        if refused.status_code == 409:
            return False
        raise
    return True


def _drop_if_abandoned(client: Any, holder: str) -> bool:
    """Removes the container of a builder that died; always False: the caller tries again."""
    import docker.errors

    try:
        labels = client.containers.get(holder).labels
    except docker.errors.NotFound:
        return False
    owner = ProcessOwner.parse(labels.get(OWNER_LABEL, ""))
    if owner is not None and owner.is_gone():
        remove_container(client, holder)
    return False


def _mount(client: Any, volume: str) -> Any:
    return client.api.create_host_config(
        binds={volume: {"bind": PACKAGES, "mode": "rw"}}, network_mode="none"
    )


def _marker() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:") as archive:
        entry = tarfile.TarInfo(MARKER)
        entry.mode = 0o444
        archive.addfile(entry)
    return buffer.getvalue()
