"""`alita`, the command line: parses the arguments, runs a command, returns its exit status."""

from __future__ import annotations

import argparse
import io
import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from alita_mcp import __version__
from alita_mcp.cli import caching, remembering, serving
from alita_mcp.cli.commands import Family, describe_groups, json_option
from alita_mcp.cli.demo import command as demo
from alita_mcp.cli.library import approving, finding, keeping, making, reviewing, running
from alita_mcp.cli.output import Output
from alita_mcp.cli.setting_up import environments, installing, preparing
from alita_mcp.cli.tasks import commands as task_commands
from alita_mcp.errors import AlitaError, Cancelled
from alita_mcp.exception_groups import innermost
from alita_mcp.settings import keep_warnings_harmless, read_settings, use_home

if TYPE_CHECKING:
    from types import FrameType

BROKEN_PIPE = 141
"""What a shell reports when the reader of a pipe went away."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command.

    Returns:
        0, or the exit status of the error's class (`alita_mcp.errors`); 1 when a tool or a draft failed.
    """
    keep_warnings_harmless()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        return _run(build_parser().parse_args(argv))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE


def build_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = argparse.ArgumentParser(
        prog="alita",
        usage="alita [--home FOLDER] COMMAND ...",
        description="An MCP server that grows its own tools, and the library they live in.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"alita {__version__}")
    parser.add_argument("--home", metavar="FOLDER", type=Path, help="the library; goes before ALITA_HOME")
    commands = parser.add_subparsers(prog="alita", metavar="COMMAND", required=True, help=argparse.SUPPRESS)
    use, manage, set_up = (Family(commands, json_option()) for _ in range(3))
    finding.add_commands(use, manage)
    for module in (running, making, task_commands):
        module.add_commands(use)
    for module in (approving, keeping, reviewing, remembering):
        module.add_commands(manage)
    tool = manage.add_family("tool", "pin, disable, delete, roll back, export or import a tool, and more")
    for module in (keeping, finding, making, caching, environments):
        module.add_actions(tool)
    for module in (installing, preparing, serving, demo):
        module.add_commands(set_up)
    groups = describe_groups({"use": use, "manage": manage, "set up": set_up})
    parser.epilog = (
        f"{groups}\n\nTo begin: `alita prepare`, `alita doctor`, then `alita install CLIENT --write`.\n"
        "Settings come from ALITA_* environment variables. `alita COMMAND --help` says more."
    )
    return parser


def _run(options: argparse.Namespace) -> int:
    """Runs the command that was asked for; fails with BrokenPipeError when nothing reads its output any more."""
    output = Output(as_json=options.as_json)
    if options.home is not None:
        use_home(options.home)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell script starts its background jobs
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _stop)
    try:
        logging.basicConfig(stream=sys.stderr, level=read_settings().log_level.upper())
        status: int = options.command(options, output)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except KeyboardInterrupt:
        output.note("alita: stopped")
        return Cancelled.exit_status
    except Exception as failed:  # noqa: BLE001 - the outermost edge: a person gets words, not a traceback
        return _explain(failed, output)
    return status


def _stop(_number: int, _frame: FrameType | None) -> None:
    """Ends by SIGTERM as by Ctrl-C: whatever is open gets closed."""
    signal.raise_signal(signal.SIGINT)


def _explain(failed: BaseException, output: Output) -> int:
    failed = innermost(failed)
    if _debugging():
        sys.excepthook(type(failed), failed, failed.__traceback__)
    elif isinstance(failed, AlitaError):
        output.note(f"alita: {failed}")
    else:
        output.note(f"alita: {type(failed).__name__}: {failed} (ALITA_LOG_LEVEL=debug shows where)")
    return failed.exit_status if isinstance(failed, AlitaError) else AlitaError.exit_status


def _debugging() -> bool:
    try:
        return read_settings().log_level == "debug"
    except AlitaError:
        return False


if __name__ == "__main__":
    sys.exit(main())
