"""A Docker engine of a test's own, which the test may stop, kill and start again; the shared one is left alone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

START_SECONDS = 60


class PrivateEngine:
    """A dockerd with its own data, socket, containerd and network: one without a bridge removes the machine's.

    Every path is absolute: a relative data folder makes this engine spin for ever. The folder's name must be
    short, because a socket's path may have 107 bytes.
    """

    def __init__(self, folder: Path, settings: dict[str, Any] | None = None) -> None:
        """`settings`: what its daemon.json says; none: the machine's."""
        self._folder = folder.resolve()
        self._settings = settings
        self.address = f"unix://{self._folder}/s"
        self._process: subprocess.Popen[bytes] | None = None

    @staticmethod
    def obstacle() -> str:
        """Why none can be started here; empty when one can."""
        if shutil.which("dockerd") is None:
            return "dockerd is not installed"
        return "" if os.geteuid() == 0 else "dockerd needs root"

    def start(self) -> None:
        """Starts it and waits until it answers."""
        words = [
            "unshare", "--net", "--", "dockerd", "--data-root", f"{self._folder}/d", "--exec-root", f"{self._folder}/x",
            "--pidfile", f"{self._folder}/p", "--host", self.address,
            "--bridge=none", "--iptables=false", "--ip6tables=false",
        ]  # fmt: skip
        if self._settings is not None:
            (self._folder / "c").write_text(json.dumps(self._settings))
            words += ["--config-file", f"{self._folder}/c"]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            assert self._process.poll() is None, self.log
            assert time.monotonic() < deadline, self.log
            time.sleep(0.1)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Ends it and its containerd with a signal and waits until both are gone."""
        if self._process is not None:
            containerd = [process for process in self._processes() if process.name() == "containerd"]
            self._process.send_signal(number)
            self._process.wait(START_SECONDS)
            self._process = None
            # one that outlives a killed engine for an instant is taken for running by the next engine
            for process in containerd:
                _kill(process)
            psutil.wait_procs(containerd, START_SECONDS)
            (self._folder / "x/containerd/containerd.pid").unlink(missing_ok=True)

    def answers(self) -> bool:
        """Whether it does so soon."""
        try:
            self.run("version", seconds=5)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return False
        return True

    def load(self, image: str) -> None:
        """Copies an image from the shared engine."""
        file = self._folder / "image.tar"
        subprocess.run(["docker", "save", "--output", file, image], check=True, timeout=300)
        self.run("load", "--input", str(file), seconds=300)
        file.unlink()

    def containers(self) -> list[str]:
        """Names of all of them, stopped ones too."""
        return self.run("ps", "--all", "--format", "{{.Names}}").split()

    def run(self, *words: str, seconds: float = 60) -> str:
        """What a docker command says."""
        command = ["docker", "--host", self.address, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=seconds)
        return done.stdout

    def remove(self) -> None:
        """Ends it and whatever a killed one left: processes and mounts below its folder."""
        self.stop()
        for process in self._processes():
            _kill(process)
        mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
        for mount in reversed([mount for mount in mounts if mount.startswith(f"{self._folder}/")]):
            subprocess.run(["umount", "--lazy", mount], check=False)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _processes(self) -> list[psutil.Process]:
        everybody = psutil.process_iter(["cmdline"])
        return [
            one for one in everybody if any(str(self._folder) in word for word in one.info["cmdline"] or ())
        ]

    @property
    def log(self) -> str:
        """The end of what it wrote."""
        return (self._folder / "log").read_text(errors="replace")[-2_000:]


def _kill(process: psutil.Process) -> None:
    with suppress(psutil.NoSuchProcess):
        process.kill()
