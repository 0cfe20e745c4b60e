"""Settings: one frozen value read from `ALITA_*` variables; the only reader of the environment."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any, Literal

import platformdirs
from pydantic import BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from alita_mcp.errors import UsageError
from alita_mcp.values import Value


class ModelChoice(Value):
    """Model of a role and its options; those not given are as for `ALITA_MODEL`."""

    name: str | None = Field(default=None, pattern=r"^\S+$")
    base_url: str | None = None
    key_from: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """Name of the environment variable that holds the key, where it is not the provider's usual one."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: int | None = Field(default=None, ge=1)
    timeout_s: float = Field(default=120.0, gt=0, le=3600)
    """For one whole answer; tried again after it."""


def read_choice(said: Any) -> Any:
    """The fields of a choice written as `provider/name option=value …`, all parts of it optional.

    Raises:
        ValueError: a word is no option, or comes twice.
    """
    if not isinstance(said, str):
        return said
    options: dict[str, str] = {}
    for place, word in enumerate(said.split()):
        option, equals, value = word.partition("=")
        if place == 0 and option not in ModelChoice.model_fields:
            option, value = "name", word
        elif not equals or option not in ModelChoice.model_fields or option in options:
            known = ", ".join(f"{name}=" for name in ModelChoice.model_fields if name != "name")
            raise ValueError(f"{word!r} should be a model's name at the start, or one of {known} once")
        options[option] = value
    return options


def _known_sandbox(said: Any) -> Any:
    """Refuses the name of a back end of version 0.1.0; the message says what took its place."""
    if said == "monty":
        raise ValueError("monty is gone: write ALITA_SANDBOX=wasm (a whole Python, embedded too), or auto")
    return said


RoleModel = Annotated[ModelChoice, NoDecode, BeforeValidator(read_choice)]


def default_home() -> Path:
    """Default folder of the library."""
    return platformdirs.user_data_path("alita-mcp", appauthor=False)


def use_home(home: Path) -> None:
    """Lets settings that are read from now on, in this process and those it starts, name another home."""
    os.environ["ALITA_HOME"] = str(home.expanduser().absolute())


class Settings(BaseSettings):
    """All that a person can set; each field is read from `ALITA_<NAME>`."""

    model_config = SettingsConfigDict(env_prefix="ALITA_", frozen=True, extra="ignore", env_ignore_empty=True)

    home: Path = Field(default_factory=default_home)
    """Where the library lives."""
    sandbox: Annotated[str, BeforeValidator(_known_sandbox)] = Field(
        default="auto", pattern=r"^(auto|docker|bubblewrap|wasm|[\w.]+:\w+)$"
    )
    """`auto`, `docker`, `bubblewrap`, `wasm`, or `module:Class` of another back end."""
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
    promoted: int = Field(default=20, ge=0, le=100)
    """How many tools are listed as first-class tools."""
    promote: Literal["all", "verified"] = "all"
    """`verified` lists only tools with that trust."""
    review: Literal["off", "describe", "list"] | None = None
    """What clients see of a tool that no person has reviewed. `describe`: its first sentence and plain names, marked;
    `list`: the same, and it is not listed; `off`: all of it. Unset: `describe` over HTTP, `off` over stdio."""
    learn: bool = True
    """Whether a search becomes one of the requests by which a tool is found, when the client then calls that tool."""
    policy: Literal["auto", "ask", "locked"] = "ask"
    """`ask`: pure computation is published after its gates, the rest asks a person; `auto`: what a new tool
    asks for is granted at once, but hosts that a person must name; `locked`: nothing new."""
    elicit: bool | None = None
    """Whether the person at a client that shows forms is asked there to approve what a new tool asks for, and in mode
    `thorough` about what was assumed. Unset: no where other machines reach the server, since whoever connects could
    answer for you; else yes."""
    grants_file: Path | None = None
    """JSON file in which a person grants rights to tools by name; read again when it changes."""
    secrets_file: Path | None = None
    """JSON file of secrets by name, readable by its owner only."""
    workspace: Path | None = None
    """Folder that tools with that grant may read or write; empty: none."""
    max_workers: int = Field(default=8, ge=1, le=256)
    """How many sandboxes may run at once."""
    max_sandbox_memory_mb: int = Field(default=4096, ge=64)
    """How much memory the sandboxes may be promised together."""
    answer_within_s: float = Field(default=45.0, gt=0, le=600)
    """`synthesize_tool` answers within this many seconds; the job goes on."""
    max_result_bytes: int = Field(default=256_000, ge=1_000)
    """Larger results come back cut, with a link to the whole."""
    keep_values: bool = False
    """Whether code, arguments and results of runs of `run_code` are kept on the disk; else they stay in memory."""
    result_cache_mb: int = Field(default=64, ge=0, le=65_536)
    """Room for results of deterministic tools, which are then not computed again; 0: none are kept."""
    token: SecretStr | None = None
    """Bearer token that HTTP clients must send; required when the address is not loopback."""
    model: str | None = Field(default=None, pattern=r"^\S+$")
    """Model for the server's own writing, as litellm names it: `openai/…`, `anthropic/…`, `ollama/…`."""
    model_base_url: str | None = None
    """Base URL of an OpenAI-compatible server; counts for models of the same provider as `model`."""
    model_planner: RoleModel = ModelChoice()
    """Who writes specifications: `provider/name temperature=… max_tokens=… timeout_s=… base_url=… key_from=…`."""
    model_tester: RoleModel = ModelChoice()
    """Who writes examples, in the same form; unset, a model that differs from the coder's where there is one."""
    model_coder: RoleModel = ModelChoice()
    """Who writes code, in the same form."""
    model_judge: RoleModel = ModelChoice()
    """Who judges, in the same form."""
    model_implementer: RoleModel = ModelChoice()
    """Who carries out the steps of a task, in the same form; the planner plans them and the judge checks the answer."""
    tool_calling: Literal["auto", "native", "json"] = "auto"
    """How a model asks for tools in a task: as its provider has it, or in JSON; `auto` falls back to JSON."""
    task_steps: int = Field(default=60, ge=1, le=1_000)
    """How many steps one task may take; its sub-tasks' count."""
    task_tokens: int = Field(default=500_000, ge=0)
    """How many tokens, asked and answered, one task may use; 0: any number."""
    task_usd: float = Field(default=2.0, ge=0)
    """What the models of one task may cost where their prices are known; 0: anything."""
    task_seconds: float = Field(default=1_200.0, ge=0)
    """How many seconds one task may take; 0: any number."""
    task_plans: int = Field(default=3, ge=0, le=8)
    """How many candidate plans a task begins with; 0: none, each step is decided when it comes (plain ReAct)."""
    memory: bool = True
    """Whether tasks are remembered: what happened, facts with their sources, steps that worked."""
    search: str = Field(default="", pattern=r"^[a-z_, ]*$")
    """Search back ends of the web agent, in order: `package_index`, `github`, `searxng`, `tavily`, `brave`, `mcp`.
    Empty: those that have a key or an address, and with a model the two that need none."""
    searxng_url: str | None = None
    """Base URL of a SearXNG whose JSON format is on."""
    tavily_key: SecretStr | None = None
    """Key of the Tavily search API."""
    brave_key: SecretStr | None = None
    """Key of the Brave search API."""
    github_token: SecretStr | None = None
    """Token for GitHub; code is searched only with one."""
    github_url: str = "https://api.github.com"
    """Base URL of GitHub's API, as of a GitHub Enterprise server."""
    search_mcp: str | None = None
    """A search tool of another MCP server: its URL or command, ` #`, and the tool's name."""
    web_allow: str = Field(default="", pattern=r"^[\w.:,\[\]\- ]*$")
    """`host:port` pairs, commas between, that the web agent may read although they are not public."""
    embedder: str | None = Field(default=None, pattern=r"^\S.*$")
    """Embedding model for search by meaning: one that litellm names (`openai/…`, `voyage/…`, `ollama/…`), a
    model2vec folder, `model2vec/NAME` (extra `search`), or `module:Class`; unset: search goes by words. A folder
    without a model or a class that cannot be loaded is an error at the start; a model that does not answer is not:
    search goes by words until it does."""
    embedder_base_url: str | None = None
    """Base URL of the embedder's server: OpenAI-compatible, or of the provider that its name begins with. The same
    name at another address counts as another model."""
    budget_calls: int = Field(default=100, ge=0)
    """How many answers of models one synthesis may ask for; 0: any number."""
    budget_tokens: int = Field(default=1_000_000, ge=0)
    """How many tokens, asked and answered, one synthesis may use; 0: any number."""
    budget_usd: float = Field(default=2.0, ge=0)
    """What the models of one synthesis may cost where their prices are known; 0: anything."""
    budget_seconds: float = Field(default=1_800.0, ge=0)
    """How many seconds after its start a synthesis may still wait for models; 0: any number."""
    response_cache_mb: int = Field(default=64, ge=0, le=65_536)
    """Room for answers of models, which are then not asked for again; 0: none are kept."""
    synthesis_mode: Literal["quick", "standard", "thorough"] = "standard"
    """What the server's own model spends on a tool: at most one candidate; three and three suites; five and five."""
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
        variable = f"ALITA_{first['loc'][0]}".upper()
        raise UsageError(
            f"{variable}={first['input']!r} does not fit: {first['msg'].removeprefix('Value error, ')}.",
            hint="See docs/settings.md.",
        ) from invalid


def keep_litellm_to_itself() -> None:
    """Must run before litellm is imported: it would fetch a price list, and read `.env` of the current folder.

    That folder is whatever project a client was started in, and such a file could send keys and prompts elsewhere.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")


def keep_warnings_harmless() -> None:
    """Must run first in a process of ours: where PYTHONWARNINGS makes errors of warnings, a library's fails no call."""
    if sys.warnoptions:
        warnings.simplefilter("default")


def key_from(variable: str) -> str | None:
    """A provider's key; None when the variable is not set."""
    return os.environ.get(variable) or None


def keys_in_the_environment() -> frozenset[str]:
    """All values that look like credentials by their variables' names, to be kept out of messages."""
    words = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")
    return frozenset(
        value
        for name, value in os.environ.items()
        if len(value) >= 8 and any(word in name.upper() for word in words)
    )


def addresses_of_providers() -> tuple[str, ...]:
    """Addresses of providers that litellm reads from the environment, besides our own settings."""
    ends = ("_API_BASE", "_BASE_URL", "_ENDPOINT")
    return tuple(sorted(f"{name}={value}" for name, value in os.environ.items() if name.endswith(ends)))


def inherited_environment() -> dict[str, str]:
    """The environment for a server process that we start: all of ours but the settings."""
    return {name: value for name, value in os.environ.items() if not name.startswith("ALITA_")}


def quiet_lancedb() -> None:
    """Leaves lancedb's own log at errors unless the person chose otherwise; call it before lancedb is imported."""
    os.environ.setdefault("LANCEDB_LOG", "error")
