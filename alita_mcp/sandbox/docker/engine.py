"""Client of the Docker engine: blocking calls run in threads, its exceptions become errors of this package."""

from __future__ import annotations

import logging
import math
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from alita_mcp.errors import SandboxError, SandboxUnavailable
from alita_mcp.machine import is_out_of_descriptors
from alita_mcp.sandbox.docker.base_image import BaseImage
from alita_mcp.sandbox.interface import Progress
from alita_mcp.sandbox.owner import ProcessOwner

OWNER_LABEL = "alita.owner"
START_DOCKER = "Install and start Docker (Docker Desktop, OrbStack, Colima or the docker.io package)."
GVISOR = "runsc"
_LIMITS = {"MemoryLimit": "memory", "SwapLimit": "swap", "PidsLimit": "processes"}
_TIMEOUT_SECONDS = 60
_FIRST_TIMEOUT_SECONDS = 20
_log = logging.getLogger(__name__)
T = TypeVar("T")


class Engine:
    """Connection to the engine that the user's `docker` command would use, opened on first use."""

    def __init__(self, image: str, home: Path) -> None:
        self.base = BaseImage(image, home)
        self.image = image
        """What containers are made of; from `ensure_image` on by digest or id."""
        self.owner = ProcessOwner.this_process()
        self._client: Any = None
        self._address = ""
        self._image_is_here = False
        self._has_gvisor: bool | None = None
        self._opening = anyio.Lock()
        self._pulling = anyio.Lock()
        # no bound of its own: `max_workers` bounds the containers, and each reads in one thread
        self._threads = anyio.CapacityLimiter(math.inf)

    async def call(self, action: Callable[[Any], T]) -> T:
        """Runs `action(client)` in a thread.

        Raises:
            SandboxUnavailable: no engine answers.
            SandboxError: the engine refused.
        """
        async with self._opening:
            if self._client is None:
                self._address, self._client = await self._in_thread(_open_client)
                await self._in_thread(self._reap)

        def ask() -> T:
            _try_socket(self._address)
            return action(self._client)

        return await self._in_thread(ask)

    async def run_blocking(self, action: Callable[[], T]) -> T:
        """Runs a blocking read or write of a container's stream in a thread; cancelling does not wait for it."""
        return await anyio.to_thread.run_sync(action, limiter=self._threads, abandon_on_cancel=True)

    async def ensure_image(self, progress: Progress | None = None) -> None:
        """Pulls the image when it is not here; from the first use on it is the one of the recorded digest.

        Raises:
            SandboxUnavailable: it cannot be pulled; the message names the setting.
        """
        async with self._pulling:
            if self._image_is_here:
                return
            recorded = (await anyio.to_thread.run_sync(self.base.read_references)).get(self.base.name)
            self.image = recorded or self.base.name
            if not await self._inspect(self.image):
                await self._pull(progress or _to_log)
            if not recorded:
                # the digest in its registry; the id of one that comes from no registry
                found = await self._inspect(self.image)
                self.image = next(iter(found.get("RepoDigests") or ()), "") or found["Id"]
                await anyio.to_thread.run_sync(self.base.record_reference, self.image)
            self._image_is_here = True

    async def _inspect(self, image: str) -> dict[str, Any]:
        """The engine's description of an image; empty for one that is not here."""
        import docker.errors

        def inspect(client: Any) -> dict[str, Any]:
            try:
                return dict(client.api.inspect_image(image))
            except docker.errors.ImageNotFound:
                return {}

        return await self.call(inspect)

    async def has_gvisor(self) -> bool:
        """Whether the engine has gVisor: then containers run in it.

        Raises:
            SandboxError: it has, and cannot limit containers: it would drop the limits with a warning.
        """
        if self._has_gvisor is None:
            info = await self.call(lambda client: client.info())
            found = GVISOR in (info.get("Runtimes") or {})
            missing = [what for name, what in _LIMITS.items() if info.get(name) is not True]
            if found and missing:
                raise SandboxError(
                    f"The Docker engine cannot limit {', '.join(missing)} here, and a container under gVisor"
                    " could not tell.",
                    hint="Enable the engine's control groups, or take gVisor out of its runtimes.",
                )
            self._has_gvisor = found
        return self._has_gvisor

    async def aclose(self) -> None:
        """Closes the connection."""
        client, self._client = self._client, None
        if client is not None:
            await self._in_thread(client.close)

    async def _pull(self, progress: Progress) -> None:
        if self.image.startswith("sha256:"):  # no registry knows an id
            raise SandboxUnavailable(
                f"The image {self.base.name!r} was {self.image} when it was first used here, and that one is gone.",
                hint=self.base.how_to_accept,
            )
        await progress(f"pulling {self.image}")
        has_tag = "@" in self.image or ":" in self.image.rpartition("/")[2]
        image = self.image if has_tag else f"{self.image}:latest"  # without a tag every one there is comes
        try:
            events = await self.call(lambda client: client.api.pull(image, stream=True, decode=True))
            layers: dict[str, str] = {}
            while (event := await self.call(lambda _client: next(events, None))) is not None:
                if "error" in event:
                    raise SandboxError(str(event["error"]))  # noqa: TRY301 - told below with the image
                if event.get("id") and layers.get(event["id"]) != event["status"]:
                    layers[event["id"]] = event["status"]
                    done = sum("complete" in status.lower() for status in layers.values())
                    await progress(f"pulling {self.image}: {done} of {len(layers)} layers")
        except SandboxError as problem:
            raise SandboxUnavailable(
                f"The image {self.image!r} is missing and cannot be pulled: {problem.message}",
                hint="Pull it while you have a network, or set another image with Python 3.11 or newer"
                f" in ALITA_DOCKER_IMAGE.{'' if self.image == self.base.name else f' {self.base.how_to_accept}'}",
            ) from problem

    async def _in_thread(self, action: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(lambda: _translate_errors(action), limiter=self._threads)

    def _reap(self) -> None:
        """Removes containers of our owners that are gone: what a crash between create and start left."""
        import docker.errors

        # the low-level listing: the other one inspects each container, and fails when one is removed meanwhile
        for container in self._client.api.containers(all=True, filters={"label": OWNER_LABEL}):
            owner = ProcessOwner.parse(container["Labels"].get(OWNER_LABEL, ""))
            if owner is not None and owner.is_gone():
                try:
                    remove_container(self._client, container["Id"])
                except docker.errors.APIError as stuck:
                    _log.warning("a container of an earlier process cannot be removed: %s", stuck)


def remove_container(client: Any, name: str) -> None:
    """Kills and removes a container; one that is already gone, or being removed, is no error."""
    import docker.errors

    try:
        client.api.remove_container(name, force=True, v=False)
    except docker.errors.NotFound:
        return
    except docker.errors.APIError as problem:
        if "already in progress" not in str(problem):
            raise


def _open_client() -> tuple[str, Any]:
    """Where the engine listens, and a client that it answered."""
    import docker
    from docker.context import ContextAPI

    arguments = docker.utils.kwargs_from_env()
    if "base_url" not in arguments:
        context = ContextAPI.get_current_context()
        if context is not None and context.Host:
            arguments = {"base_url": context.Host, "tls": context.TLSConfig}
    address = arguments.get("base_url") or "unix:///var/run/docker.sock"
    _try_socket(address)
    client = docker.DockerClient(**arguments, timeout=_FIRST_TIMEOUT_SECONDS)
    try:
        client.ping()
    except BaseException:
        client.close()
        raise
    client.api.timeout = _TIMEOUT_SECONDS
    return address, client


def _try_socket(url: str) -> None:
    """Fails before the client tries where no engine listens: the client leaks a socket for each such try."""
    if not url.startswith("unix://") or not hasattr(socket, "AF_UNIX"):
        return
    try:
        with socket.socket(socket.AF_UNIX) as attempt:
            attempt.settimeout(_TIMEOUT_SECONDS)
            attempt.connect(url.removeprefix("unix://"))
    except OSError as refused:
        if is_out_of_descriptors(refused):
            raise
        raise SandboxUnavailable(
            f"No Docker engine answers at {url}: {refused.strerror or refused}.", hint=START_DOCKER
        ) from refused


def _translate_errors(action: Callable[[], T]) -> T:
    import docker.errors
    import requests.exceptions

    try:
        return action()
    except docker.errors.APIError as refused:
        raise SandboxError(f"The Docker engine refused: {refused.explanation or refused}") from refused
    except (docker.errors.DockerException, requests.exceptions.RequestException) as problem:
        raise SandboxUnavailable(
            f"No Docker engine answers: {' '.join(str(problem).split())[:200]}.", hint=START_DOCKER
        ) from problem


async def _to_log(line: str) -> None:
    _log.info(line)
