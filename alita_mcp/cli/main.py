"""`alita`, the command line: reads the words, runs one command, and returns its exit status."""

from __future__ import annotations

import difflib
import inspect
import io
import os
import signal
import sys
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from cyclopts import (
    App,
    CycloptsError,
    Group,
    MissingArgumentError,
    Parameter,
    UnknownCommandError,
    UnusedCliTokensError,
)

from alita_mcp import __version__
from alita_mcp.cli.demo.command import demo
from alita_mcp.cli.library.approve import approve, revoke
from alita_mcp.cli.library.copying import LIBRARY_ACTIONS
from alita_mcp.cli.library.find import list_tools, log, search, show
from alita_mcp.cli.library.review import review
from alita_mcp.cli.library.run import run
from alita_mcp.cli.library.synthesize import synthesize
from alita_mcp.cli.library.tool import ACTIONS
from alita_mcp.cli.output import Output
from alita_mcp.cli.parameters import STDIN
from alita_mcp.cli.server import serve, stop
from alita_mcp.cli.setup.doctor import doctor
from alita_mcp.cli.setup.install import install, uninstall
from alita_mcp.cli.setup.prepare import prepare
from alita_mcp.cli.setup.setup import setup
from alita_mcp.cli.status import status
from alita_mcp.cli.tasks.memory import memory
from alita_mcp.cli.tasks.runs import show_runs
from alita_mcp.cli.tasks.solve import OpenFlow, open_task_runner, solve
from alita_mcp.cli.token import TOKEN_ACTIONS
from alita_mcp.cli.ui import ui
from alita_mcp.errors import AlitaError, Cancelled, UsageError
from alita_mcp.machine import HTTP_CLIENTS, edge_error, lack_of_descriptors

if TYPE_CHECKING:
    from types import FrameType

BROKEN_PIPE = 141
"""What a shell reports when the reader of a pipe went away."""

Command = Callable[..., Any]
"""Takes its parameters and the output; returns an exit status, or None for 0. May be asynchronous."""

GROUPS: dict[str, dict[str, Command]] = {
    "Setting up": {
        "status": status, "setup": setup, "install": install, "uninstall": uninstall, "prepare": prepare,
        "doctor": doctor, "demo": demo,
    },
    "Library": {
        "search": search, "run": run, "synthesize": synthesize, "list": list_tools, "show": show, "log": log,
    },
    "Trust": {"review": review, "approve": approve, "revoke": revoke},
    "Tasks": {"solve": solve, "runs": show_runs, "memory": memory},
    "Server": {"ui": ui, "serve": serve, "stop": stop},
}  # fmt: skip
"""The commands in the order of `alita --help`."""

GLOBAL_OPTIONS = Group("Global options", sort_key=99)
OPTIONS = ("--json", "--home", "--help", "--version", "--install-completion")
"""The words that may stand in place of a command."""


def build_app() -> App:
    """The whole command line; `meta` of the result reads the options that stand before or after a command."""
    settings: dict[str, Any] = {
        "help_format": "plaintext",
        "help_formatter": "plain",
        "default_parameter": Parameter(negative=(), show_default=lambda value: value or None),
        "group_parameters": Group("Options", sort_key=90),
        "group_commands": GLOBAL_OPTIONS,
    }
    app = App(
        "alita",
        "An MCP server that grows its own tools, and the library they live in.",
        help_epilogue="`alita` alone shows what to do next, `alita COMMAND --help` has examples.",
        version=f"alita {__version__}",
        version_flags="--version",
        **settings,
    )
    tool = App("tool", "Pin, disable, delete, roll back, export or import a tool, and more.", **settings)
    add_commands(tool, ACTIONS, Group("Actions", sort_key=0))
    library = App("library", "Copy the library to PostgreSQL, or back.", **settings)
    add_commands(library, LIBRARY_ACTIONS, Group("Actions", sort_key=0))
    token = App("token", "Make, list or revoke tokens of HTTP clients of a shared library.", **settings)
    add_commands(token, TOKEN_ACTIONS, Group("Actions", sort_key=0))
    for place, (title, commands) in enumerate(GROUPS.items()):
        group = Group(title, sort_key=place)
        add_commands(app, commands, group)
        for number, (title_of, actions) in enumerate(
            (("Library", tool), ("Library", library), ("Server", token))
        ):
            if title == title_of:
                actions.group, actions.sort_key = (group,), len(commands) + number
                app.command(actions)
    app.register_install_completion_command(
        help="Install completion for bash, zsh, fish or PowerShell.", group=GLOBAL_OPTIONS.name
    )
    app.meta.default(read_global_options)
    return app


def add_commands(app: App, commands: dict[str, Command], group: Group) -> None:
    """Adds commands to an application, each with the examples of its docstring as the end of its help."""
    for place, (name, command) in enumerate(commands.items()):
        _, _, lines = inspect.cleandoc(command.__doc__ or "").partition("Examples:\n")
        examples = "\n".join(
            ["Examples:", *(f"  {line.strip()}" for line in lines.splitlines() if line.strip())]
        )
        app.command(command, name, group=group, sort_key=place, help_epilogue=examples)


def read_global_options(
    *words: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    json: Annotated[bool, Parameter(group=GLOBAL_OPTIONS)] = False,
    home: Annotated[Path | None, Parameter(group=GLOBAL_OPTIONS)] = None,
) -> tuple[tuple[str, ...], bool, Path | None]:
    """The words of the command, without the options that all commands share.

    Args:
        words: The command and its own words.
        json: Print the result, or the error, as JSON on stdout.
        home: Folder of the library, in place of ALITA_HOME.
    """
    return words, json, home


def main(argv: Sequence[str] | None = None, *, open_flow: OpenFlow = open_task_runner) -> int:
    """Runs one command; `open_flow` opens what `alita solve` works with.

    Returns:
        0, or the exit status of the error's class (`alita_mcp.errors`); 1 when a tool or a draft failed.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    options_end = words.index("--") if "--" in words else len(words)
    words[:options_end] = [STDIN if word == "-" else word for word in words[:options_end]]
    output = Output(as_json="--json" in words[:options_end])
    try:
        try:
            status = run_words(words, output, open_flow)
        except BrokenPipeError:
            raise
        except KeyboardInterrupt:
            status = report(Cancelled("Interrupted."), output)
        except CycloptsError as invalid:
            status = report(explain_words(invalid), output)
        except Exception as failed:  # noqa: BLE001 - the outermost edge: a person gets words, not a traceback
            status = report(edge_error(failed), output)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    return status


class ParsedWords(NamedTuple):
    """A command with its arguments, and what the global options say."""

    command: Command
    bound: inspect.BoundArguments
    injected: Collection[str]
    """Parameters that no word sets."""
    as_json: bool
    home: Path | None


def parse_words(words: Sequence[str]) -> ParsedWords | None:
    """The command that the words name; None where help or the version was printed instead.

    Raises:
        CycloptsError: the words are no command, or do not fit it.
        UsageError: they stop before an action.
    """
    app = build_app()
    quiet: dict[str, Any] = {"exit_on_error": False, "print_error": False}
    shared = app.meta(words, result_action="return_value", **quiet)
    if shared is None:
        return None
    own_words, as_json, home = shared
    command, bound, injected = app.parse_args(own_words or ["status"], **quiet)
    if getattr(command, "__func__", None) is App.help_print:
        path = " ".join(["alita", *own_words])
        raise UsageError(f"`{path}` needs an action.", hint=f"`{path} --help` lists them.")
    return ParsedWords(command, bound, injected, as_json, home)


def run_words(words: Sequence[str], output: Output, open_flow: OpenFlow) -> int:
    """Runs the command that the words name; returns its exit status."""
    parsed = parse_words(words)
    if parsed is None:
        return 0
    output.as_json = parsed.as_json

    from alita_mcp.sandbox.temporary import claim_temporary_folder, remove_temporary_folder
    from alita_mcp.server.transports.wire import tolerate_warnings
    from alita_mcp.settings import find_unknown_settings, read_settings, use_home

    tolerate_warnings()
    if parsed.home is not None:
        use_home(parsed.home)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell script starts its background jobs
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, interrupt)

    import logging

    settings = read_settings()
    logging.basicConfig(stream=sys.stderr, level=settings.log_level.upper())
    clients = HTTP_CLIENTS if parsed.bound.arguments.get("http") else 0
    lack = lack_of_descriptors(settings.max_workers, clients)
    if lack and (clients or parsed.command is not serve):  # the server over stdio says it itself
        output.note(f"warning: {lack}")
    if parsed.command not in (serve, doctor):  # they say it themselves
        for sentence in find_unknown_settings(settings.home):
            output.note(f"warning: {sentence}")
    given = {"output": output, "open_flow": open_flow}
    injected = {name: given[name] for name in parsed.injected if name in given}
    call = partial(parsed.command, *parsed.bound.args, **parsed.bound.kwargs, **injected)
    if inspect.iscoroutinefunction(parsed.command):
        import anyio

        from alita_mcp.event_loop import collect_garbage_rarely

        collect_garbage_rarely()  # litellm allocates a million objects: looking for garbage took a quarter of a start
        call = partial(anyio.run, call)
    claim_temporary_folder()
    try:
        return call() or 0
    finally:
        remove_temporary_folder()


def interrupt(_number: int, _frame: FrameType | None) -> None:
    """Ends by SIGTERM as by Ctrl-C: whatever is open gets closed."""
    signal.raise_signal(signal.SIGINT)


def explain_words(invalid: CycloptsError) -> UsageError:
    """The error for words that cyclopts refused, in our form."""
    path = " ".join(["alita", *(invalid.command_chain or ())])
    message = str(invalid)
    if isinstance(invalid, UnusedCliTokensError):
        message = f"Unexpected argument {(invalid.unused_tokens or ['?'])[0]!r}."
    elif isinstance(invalid, MissingArgumentError) and invalid.argument is not None:
        name = invalid.argument.name  # of an option, its value
        message = f"{name} needs a value." if name.startswith("-") else f"{name} is missing."
    elif isinstance(invalid, UnknownCommandError) and invalid.unused_tokens and path == "alita":
        # A misspelled option where a command is expected: cyclopts knows commands only.
        word = invalid.unused_tokens[0]
        if word.startswith("-"):
            nearest = difflib.get_close_matches(word.partition("=")[0], OPTIONS, 1)
            message = f"Unknown option {word}." + "".join(f" Did you mean {each}?" for each in nearest)
    return UsageError(message, hint=f"`{path} --help` shows what there is.")


def report(failed: BaseException, output: Output) -> int:
    """Prints an error; with ALITA_LOG_LEVEL=debug its traceback too.

    Returns:
        Its exit status.
    """
    if is_debugging():
        sys.excepthook(type(failed), failed, failed.__traceback__)
    if not isinstance(failed, AlitaError):
        failed = AlitaError(f"{type(failed).__name__}: {failed}", hint="ALITA_LOG_LEVEL=debug shows where.")
    output.print_error(failed)
    return failed.exit_status


def is_debugging() -> bool:
    """Whether the settings ask for tracebacks; no where they cannot be read."""
    from alita_mcp.settings import read_settings

    try:
        return read_settings().log_level == "debug"
    except AlitaError:
        return False


if __name__ == "__main__":
    sys.exit(main())
