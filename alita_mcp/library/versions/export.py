"""Export of a stored version as a folder that serves the tool with the official MCP SDK, without alita."""

from __future__ import annotations

import json
import secrets
import shutil
from pathlib import Path

from alita_mcp.errors import LibraryError, UsageError
from alita_mcp.library.disk import write_folder
from alita_mcp.library.versions.reach import describe_reach
from alita_mcp.library.versions.testfile import (
    DATACLASS_SUPPORT,
    call_lines,
    call_modules,
    has_dataclasses,
    literal,
    render_tests,
)
from alita_mcp.machine import unusable
from alita_mcp.texts import one_line
from alita_mcp.unseen import spell_hidden
from alita_mcp.values import StoredVersion

REQUIREMENTS = ("anyio>=4.9", "jsonschema>=4.23", "mcp>=2.3,<3")
"""What the exported server itself needs."""
PYTHON = ">=3.11"

_SERVER = '''# /// script
# requires-python = "{python}"
# dependencies = [
{dependencies}
# ]
# ///
"""Serves the tool {name} over stdio: `uv run server.py`."""

import json
{imports}
import anyio
import mcp_types as types
from jsonschema import Draft202012Validator
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

import tool

DEFINITION = types.Tool(
    name={name!r},
    description={description!r},
    input_schema={input_schema},
    output_schema={output_schema},
)
{support}

def call(**arguments):
{call}


def failure(message):
    return types.CallToolResult(content=[types.TextContent(type="text", text=message)], is_error=True)


async def list_tools(ctx, params):
    return types.ListToolsResult(tools=[DEFINITION])


async def call_tool(ctx, params):
    if params.name != DEFINITION.name:
        return failure(f"There is no tool {{params.name!r}}; there is {{DEFINITION.name}}.")
    arguments = params.arguments or {{}}
    problems = [error.message for error in Draft202012Validator(DEFINITION.input_schema).iter_errors(arguments)]
    if problems:
        return failure("The arguments do not fit: " + "; ".join(problems))
    try:
        result = await anyio.to_thread.run_sync(lambda: call(**arguments))
    except Exception as error:
        return failure(f"{{type(error).__name__}}: {{error}}")
    structured = {structured}
    text = types.TextContent(type="text", text=json.dumps(structured, ensure_ascii=False))
    return types.CallToolResult(content=[text], structured_content=structured)


async def main():
    server = Server({name!r}, version={version!r}, on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (receive, send):
        await server.run(receive, send, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
'''

_README = """# {name}

**This server runs unconfined, with your rights.** alita ran the tool in a sandbox, without network, files or secrets,
and granted it nothing. Here nothing holds it back, and neither `uv run server.py` nor `pytest` asks. Read `tool.py`
and `test_tool.py` before you run either. As far as its text says, the code names:

{reach}

Its author says: `{summary}`

Version {number}, {trust}: {passed} of {total} examples passed in the sandbox `{sandbox}`.

| file | what it is |
|---|---|
| `tool.py` | the tool: one typed function |
| `test_tool.py` | the examples it was accepted with; run `pytest` here |
| `server.py` | an MCP server with this one tool: `uv run server.py` |
| `manifest.json` | its schemas and examples as data; `alita tool import` reads them |

To use it in an MCP client, add to its configuration:

```json
{config}
```
"""


def export_version(exports: Path, stored: StoredVersion) -> Path:
    """Writes `<name>-v<k>` under `exports`, replacing an earlier export of the same version; returns the folder.

    Raises:
        UsageError: the tool asks for grants, which are not enforced outside.
        LibraryError: the disk refuses.
    """
    manifest = stored.manifest
    if not manifest.grants.is_pure:
        raise UsageError(
            f"{manifest.name} asks for grants, which hold inside alita only.",
            hint="Another alita imports its folder below generated_tools.",
        )
    place = exports / f"{manifest.name}-v{manifest.version}"
    staging = exports / f".staging-{secrets.token_hex(8)}"
    try:
        write_folder(staging, {name: text.encode() for name, text in _files(stored).items()})
        if place.is_symlink():
            raise LibraryError(f"{place} is a link.", hint="Remove it and export again.")
        if place.exists():
            shutil.rmtree(place)
        staging.rename(place)
    except OSError as error:
        raise unusable(place, error) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return place


def _files(stored: StoredVersion) -> dict[str, str]:
    manifest = stored.manifest
    document = {  # what `alita tool import` verifies again, with the keys of a version's own folder
        "manifest": manifest.model_dump(mode="json"),
        "examples": [example.as_json() for example in stored.examples],
    }
    return {
        "tool.py": stored.code,
        "test_tool.py": render_tests(manifest.name, stored.code, stored.examples, manifest.varies),
        "server.py": _server(stored),
        "README.md": _readme(stored),
        "manifest.json": json.dumps(document, indent=2, ensure_ascii=False) + "\n",
    }


def _server(stored: StoredVersion) -> str:
    manifest, code = stored.manifest, stored.code
    needed = (json.dumps(each, ensure_ascii=False) for each in (*manifest.packages, *REQUIREMENTS))
    return _SERVER.format(
        python=PYTHON,
        dependencies="\n".join(f"#   {requirement}," for requirement in needed),
        name=manifest.name,
        version=f"{manifest.version}.0.0",
        imports="".join(f"import {module}\n" for module in sorted(call_modules(manifest.name, code))),
        description=manifest.description,
        input_schema=literal(manifest.input_schema),
        output_schema=literal(manifest.output_schema),
        support=DATACLASS_SUPPORT if has_dataclasses(code) else "",
        call=call_lines(manifest.name, code),
        structured='{"result": result}' if manifest.wraps_result else "result",
    )


def _readme(stored: StoredVersion) -> str:
    manifest, report = stored.manifest, stored.report
    config = {
        "mcpServers": {manifest.name: {"command": "uv", "args": ["run", "/path/to/this/folder/server.py"]}}
    }
    return _README.format(
        name=manifest.name,
        reach="\n".join(f"- {line}" for line in describe_reach(stored.code, manifest.packages)),
        summary=spell_hidden(one_line(manifest.summary)).replace("`", "'"),
        number=manifest.version,
        trust=manifest.trust,
        passed=report.examples_passed,
        total=report.examples_total,
        sandbox=report.sandbox,
        config=json.dumps(config, indent=2),
    )
