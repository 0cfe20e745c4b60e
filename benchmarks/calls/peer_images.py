"""Container images for the peers, derived from ours so that all run the same Python."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread

from alita_mcp.sandbox.owner import ProcessOwner
from benchmarks.calls import baselines, timing

LABEL = "alita.bench.peers"
"""On the images, and so on every container that a peer starts from them; its value is the run's process."""
BUILD_WITHIN_S = 600
LOCK_WITHIN_S = 600
GATEWAY = ("jupyter_kernel_gateway", "jupyter_client", "ipykernel")
_LINK = "/usr/local/bin/python"
PYTHON_LINK = f"import os, sys; os.path.lexists('{_LINK}') or os.symlink(sys.executable, '{_LINK}')"
PLAIN = f"""FROM {{base}}
USER root
RUN ["python3", "-c", "{PYTHON_LINK}"]
ENTRYPOINT []
CMD ["/bin/bash"]
"""
JUPYTER = (
    PLAIN
    + """COPY packages /opt/packages
ENV PYTHONPATH=/opt/packages
EXPOSE 8888
CMD ["python3", "-m", "kernel_gateway", "--KernelGatewayApp.ip=0.0.0.0", "--KernelGatewayApp.port=8888"]
"""
)
_ASK = "import json, platform, sys; print(json.dumps([platform.machine(), '%d.%d' % sys.version_info[:2]]))"


async def built(kind: str, base: str, run: str, cache: Path, tell: timing.Tell) -> str:
    """The name of a derived image: `plain` with a `python` and a shell, `jupyter` with a kernel gateway too.

    Raises:
        ContenderFailed: it cannot be built.
    """
    name = f"alita-bench-{kind}:{run}"
    if baselines.client_output(["docker", "image", "inspect", "--format", "{{.Id}}", name]).strip():
        return name
    packages = await _gateway_packages(base, cache, tell) if kind == "jupyter" else None
    tell(f"building the image {name}")
    with tempfile.TemporaryDirectory(prefix="alita-bench-image-") as folder:
        await anyio.to_thread.run_sync(_write_context, Path(folder), base, packages)
        words = [
            "docker",
            "build",
            "--quiet",
            "--network",
            "none",
            "--label",
            f"{LABEL}={run}",
            "--tag",
            name,
        ]
        with anyio.move_on_after(BUILD_WITHIN_S) as clock:
            await succeed([*words, folder])
        if clock.cancelled_caught:
            raise timing.ContenderFailed(f"the image was not built within {BUILD_WITHIN_S} s")
    return name


def _write_context(folder: Path, base: str, packages: Path | None) -> None:
    text = (JUPYTER if packages else PLAIN).format(base=base)
    (folder / "Dockerfile").write_text(text, encoding="utf-8")
    if packages:
        shutil.copytree(packages, folder / "packages")


def remove(run: str) -> None:
    """Removes the containers and images of one run."""
    own = f"label={LABEL}={run}"
    if containers := baselines.client_output(["docker", "ps", "--all", "--quiet", "--filter", own]).split():
        baselines.client_output(["docker", "rm", "--force", "--volumes", *containers])
    names = baselines.client_output(
        ["docker", "images", "--filter", own, "--format", "{{.Repository}}:{{.Tag}}"]
    ).split()
    for name in names:
        baselines.client_output(["docker", "rmi", "--force", name])


def sweep() -> None:
    """Removes the leftovers of runs whose process has ended."""
    question = ["docker", "images", "--filter", f"label={LABEL}", "--format", "{{.Tag}}"]
    for run in set(baselines.client_output(question).split()):
        owner = ProcessOwner.parse(run)
        if owner is not None and owner.is_gone():
            remove(run)


async def _gateway_packages(base: str, cache: Path, tell: timing.Tell) -> Path:
    """A folder with the kernel gateway's wheels for the image's own Python, unpacked; made once."""
    said = baselines.client_output(
        ["docker", "run", "--rm", "--network", "none", "--entrypoint", "python3", base, "-c", _ASK]
    )
    if not said:
        raise timing.ContenderFailed(f"the image {base!r} does not start a python3")
    machine, python = json.loads(said)
    folder = cache / f"gateway-{machine}-{python}"
    done = folder.with_name(f"{folder.name}.installed")
    async with locked(folder):
        if done.exists():
            return folder
        tell(f"downloading {', '.join(GATEWAY)} for Python {python}")
        shutil.rmtree(folder, ignore_errors=True)
        platforms = [f"manylinux{version}_{machine}" for version in ("2014", "_2_17", "_2_28")]
        words = [word for platform in platforms for word in ("--platform", platform)]
        await succeed(
            [
                sys.executable, "-m", "pip", "install", "--quiet", "--only-binary=:all:", "--implementation", "cp",
                "--python-version", python, *words, "--target", str(folder), *GATEWAY,
            ]
        )  # fmt: skip
        done.touch()
    return folder


async def succeed(argv: Sequence[str]) -> None:
    """Runs a command to its end; it is killed when this is cancelled.

    Raises:
        ContenderFailed: it failed; the message is its last line.
    """
    done = await anyio.run_process(
        argv, check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    if done.returncode:
        said = baselines.last_line(done.stderr) or baselines.last_line(done.stdout)
        raise timing.ContenderFailed(f"{' '.join(argv[:3])} …: {said or f'exit status {done.returncode}'}")


@asynccontextmanager
async def locked(folder: Path) -> AsyncIterator[None]:
    """Keeps two runs from making the same folder at once.

    Raises:
        ContenderFailed: another run holds it for too long.
    """
    from filelock import FileLock, Timeout

    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(str(folder) + ".lock")
    with anyio.move_on_after(LOCK_WITHIN_S):
        while not lock.is_locked:
            try:
                lock.acquire(timeout=0)
            except Timeout:
                await anyio.sleep(0.5)
    if not lock.is_locked:
        raise timing.ContenderFailed(f"another run makes {folder}")
    try:
        yield
    finally:
        lock.release()
