"""Settings: one frozen value read from `ALITA_*` variables, then from `alita.toml`; the only reader of both."""

from __future__ import annotations

import difflib
import os
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import platformdirs
from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from alita_mcp.errors import UsageError
from alita_mcp.private_files import read_private_file
from alita_mcp.settings_file import SETTINGS_FILE, read_settings_file
from alita_mcp.values import Value


class ModelChoice(Value):
    """Model of a role and its options; those left out are those of `ALITA_MODEL`."""

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


SEARCH_KEYS = {"github": "GITHUB_TOKEN", "tavily": "TAVILY_API_KEY", "brave": "BRAVE_API_KEY"}
"""The variables that search services' own documentation names for their keys."""


class FixedLimits(Value):
    """Limits that no variable sets; a program or a test may."""

    answer_within_s: float = 45.0
    """A synthesis or task that takes longer goes on as a job."""
    result_characters: int = 40_000
    """Larger results come back cut, with a link to the whole."""
    synthesis_calls: int = 100
    """How many answers of models one synthesis may ask for; here and below, 0 lifts a limit."""
    synthesis_tokens: int = 1_000_000
    synthesis_seconds: float = 1_800.0
    task_steps: int = 60
    """Steps of a task, those of its sub-tasks counted; 0 is no limit here."""
    task_tokens: int = 500_000
    task_seconds: float = 1_200.0
    task_plans: int = 3
    """How many candidate plans a task begins with; 0: none, each step is decided when it comes (plain ReAct)."""


MIN_TOKEN_LENGTH = 16


def check_token(given: SecretStr) -> SecretStr:
    """The bearer token without the blanks around it.

    Raises:
        ValueError: it is too short, or does not fit in a header; the message does not hold it.
    """
    token = given.get_secret_value().strip()
    if len(token) < MIN_TOKEN_LENGTH:
        raise ValueError(f"a token has at least {MIN_TOKEN_LENGTH} characters, this one {len(token)}")
    if not (token.isascii() and token.isprintable()):
        raise ValueError("a token holds nothing but printable ASCII characters")
    return SecretStr(token)


def check_library(given: SecretStr) -> SecretStr:
    """The address of a database.

    Raises:
        ValueError: it is not one of PostgreSQL; the message does not hold it.
    """
    if not given.get_secret_value().startswith(("postgresql://", "postgres://")):
        raise ValueError("an address of PostgreSQL begins with postgresql://")
    return given


SECRET = frozenset({"token", "library"})
"""Settings whose value no message shows: the address of a library may hold a password."""
RoleModel = Annotated[ModelChoice, NoDecode, BeforeValidator(read_choice)]


def default_home() -> Path:
    """Default folder of the library."""
    return platformdirs.user_data_path("alita-mcp", appauthor=False)


def absolute_home(home: Path) -> Path:
    """A home as its servers and commands name it, wherever they were started."""
    return home.expanduser().absolute()


def use_home(home: Path) -> None:
    """Sets the home of all settings that this process and its children read from now on."""
    os.environ["ALITA_HOME"] = str(absolute_home(home))


class _Variables(EnvSettingsSource):
    """The environment, which cannot set `limits`, and may name the file of a secret: `ALITA_TOKEN_FILE`."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        if field_name == "limits":
            return None, field_name, False
        return super().get_field_value(field, field_name)

    def __call__(self) -> dict[str, Any]:
        found = super().__call__()
        for name in SECRET.difference(found):
            variable = f"ALITA_{name.upper()}_FILE"
            if place := os.environ.get(variable):
                try:
                    found[name] = Path(place).read_text(encoding="utf-8", errors="replace").strip()
                except OSError as failure:
                    raise UsageError(f"Cannot read {variable}: {failure}.") from failure
        return found


class _SettingsFile(PydanticBaseSettingsSource):
    """`alita.toml` in the home that the program or the environment names; it cannot set `home` or `limits`."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:  # noqa: ARG002
        return None, field_name, False  # `__call__` reads all of them

    def __call__(self) -> dict[str, Any]:
        home = absolute_home(Path(self.current_state.get("home") or default_home()))
        found = read_settings_file(home)
        for name, why in (("home", "the file lies in it"), ("shared", "it is read before the file")):
            if name in found:
                hint = f"Set ALITA_{name.upper()}, and delete the line."
                raise UsageError(f"{home / SETTINGS_FILE}: {name} cannot be set there: {why}.", hint=hint)
        if not SECRET.isdisjoint(found):
            read_private_file(home / SETTINGS_FILE, holds_secrets=True)
        for name in ("workspace", "secrets_file"):
            if isinstance(found.get(name), str):
                found[name] = home / Path(found[name]).expanduser()
        return {name: value for name, value in found.items() if name in _setting_names()}


def _setting_names() -> list[str]:
    return [name for name in Settings.model_fields if name != "limits"]


class Settings(BaseSettings):
    """Everything a person can set; each field except `limits` is read from `ALITA_<NAME>`, then from `alita.toml`."""

    model_config = SettingsConfigDict(env_prefix="ALITA_", frozen=True, extra="ignore", env_ignore_empty=True)

    home: Path = Field(default_factory=default_home)
    """Where the library lives; with `library`, what this server keeps of it."""
    library: Annotated[SecretStr, AfterValidator(check_library)] | None = None
    """`postgresql://…` of the library that several servers share (extra `team`); unset: the files in the home."""
    sandbox: str = Field(default="auto", pattern=r"^(auto|docker|bubblewrap|wasm|[\w.]+:\w+)$")
    """`auto`, `docker`, `bubblewrap`, `wasm`, or `module:Class` of another back end."""
    docker_image: str = "python:3.13-slim"
    """Image with Python 3.11 or newer that the docker sandbox starts."""
    package_index: str = ""
    """Base URL of the package index that environments are built from; empty: the default of pip and uv."""
    promoted: int = Field(default=20, ge=0, le=100)
    """How many tools are listed as first-class tools."""
    review: Literal["off", "describe", "list"] | None = None
    """What clients see of a tool that no person has reviewed. `describe`: its first sentence and plain names, marked;
    `list`: the same, and it is not listed; `off`: all of it. Unset: all of it to the client that made it, `describe` to
    the others."""
    policy: Literal["auto", "ask", "locked"] = "ask"
    """`ask`: pure computation is published after its gates, the rest asks a person; `auto`: what a new tool
    asks for is granted at once, but hosts that a person must name; `locked`: nothing new."""
    elicit: bool | None = None
    """Whether the person at a client that shows forms is asked there to approve what a new tool asks for, and in mode
    `thorough` about what was assumed. Unset: over stdio yes, over HTTP no, where whoever connects could answer."""
    secrets_file: Path | None = None
    """JSON file of secrets by name, readable by its owner only."""
    workspace: Path | None = None
    """Folder that tools with that grant may read or write; empty: none."""
    shared: bool = True
    """Whether `alita-mcp-server` passes its client on to one server for all of this user's clients with the same
    settings; else each client has a server of its own."""
    hook: bool = True
    """Whether a client's hook hears which tool does what a program in its shell does."""
    max_workers: int = Field(default=8, ge=1, le=256)
    """How many sandboxes may run at once."""
    prepare: bool = True
    """Whether a server proves the starter tools and starts a worker in the background, before a call needs them."""
    token: Annotated[SecretStr, AfterValidator(check_token)] | None = None
    """Bearer token that HTTP clients must send; unset: that of the file `http_token` in the home."""
    metrics: str | None = Field(default=None, pattern=r"^(\[[0-9a-fA-F:]+\]|[\w.-]+):[0-9]{1,5}$")
    """`ADDRESS:PORT` where a server over HTTP has metrics for Prometheus (extra `team`), without a token."""
    oauth_issuer: str | None = Field(
        default=None, pattern=r"^(https://|http://(localhost|127\.0\.0\.1|\[::1\])[:/])\S+$"
    )
    """Issuer of access tokens (OAuth 2.1) that clients may send, as its metadata names it. Needs `oauth_audience`."""
    oauth_audience: str | None = Field(default=None, pattern=r"^https?://\S+$")
    """URL of this server's `/mcp` as its clients know it, for which the tokens must be issued."""
    oauth_team_claim: str = "team"
    """Claim with the team of whom a token was issued to."""
    quota_calls: int = Field(default=0, ge=0, le=1_000_000)
    """Calls of tools that each owner may make in a minute, at each server; here and below, 0 is no limit."""
    quota_model_tokens: int = Field(default=0, ge=0, lt=2**62)
    """Tokens of models after which an owner begins no synthesis and no task that day (UTC), at all servers."""
    drain_grace_s: float = Field(default=0.0, ge=0, le=3600)
    """How long a server over HTTP goes on after SIGTERM while `/readyz` says 503, so that balancers notice."""
    drain_limit_s: float = Field(default=8.0, ge=0, le=86_400)
    """How long calls and jobs under way may take to finish after that."""
    model: str | None = Field(default=None, pattern=r"^\S+$")
    """Model for the server's own writing, as litellm names it: `openai/…`, `anthropic/…`, `ollama/…`."""
    model_base_url: str | None = None
    """Base URL of an OpenAI-compatible server; counts for models of the same provider as `model`."""
    model_planner: RoleModel = ModelChoice()
    """Who writes specifications: `provider/name temperature=… max_tokens=… timeout_s=… base_url=… key_from=…`."""
    model_tester: RoleModel = ModelChoice()
    """Who writes examples, in the same form; unset, a model that differs from the coder's where there is one."""
    model_coder: RoleModel = ModelChoice()
    """Who writes code and carries out the steps of tasks, in the same form."""
    model_judge: RoleModel = ModelChoice()
    """Who judges, in the same form."""
    memory: bool = True
    """Whether tasks are remembered: programs that answered them, and profiles of files."""
    search: str = Field(default="", pattern=r"^[a-z_, ]*$")
    """Search back ends of the web agent, in order: `github`, `searxng`, `tavily`, `brave`.
    Empty: those that have a key or an address, and with a model `github`, which needs none."""
    searxng_url: str | None = None
    """Base URL of a SearXNG whose JSON format is on."""
    web_allow: str = Field(default="", pattern=r"^[\w.:,\[\]\- ]*$")
    """`host:port` pairs, commas between, that the web agent may read although they are not public."""
    embedder: str | None = Field(default=None, pattern=r"^\S.*$")
    """Embedding model for search by meaning (extra `search`): `none`, a model2vec folder, `model2vec/NAME`, or
    `module:Class`; unset: the table that ships with the package. One that cannot be found is an error at the start;
    one that does not answer is not: search goes by words until it does."""
    budget_usd: float = Field(default=2.0, ge=0)
    """What the models of one synthesis, or of one task, may cost where their prices are known; 0: anything."""
    synthesis_mode: Literal["quick", "standard", "thorough"] = "standard"
    """What the server's own model spends on a tool: at most one candidate; three and three suites; five and five."""
    log_level: Literal["debug", "info", "warning", "error"] = "warning"
    limits: FixedLimits = FixedLimits()

    @property
    def library_url(self) -> str:
        """Address of the shared library; empty where the library is in the home."""
        return "" if self.library is None else self.library.get_secret_value()

    @property
    def sandbox_memory_bytes(self) -> int:
        """How much memory the sandboxes may be promised together: half a GB for each of them, and at least 4 GB."""
        return max(8, self.max_workers) << 29

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        *_others: PydanticBaseSettingsSource,
        **_unused: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """What the program gives, then the environment, then the file in the home."""
        return init_settings, _Variables(settings_cls), _SettingsFile(settings_cls)


def read_settings() -> Settings:
    """Settings from the environment and from `alita.toml`.

    Raises:
        UsageError: a value is invalid, or the file cannot be used; the message names the variable, or the file.
    """
    try:
        return Settings()
    except ValidationError as invalid:
        first = invalid.errors()[0]
        name = str(first["loc"][0])
        given = "" if name in SECRET else f"={first['input']!r}"
        problem = first["msg"].removeprefix("Value error, ")
        variable = f"ALITA_{name.upper()}"
        are_set = {each.upper() for each, value in os.environ.items() if value}
        if are_set & {variable, f"{variable}_FILE"}:
            said, mend = f"{variable}{given}", f"unset {variable}"
        else:
            said, mend = f"{name}{given} in {_home_of_environment() / SETTINGS_FILE}", "delete the line"
        raise UsageError(
            f"Invalid {said}: {problem}.", hint=f"Fix or {mend}; docs/settings.md lists its values."
        ) from invalid


def find_unknown_settings(home: Path) -> list[str]:
    """A sentence for each `ALITA_` variable, and each key of the home's file, that is no setting, with the nearest."""
    fields = _setting_names()
    variables = {name.upper(): f"ALITA_{name.upper()}" for name in fields}
    variables |= {key: key for key in SEARCH_KEYS.values()}
    files = {f"{name}_file" for name in SECRET}
    sentences = []

    def add_sentence(what: str, name: str, known: dict[str, str]) -> None:
        nearest = [known[each] for each in difflib.get_close_matches(name, known, n=1, cutoff=0.7)]
        advice = f"did you mean {nearest[0]}?" if nearest else "docs/settings.md lists the settings."
        sentences.append(f"{what} is not a setting and is ignored: {advice}")

    for variable in sorted(os.environ):
        name = variable.removeprefix("ALITA_")
        if name != variable and name.lower() not in {*fields, *files} and not name.startswith("TEST_"):
            add_sentence(variable, name, variables)
    home = absolute_home(home)
    for key in read_settings_file(home):
        if key not in (*fields, "home"):
            named = {name: name for name in fields if name != "home"}
            add_sentence(f"{key} in {home / SETTINGS_FILE}", key.lower().removeprefix("alita_"), named)
    return sentences


def settings_in_environment() -> dict[str, str]:
    """The `ALITA_` variables that are set, for a server started elsewhere: paths absolute, without the token."""
    variables = {}
    for variable, value in os.environ.items():
        prefix, _, name = variable.lower().partition("_")
        if prefix == "alita" and value and name in Settings.model_fields and name not in ("limits", "token"):
            is_path = "Path" in str(Settings.model_fields[name].annotation)
            variables[variable.upper()] = str(absolute_home(Path(value))) if is_path else value
    return dict(sorted(variables.items()))


def _home_of_environment() -> Path:
    return absolute_home(Path(key_from("ALITA_HOME") or default_home()))


def wants_traces() -> bool:
    """Whether the variables of OpenTelemetry name an OTLP exporter of traces."""
    exporter, is_off = key_from("OTEL_TRACES_EXPORTER"), key_from("OTEL_SDK_DISABLED") == "true"
    places = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    return not is_off and (exporter == "otlp" or (exporter is None and any(map(key_from, places))))


def isolate_litellm() -> None:
    """Keeps litellm from fetching a price list and from reading `.env` of the current folder; call before the import.

    That folder is whatever project a client was started in, and such a file could send keys and prompts elsewhere.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")


def key_from(variable: str) -> str | None:
    """A provider's key; None when the variable is not set."""
    return os.environ.get(variable) or None


@cache
def keys_in_use() -> set[str]:
    """Keys that this process took from the system keyring or a file, to be kept out of messages as well."""
    return set()


def environment_keys() -> frozenset[str]:
    """The values of all variables whose names look like those of credentials, and of keys that a person stored."""
    words = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")
    named = {
        value
        for name, value in os.environ.items()
        if len(value) >= 8 and any(word in name.upper() for word in words)
    }
    return frozenset(named | keys_in_use())


def whole_environment() -> dict[str, str]:
    """The environment with the settings, for what must be the same wherever it is the same."""
    return dict(os.environ)


def child_environment() -> dict[str, str]:
    """The environment for a server process that we start: ours without the settings."""
    return {name: value for name, value in os.environ.items() if not name.startswith("ALITA_")}


def quiet_lancedb() -> None:
    """Leaves lancedb's own log at errors unless the person chose otherwise; call it before lancedb is imported."""
    os.environ.setdefault("LANCEDB_LOG", "error")
