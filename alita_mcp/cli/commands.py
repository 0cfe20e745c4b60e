"""Declaration of commands on the parser, and the runner of asynchronous ones."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from alita_mcp.cli.output import Output

Command = Callable[[argparse.Namespace, Output], int]
"""Options in, exit status out."""
AsyncCommand = Callable[[argparse.Namespace, Output], Awaitable[int]]

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - argparse gives no public name


@dataclass(frozen=True)
class Family:
    """Declares the commands of one group on a parser."""

    subparsers: Subparsers
    json_option: argparse.ArgumentParser
    help_lines: dict[str, str] = field(default_factory=dict)
    """Command → what it does, in the order in which they were declared."""

    def add(self, name: str, command: Command | AsyncCommand, help_line: str) -> argparse.ArgumentParser:
        """A command with `--json`; its own arguments go on the returned parser."""
        self.help_lines[name] = help_line
        parser = self.subparsers.add_parser(
            name, help=help_line, description=help_line, parents=[self.json_option], allow_abbrev=False
        )
        is_async = inspect.iscoroutinefunction(command)
        parser.set_defaults(command=in_event_loop(cast("AsyncCommand", command)) if is_async else command)
        return parser

    def add_family(self, name: str, help_line: str) -> Family:
        """A command that only holds others, its actions."""
        self.help_lines[name] = help_line
        parser = self.subparsers.add_parser(name, description=help_line, allow_abbrev=False)
        return Family(
            parser.add_subparsers(title="actions", metavar="ACTION", required=True), self.json_option
        )


def describe_groups(groups: Mapping[str, Family]) -> str:
    """The commands of each group with a line of help each, under the group's title."""
    width = max(len(name) for family in groups.values() for name in family.help_lines)
    paragraphs = []
    for title, family in groups.items():
        lines = [f"  {name:<{width}}  {line}" for name, line in family.help_lines.items()]
        paragraphs.append("\n".join([f"{title}:", *lines]))
    return "\n\n".join(paragraphs)


def json_option() -> argparse.ArgumentParser:
    """The option that all commands share."""
    parent = argparse.ArgumentParser(add_help=False)
    parent.add_argument("--json", action="store_true", dest="as_json", help="print the result as JSON")
    return parent


def in_event_loop(command: AsyncCommand) -> Command:
    """A command that runs in an event loop of its own."""

    def run(options: argparse.Namespace, output: Output) -> int:
        import anyio

        return anyio.run(command, options, output)

    return run


def tool_version(text: str) -> int:
    """Reads `3` or `v3`."""
    digits = text.removeprefix("v")
    if not digits.isascii() or not digits.isdecimal() or len(digits) > 9 or int(digits) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no version: write 3 or v3")
    return int(digits)


def count_above_zero(text: str) -> int:
    """Reads `30`."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 7 else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above zero")
    return number
