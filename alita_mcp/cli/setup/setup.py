"""`alita setup`: asks for a model, connects the clients of this machine and prepares the sandbox."""

from __future__ import annotations

import sys
from typing import Annotated, Any

from cyclopts import Parameter

from alita_mcp.cli.output import Output, Printer, has_terminal
from alita_mcp.cli.setup.model import HELP, NONE, PROVIDERS, ModelAnswers, set_up_model
from alita_mcp.errors import AlitaError, UsageError

FIRST_QUESTION = (
    "What is the monthly rate of a loan of 250,000 at 3.9 % over 25 years? Make a tool of it to use again."
)
MAX_STDIN = 1 << 16


def setup(
    *,
    provider: Annotated[str | None, Parameter(choices=(*PROVIDERS, NONE))] = None,
    model: str | None = None,
    base_url: str | None = None,
    key_env: str | None = None,
    key_stdin: bool = False,
    clients: str | None = None,
    no_prepare: bool = False,
    yes: bool = False,
    output: Printer,
) -> int:
    """Set up a model, the clients of this machine and the sandbox.

    What the options leave out is asked. The key is kept in the system keyring, else in a file that only you can read;
    it never stands in an option.

    Args:
        provider: Who serves the model that the server may use itself; none: the connected agent writes the code.
        model: Name of the model, as the provider writes it.
        base_url: Address of the server, with the provider `compatible` or `ollama`.
        key_env: Environment variable that holds the key to keep.
        key_stdin: Read the key from stdin.
        clients: Clients to connect, commas between; all, or none.
        no_prepare: Leave the sandbox as it is.
        yes: Ask nothing: connect all clients, prepare the sandbox, and keep the model as it is without --provider.

    Examples:
        alita setup
        alita setup --provider ollama --model qwen3 --clients all
        alita setup --provider mistral --key-env MISTRAL_API_KEY --clients all
    """
    import anyio

    from alita_mcp.cli.setup.prepare import prepare_machine
    from alita_mcp.settings import read_settings

    settings = read_settings()
    options = {
        "--model": model,
        "--base-url": base_url,
        "--key-env": key_env,
        "--key-stdin": key_stdin or None,
    }
    for option, given in options.items():
        if given is not None and provider in (None, NONE):
            raise UsageError(f"{option} needs --provider.", hint=f"--provider {'|'.join(PROVIDERS)}")
    if base_url is not None and provider not in ("compatible", "ollama"):
        raise UsageError(f"--base-url does not go with {provider}.", hint="Use --provider compatible.")
    names = read_client_names(clients)
    answers = ModelAnswers(provider, model, base_url, read_key(key_env, output, from_stdin=key_stdin))
    can_ask = has_terminal() and not yes and not output.as_json
    missing = ["--provider NAME"] if provider is None else []
    missing += ["--clients NAME,NAME|all|none"] if names is None else []
    if missing and not can_ask and not yes:
        raise UsageError(f"There is no terminal to ask on; missing: {', '.join(missing)}.", hint=HELP)
    found: dict[str, Any] = {"model": {"model": settings.model}, "clients": [], "prepared": None}
    keeps_model = f"The model is {settings.model}. Keep it?"
    if provider or (can_ask and not (settings.model and output.ask_yes(keeps_model))):
        found["model"] = set_up_model(answers, settings, output, can_ask=can_ask)
    found["clients"] = set_up_clients(names, output, can_ask=can_ask)
    lines = [describe_client(each) for each in found["clients"]]
    if not no_prepare and (
        not can_ask or output.ask_yes("Prepare the sandbox now? It takes up to a minute, once.")
    ):
        found["prepared"], prepared = anyio.run(prepare_machine, output)
        lines += prepared
    failed = [each for each in found["clients"] if each["state"] == "failed"]
    wired = [each["title"] for each in found["clients"] if each["state"] != "failed"]
    where = f"Restart {' or '.join(wired)}" if wired else "`alita install CLIENT` connects a client"
    lines += ["", f"{where}, then ask there:", f"  {FIRST_QUESTION}"]
    found["first_question"] = FIRST_QUESTION
    output.print_result(found, "\n".join(lines))
    return AlitaError.exit_status if failed else 0


def read_key(variable: str | None, output: Output, *, from_stdin: bool) -> str | None:
    """The key that the options name; None where they name none.

    Raises:
        UsageError: both name one, it is not there, or it is none.
    """
    from alita_mcp.models.keys import check_key
    from alita_mcp.settings import key_from

    if variable is not None and from_stdin:
        raise UsageError("--key-env and --key-stdin both name a key.", hint="Leave one of them out.")
    if variable is not None:
        key = key_from(variable)
        if key is None:
            raise UsageError(
                f"The environment variable {variable[:80]!r} of --key-env is not set.",
                hint="--key-env takes the name of a variable, not the key itself.",
            )
        return check_key(key)
    if not from_stdin:
        return None
    return check_key(output.ask_unseen("Key") if sys.stdin.isatty() else sys.stdin.read(MAX_STDIN))


def read_client_names(given: str | None) -> list[str] | None:
    """The clients to connect; None where that is to be asked or, with --yes, all are meant.

    Raises:
        UsageError: one is not known, or not on this machine.
    """
    from alita_mcp.clients.changes import find_clients
    from alita_mcp.clients.table import CLIENTS

    if given is None or given == "all":
        return None if given is None else [each.name for each in find_clients() if not each.is_project_file]
    names = [name.strip() for name in given.split(",") if name.strip() and name.strip() != NONE]
    here = [each.name for each in find_clients()]
    for name in names:
        if name not in CLIENTS:
            raise UsageError(
                f"Unknown client {name[:80]!r}.", hint=f"Known: {', '.join(CLIENTS)}, all, none."
            )
        if name not in here:
            raise UsageError(
                f"{CLIENTS[name].title} is not on this machine.",
                hint=f"`alita install {name} --force` makes its file all the same.",
            )
    return names


def set_up_clients(names: list[str] | None, output: Output, *, can_ask: bool) -> list[dict[str, Any]]:
    """Connects the named clients, or those that a person says yes to; one that fails does not keep back the others."""
    from alita_mcp.cli.setup.install import launch_command
    from alita_mcp.clients.changes import apply_change, find_clients, plan_install
    from alita_mcp.clients.skills import apply_own_files, plan_own_files
    from alita_mcp.clients.table import CLIENTS

    found = []
    here = [each for each in find_clients() if names is None or each.name in names]
    if not here and names is None:
        output.note("No client that is known was found on this machine.")
    for client in here:
        about: dict[str, Any] = {"client": client.name, "title": client.title, "file": str(client.file)}
        if names is None and not can_ask and client.is_project_file:
            continue
        try:
            change = plan_install(client.name, CLIENTS[client.name], launch_command())
            if names is None and can_ask and change.is_change:
                output.note(change.difference())
                where = "in this folder's" if client.is_project_file else "in"
                question = f"Connect {client.title}, with these lines {where} {client.file}?"
                if not output.ask_yes(question, default=not client.is_project_file):
                    continue
            own_files = plan_own_files(change, remove=False)
            backup = apply_change(change)
            apply_own_files(own_files)
        except AlitaError as failed:
            found.append({**about, "state": "failed", "problem": str(failed)})
            continue
        state = "connected" if change.is_change else "connected before"
        found.append({**about, "state": state, "backup": str(backup) if backup else None})
    return found


def describe_client(found: dict[str, Any]) -> str:
    """What became of a client, in a line."""
    if found["state"] == "failed":
        return f"✗ {found['title']}: {found['problem']}"
    kept = f" (backup: {found['backup']})" if found["backup"] else ""
    return f"✓ {found['title']}: {found['state']}, in {found['file']}{kept}"
