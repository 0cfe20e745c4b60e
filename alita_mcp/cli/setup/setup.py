"""`alita setup`: asks for a model, connects the clients of this machine and prepares the sandbox."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from alita_mcp.cli.output import Output, Printer, has_terminal
from alita_mcp.cli.setup.model import HELP, NONE, PROVIDERS, ModelAnswers, set_up_model
from alita_mcp.clients.table import CLIENTS, Client
from alita_mcp.errors import AlitaError, UsageError

FIRST_QUESTION = (
    "What is the monthly rate of a loan of 250,000 at 3.9 % over 25 years? Make a tool of it to use again."
)


def setup(
    *,
    provider: Annotated[str | None, Parameter(choices=(*PROVIDERS, NONE))] = None,
    model: str | None = None,
    base_url: str | None = None,
    key_env: str | None = None,
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
        base_url: Address of the server, where it is not the provider's own.
        key_env: Environment variable that holds the key to keep.
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
    from alita_mcp.models.keys import check_key
    from alita_mcp.settings import key_from, read_settings

    settings = read_settings()
    for option, given in (("--model", model), ("--base-url", base_url), ("--key-env", key_env)):
        if given is not None and provider in (None, NONE):
            raise UsageError(f"{option} needs --provider.", hint=f"--provider {'|'.join(PROVIDERS)}")
    named = read_clients(clients)
    key = None if key_env is None else key_from(key_env)
    if key_env is not None and key is None:
        raise UsageError(
            f"The environment variable {key_env[:80]!r} of --key-env is not set.",
            hint="--key-env takes the name of a variable, not the key itself.",
        )
    answers = ModelAnswers(provider, model, base_url, key and check_key(key))
    can_ask = has_terminal() and not yes and not output.as_json
    missing = ["--provider NAME"] if provider is None else []
    missing += ["--clients NAME,NAME|all|none"] if named is None else []
    if missing and not can_ask and not yes:
        raise UsageError(f"There is no terminal to ask on; missing: {', '.join(missing)}.", hint=HELP)
    found: dict[str, Any] = {"model": {"model": settings.model}, "clients": [], "prepared": None}
    keeps_model = f"The model is {settings.model}. Keep it?"
    if provider or (can_ask and not (settings.model and output.ask_yes(keeps_model))):
        found["model"] = set_up_model(answers, settings, output, can_ask=can_ask)
    found["clients"] = set_up_clients(named, output, can_ask=can_ask)
    lines = [each["text"] for each in found["clients"]]
    prepares = "Prepare the sandbox now? It takes up to a minute, once."
    if not no_prepare and (not can_ask or output.ask_yes(prepares)):
        found["prepared"], prepared = anyio.run(prepare_machine, output)
        lines += prepared
    failed = [each for each in found["clients"] if each["state"] == "failed"]
    wired = [CLIENTS[each["client"]].title for each in found["clients"] if each["state"] != "failed"]
    where = f"Restart {' or '.join(wired)}" if wired else "`alita install CLIENT` connects a client"
    lines += ["", f"{where}, then ask there:", f"  {FIRST_QUESTION}"]
    found["first_question"] = FIRST_QUESTION
    output.print_result(found, "\n".join(lines))
    return AlitaError.exit_status if failed else 0


def read_clients(given: str | None) -> list[Client] | None:
    """The clients to connect; None where that is to be asked or, with --yes, all are meant.

    Raises:
        UsageError: one is not known, or not on this machine.
    """
    if given is None:
        return None
    here = [each for each in CLIENTS.values() if each.is_here()]
    if given == "all":
        return [each for each in here if not each.is_project_file]
    known = {each.name: each for each in here}
    names = [name.strip() for name in given.split(",") if name.strip() not in ("", NONE)]
    for name in names:
        if name not in known:
            raise UsageError(
                f"{name[:80]!r} is no client on this machine.",
                hint=f"Found: {', '.join(known)}; or all, none.",
            )
    return [known[name] for name in names]


def set_up_clients(named: list[Client] | None, output: Output, *, can_ask: bool) -> list[dict[str, Any]]:
    """Connects the named clients, or those that a person says yes to."""
    from alita_mcp.cli.setup.install import change_clients, launch_command
    from alita_mcp.clients.changes import Change, plan_install

    def agrees(change: Change) -> bool:
        if named is not None or not can_ask or not change.is_change:
            return True
        output.note(change.difference())
        is_project = change.client.is_project_file
        where = "in this folder's" if is_project else "in"
        question = f"Connect {change.client.title}, with these lines {where} {change.file}?"
        return output.ask_yes(question, default=not is_project)

    here = [each for each in CLIENTS.values() if each.is_here() and (can_ask or not each.is_project_file)]
    if named is None and not here:
        output.note("No client that is known was found on this machine.")
    clients = here if named is None else named
    return change_clients(clients, lambda client: plan_install(client, launch_command()), agrees=agrees)
