"""`alita token ACTION`: bearer tokens of HTTP clients, for a library that several servers share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from alita_mcp.cli.output import Printer, columns
from alita_mcp.errors import UsageError
from alita_mcp.owners import ScopeName

if TYPE_CHECKING:
    from alita_mcp.postgres.database import Database


@contextmanager
def _open_database() -> Iterator[Database]:
    from alita_mcp.library.storage import open_storage
    from alita_mcp.settings import read_settings

    with open_storage(read_settings()) as storage:
        if storage.database is None:
            raise UsageError(
                "Tokens belong to a library that servers share, and ALITA_LIBRARY is not set.",
                hint="Set it to postgresql://…; else a server has one token, that of ALITA_TOKEN or `http_token`.",
            )
        yield storage.database


def create(
    name: str,
    /,
    *,
    team: str,
    subject: str,
    scopes: Annotated[tuple[ScopeName, ...], Parameter(consume_multiple=(1, None))] = ("call", "make"),
    output: Printer,
) -> None:
    """Make a token and print it, this once.

    Args:
        name: What to call it in `list` and `revoke`.
        team: Team of whoever has it: it sees the tools of this team, and those of no team.
        subject: Person or program within the team, to whom belongs what is done with it.
        scopes: What it allows: to call tools, run code and have tasks solved; to make tools; to manage tools that are
            there; to approve what tools ask for.

    Examples:
        alita token create ann-laptop --team research --subject ann
        alita token create ci --team research --subject ci --scopes call
    """
    from alita_mcp.postgres.tokens import create_token

    with _open_database() as database:
        token = create_token(database, name, team, subject, scopes)
    output.print_result({"name": name, "owner": f"{team}/{subject}", "scopes": scopes, "token": token}, token)


def list_all(*, output: Printer) -> None:
    """List all tokens, without the tokens themselves.

    Examples:
        alita token list
    """
    from alita_mcp.postgres.tokens import list_tokens

    with _open_database() as database:
        tokens = list_tokens(database)
    rows = [(each["name"], each["owner"], " ".join(each["scopes"])) for each in tokens]
    output.print_result(tokens, columns(rows) or "There are no tokens.")


def revoke(name: str, /, *, output: Printer) -> None:
    """Revoke a token: no server takes it any more, from its next request on.

    Args:
        name: The token.

    Examples:
        alita token revoke ann-laptop
    """
    from alita_mcp.postgres.tokens import revoke_token

    with _open_database() as database:
        revoke_token(database, name)
    output.print_result({"revoked": name}, f"revoked {name}")


TOKEN_ACTIONS: dict[str, Any] = {"create": create, "list": list_all, "revoke": revoke}
