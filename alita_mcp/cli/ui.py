"""`alita ui`: a link to the pages of this library, served by the server that the person's clients share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from alita_mcp.cli.output import Printer
from alita_mcp.cli.parameters import parse_whole
from alita_mcp.errors import UsageError

PORT = 8764
Port = Annotated[int, Parameter(converter=parse_whole, validator=Number(gte=0, lte=65_535))]


def ui(*, port: Port = PORT, output: Printer) -> int:
    """Print a link to the pages of this library, for a browser.

    There you ask, watch what happens, and decide what waits for you. The link works once, within five minutes.

    Args:
        port: Port of this machine's loopback address; a free one is taken where it is in use.

    Examples:
        alita ui
        alita ui --port 9000
    """
    from alita_mcp.cli.setup.model import offer_model
    from alita_mcp.server.transports.local.endpoint import OFF, SWITCH, Refused, find_endpoint
    from alita_mcp.server.transports.local.servers import ask_for_link
    from alita_mcp.settings import whole_environment

    if not offer_model(output, once=True):
        output.hint("No model is set, so nothing answers tasks here: `alita setup` asks for one.")
    environment = whole_environment()
    try:
        if environment.get(SWITCH, "").lower() in OFF:
            raise Refused(f"{SWITCH} is off")  # noqa: TRY301 - said as all that keeps clients from sharing one
        link = ask_for_link(find_endpoint(environment, str(Path.cwd())), port)
    except (OSError, Refused) as problem:
        raise UsageError(
            f"No server can be shared ({problem}).",
            hint=f"`alita serve --http 127.0.0.1:{PORT}` serves the pages too.",
        ) from problem
    output.print_result({"url": link}, link)
    return 0
