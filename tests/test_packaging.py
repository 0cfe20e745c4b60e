"""Descriptions of the server for registries and installers: true to their schemas, and to the package."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from jsonschema import Draft7Validator

from alita_mcp.server.tools.meta_tools import META_HANDLERS
from alita_mcp.settings import Settings

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
SCHEMAS = Path(__file__).parent / "data" / "schemas"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def valid(file: str, schema: str) -> dict[str, object]:
    document: dict[str, object] = json.loads((DEPLOY / file).read_text("utf-8"))
    validator = Draft7Validator(json.loads((SCHEMAS / schema).read_text("utf-8")))
    assert [error.message for error in validator.iter_errors(document)] == []
    return document


def test_the_entry_for_the_registry_fits_its_schema_and_the_package() -> None:
    entry = valid("server.json", "server-2025-12-11.schema.json")
    (package,) = entry["packages"]  # type: ignore[misc]
    assert (package["identifier"], package["version"], entry["version"]) == (
        PROJECT["name"], PROJECT["version"], PROJECT["version"],
    )  # fmt: skip
    names = {each["name"].removeprefix("ALITA_").lower() for each in package["environmentVariables"]}
    assert names <= Settings.model_fields.keys()


def test_the_bundle_fits_its_schema_and_starts_this_version() -> None:
    manifest = valid("mcpb/manifest.json", "mcpb-manifest-v0.4.schema.json")
    bundle = tomllib.loads((DEPLOY / "mcpb" / "pyproject.toml").read_text("utf-8"))["project"]
    assert manifest["version"] == PROJECT["version"] == bundle["version"]
    assert bundle["dependencies"] == [f"{PROJECT['name']}=={PROJECT['version']}"]
    assert bundle["requires-python"] == PROJECT["requires-python"]
    assert {tool["name"] for tool in manifest["tools"]} == META_HANDLERS.keys()  # type: ignore[attr-defined]
    assert (DEPLOY / "mcpb" / manifest["server"]["entry_point"]).is_file()  # type: ignore[index]
