"""Settings: the only reader of the environment. `ALITA_*` variables in, one frozen value out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import platformdirs
from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from alita_mcp.errors import UsageError


class Settings(BaseSettings):
    """All that a person can set; each field is read from `ALITA_<NAME>`."""

    model_config = SettingsConfigDict(
        env_prefix="ALITA_", frozen=True, extra="ignore", use_attribute_docstrings=True, env_ignore_empty=True
    )

    home: Path = Field(default_factory=lambda: platformdirs.user_data_path("alita-mcp", appauthor=False))
    """Where the library lives."""
    sandbox: str = Field(default="auto", pattern=r"^(auto|docker|bubblewrap|monty|[\w.]+:\w+)$")
    """`auto`, `docker`, `bubblewrap`, `monty`, or `module:Class` of another back end."""
    docker_image: str = "python:3.13-slim"
    """Image with Python 3.11 or newer that the docker sandbox starts."""
    docker_runtime: str = Field(default="auto", pattern=r"^[\w.-]*$")
    """Runtime of the docker sandbox's containers: `auto` (gVisor, `runsc`, where the engine has it), `runc`, `runsc`
    or any other that the engine knows."""
    allow_weak_limits: bool = False
    """Accept bubblewrap without a delegated cgroup: memory is then limited per process only."""
    package_index: str = ""
    """Base URL of the package index that environments are built from; empty: the default of pip and uv."""
    package_index_ca: Path | None = None
    """PEM file with the authorities to trust for the package index; empty: the system's."""
    environments_keep_days: int = Field(default=30, ge=0, le=3650)
    """Built environments that nobody used for so many days are dropped."""
    environments_max_mb: int = Field(default=4096, ge=0)
    """Over this size together, the least recently used environments are dropped."""
    promoted: int = Field(default=20, ge=0, le=100)
    """How many tools are listed as first-class tools."""
    promote: Literal["all", "verified"] = "all"
    """`verified` lists only tools with that trust."""
    policy: Literal["auto", "ask", "locked"] = "ask"
    """`ask`: pure computation is published after its gates, the rest asks a person; `auto`: what a new tool
    asks for is granted at once, but hosts that a person must name; `locked`: nothing new."""
    grants_file: Path | None = None
    """JSON file in which a person grants rights to tools by name; read again when it changes."""
    secrets_file: Path | None = None
    """JSON file of secrets by name, readable by its owner only."""
    workspace: Path | None = None
    """Folder that tools with that grant may read or write; empty: none."""
    max_workers: int = Field(default=8, ge=1, le=256)
    """How many sandboxes may run at once."""
    calls_per_tool: int = Field(default=5, ge=1, le=256)
    """How many calls of one tool may run at once."""
    max_waiting: int = Field(default=64, ge=0, le=10_000)
    """How many calls may wait for a sandbox; one more is refused as busy."""
    idle_seconds: float = Field(default=300.0, gt=0)
    """How long a sandbox is kept warm without a call."""
    calls_per_worker: int = Field(default=1000, ge=1)
    """After so many calls a sandbox is replaced by a new one."""
    max_sandbox_memory_mb: int = Field(default=4096, ge=64)
    """How much memory the sandboxes may be promised together."""
    answer_within_s: float = Field(default=45.0, gt=0, le=600)
    """`synthesize_tool` answers within this many seconds; the job goes on."""
    max_result_bytes: int = Field(default=256_000, ge=1_000)
    """Larger results come back cut, with a link to the whole."""
    result_cache_mb: int = Field(default=64, ge=0, le=65_536)
    """Room for results of deterministic tools, which are then not computed again; 0: none are kept."""
    result_cache_ttl_s: float = Field(default=3_600.0, gt=0)
    """How many seconds a kept result counts."""
    token: SecretStr | None = None
    """Bearer token that HTTP clients must send; required when the address is not loopback."""
    model: str | None = None
    """Model for the server's own writing, as litellm names it: `openai/…`, `anthropic/…`, `ollama/…`."""
    model_base_url: str | None = None
    """Base URL of an OpenAI-compatible server."""
    log_level: Literal["debug", "info", "warning", "error"] = "warning"


def read_settings() -> Settings:
    """Settings from the environment.

    Raises:
        UsageError: a variable has a value that does not fit; the message names it.
    """
    try:
        return Settings()
    except ValidationError as invalid:
        first = invalid.errors()[0]
        variable = "ALITA_" + "_".join(str(part) for part in first["loc"]).upper()
        raise UsageError(
            f"{variable}={first['input']!r} does not fit: {first['msg']}.",
            hint="See the settings table in the README.",
        ) from invalid


def keep_litellm_offline() -> None:
    """Stops litellm from fetching its price list when it is imported; must run before that import."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")


def inherited_environment() -> dict[str, str]:
    """The environment for a server process that we start: all of ours but the settings."""
    return {name: value for name, value in os.environ.items() if not name.startswith("ALITA_")}


def quiet_lancedb() -> None:
    """Leaves lancedb's own log at errors unless the person chose otherwise; call it before lancedb is imported."""
    os.environ.setdefault("LANCEDB_LOG", "error")
